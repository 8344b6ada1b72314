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

// envReport: with "write" the table is written into the document.
const envReport = "SECKILL_TEST_REPORT"

const (
	begin = "<!-- durability:begin -->\n"
	end   = "<!-- durability:end -->\n"
)

const (
	document = "../notes/durability.md"

	// above is the text above the rows, with the date, the runs, the processors, and the replica's delay in
	// milliseconds.
	above = `Acknowledged orders that Redis lost, and of how many (%s, %d runs each, %d processors, the replica %d ms
away). Redis alone is asked, as if MySQL and every instance were gone in the same moment. The last column is what the
script alone answers, without HTTP, and in brackets relative to the first line:

| Redis | Killed | Power cut | Failover | Answers/s |
`
)

// row has the measurements of a level.
type row struct {
	title string
	cells [3]cell   // by fault
	rates []float64 // answers per second
}

// cell is how many orders a fault lost, and how many were acknowledged.
type cell struct{ lost, acknowledged int }

func (r *row) add(fault, lost, acknowledged int, took time.Duration) {
	r.cells[fault].lost += lost
	r.cells[fault].acknowledged += acknowledged
	r.rates = append(r.rates, float64(acknowledged)/took.Seconds())
}

// rate returns the median.
func (r *row) rate() float64 {
	sorted := slices.Sorted(slices.Values(r.rates))
	return sorted[len(sorted)/2]
}

// write puts the table into the document, if the environment asks for it.
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
			_, _ = p.Fprintf(&b, " %d / %d |", c.lost, c.acknowledged)
		}
		_, _ = p.Fprintf(&b, " %.0f (%.2f) |\n", r.rate(), r.rate()/rows[0].rate())
	}
	before, _, after := parts(t)
	head := fmt.Sprintf(above, time.Now().UTC().Format(time.DateOnly), runs, runtime.NumCPU(),
		replicaDelay.Milliseconds())
	if err := os.WriteFile(document, []byte(before+begin+head+b.String()+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// parts returns the text before the table, between the marks, and after it.
func parts(t *testing.T) (before, table, after string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	table, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", document)
	}
	return before, table, after
}

// TestDocumentHasTheLevels: the document has a measured row for each level, in their order.
func TestDocumentHasTheLevels(t *testing.T) {
	t.Parallel()
	_, table, _ := parts(t)
	_, rows, _ := strings.Cut(table, "| --- | ---: | ---: | ---: | ---: |\n")
	var titles, want []string
	for line := range strings.Lines(rows) {
		title, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		titles = append(titles, title)
	}
	for _, l := range levels() {
		want = append(want, l.title)
	}
	if !slices.Equal(titles, want) {
		t.Errorf("%s has rows for %q, want %q: make -C lab durability", document, titles, want)
	}
}
