package durability

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// envReport, when it is "write", has the table written into the READMEs.
const envReport = "SECKILL_TEST_REPORT"

const (
	begin = "<!-- durability:begin -->\n"
	end   = "<!-- durability:end -->\n"
)

// reports are the documents with the table, and what stands above its rows there: the date, the runs, the processors, and the
// distance in milliseconds are filled in.
func reports() map[string]string {
	return map[string]string{
		"../../README.md": `Acknowledged orders that Redis lost, and of how many (%s, %d runs each, %d processors, the replica %d ms away). Redis alone is
asked, as if MySQL and every instance were gone in the same moment. The last column is what the script alone answers, without
HTTP, and in brackets relative to the first line:

| Redis | Killed | Power cut | Failover | Answers/s |
`,
		"../../README.zh-CN.md": `Redis 丢失的、已经答复过的订单，以及总数（%s，每种 %d 次，%d 个处理器，副本在 %d 毫秒之外）。只问 Redis，如同 MySQL 和所有实例同时消失。
最后一列是脚本本身的答复，不经过 HTTP，括号里是相对于第一行：

| Redis | 被杀死 | 断电 | 故障切换 | 答复/秒 |
`,
	}
}

// row is what was measured of a level.
type row struct {
	title string
	cells [3]cell   // by fault
	rates []float64 // answers a second
}

// cell is what was lost at a fault, of so many.
type cell struct{ lost, told int }

func (r *row) add(fault, lost, told int, took time.Duration) {
	r.cells[fault].lost += lost
	r.cells[fault].told += told
	r.rates = append(r.rates, float64(told)/took.Seconds())
}

// rate is the median.
func (r *row) rate() float64 {
	sorted := slices.Sorted(slices.Values(r.rates))
	return sorted[len(sorted)/2]
}

// write puts the table into the documents, if the environment asks for it.
func write(t *testing.T, rows []row, runs int) {
	t.Helper()
	if os.Getenv(envReport) != "write" {
		return
	}
	var b strings.Builder
	b.WriteString("| --- | ---: | ---: | ---: | ---: |\n")
	p := message.NewPrinter(language.English)
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(&b, "| %s |", r.title)
		for _, c := range r.cells {
			_, _ = p.Fprintf(&b, " %d / %d |", c.lost, c.told)
		}
		_, _ = p.Fprintf(&b, " %.0f (%.2f) |\n", r.rate(), r.rate()/rows[0].rate())
	}
	for path, head := range reports() {
		before, _, after := parts(t, path)
		head = fmt.Sprintf(head, time.Now().UTC().Format(time.DateOnly), runs, runtime.NumCPU(), distance.Milliseconds())
		if err := os.WriteFile(path, []byte(before+begin+head+b.String()+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// parts returns what stands before the table, between the marks, and behind.
func parts(t *testing.T, path string) (before, table, after string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	table, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", path)
	}
	return before, table, after
}

// TestReadmesAgree: the two tables are of the same measurement.
func TestReadmesAgree(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for path := range reports() {
		_, table, _ := parts(t, path)
		_, rows, found := strings.Cut(table, "| --- |")
		if !found {
			t.Errorf("%s has no table", path)
		}
		seen[rows] = true
	}
	if len(seen) != 1 {
		t.Error("the READMEs tell of different measurements: make durability")
	}
}
