package xlsx_test

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/xlsx"
)

// rows returns what the sheets of a workbook have, as style and value.
func rows(t *testing.T, book []byte) (all [][][]xlsx.Cell) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(book), int64(len(book)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.File {
		part, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		var sheet struct {
			Rows []struct {
				Number int `xml:"r,attr"`
				Cells  []struct {
					Place string     `xml:"r,attr"`
					Style xlsx.Style `xml:"s,attr"`
					Text  string     `xml:"is>t"`
					Value string     `xml:"v"`
				} `xml:"c"`
			} `xml:"sheetData>row"`
		}
		if err := xml.Unmarshal(text, &sheet); err != nil { // each part is XML
			t.Errorf("%s: %v", f.Name, err)
		}
		if !strings.Contains(f.Name, "sheet") {
			continue
		}
		var rows [][]xlsx.Cell
		for n, row := range sheet.Rows {
			cells := []xlsx.Cell{}
			for _, c := range row.Cells {
				for fmt.Sprintf("%c%d", 'A'+len(cells), n+1) != c.Place && len(cells) < 9 {
					cells = append(cells, xlsx.Cell{}) // it is empty
				}
				cells = append(cells, xlsx.Cell{Style: c.Style, Value: c.Text + c.Value})
			}
			rows = append(rows, cells)
		}
		all = append(all, rows)
	}
	return all
}

func TestWriter(t *testing.T) {
	t.Parallel()
	var book bytes.Buffer
	w := xlsx.NewWriter(&book, []string{"id", "<b>"}, 2)
	want := [][]xlsx.Cell{
		{{Style: xlsx.Head, Value: "id"}, {Style: xlsx.Head, Value: "<b>"}},
		{{Value: "=1+1"}, xlsx.Cents(1005, 2)},
		{{}, {Value: " 券 & \"x\" "}},
		{{Value: "a\nb"}, xlsx.At(time.Date(2026, 1, 2, 2, 0, 0, 0, time.UTC))},
	}
	for _, row := range want[1:] {
		if err := errors.Join(w.Row(row), w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][][]xlsx.Cell{want}, rows(t, book.Bytes())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A table may be empty, and may have more rows than a sheet takes.
func TestSheets(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][]int{0: {1}, 9: {10}, 10: {10, 2}, 18: {10, 10}} {
		var book bytes.Buffer
		w := xlsx.NewWriter(&book, []string{"n"}, 0)
		w.SetRows(10)
		for range n {
			if err := w.Row([]xlsx.Cell{{Style: xlsx.Number, Value: "1"}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got := []int{}
		for _, rows := range rows(t, book.Bytes()) {
			got = append(got, len(rows))
		}
		if !cmp.Equal(got, want) {
			t.Errorf("%d rows are in sheets of %d, want %d", n, got, want)
		}
	}
}

func TestCells(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		amount int64
		digits int
		want   string
	}{{0, 2, "0.00"}, {5, 2, "0.05"}, {-5, 2, "-0.05"}, {123456, 2, "1234.56"}, {7, 0, "7"}, {-1, 3, "-0.001"}} {
		if got := xlsx.Cents(tc.amount, tc.digits); got.Value != tc.want {
			t.Errorf("%d with %d digits is %s, want %s", tc.amount, tc.digits, got.Value, tc.want)
		}
	}
	shanghai := time.FixedZone("", 8*60*60)
	for want, at := range map[string]time.Time{
		"1":        time.Date(1899, 12, 31, 0, 0, 0, 0, time.UTC),
		"46024.25": time.Date(2026, 1, 2, 6, 0, 0, 0, shanghai),
		"":         {},
	} {
		if got := xlsx.At(at).Value; got != want {
			t.Errorf("%v is %s, want %s", at, got, want)
		}
	}
}

func TestLongText(t *testing.T) {
	t.Parallel()
	var book bytes.Buffer
	w := xlsx.NewWriter(&book, []string{"text"}, 0)
	if err := errors.Join(w.Row([]xlsx.Cell{{Value: strings.Repeat("券", 40_000)}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	if got := []rune(rows(t, book.Bytes())[0][1][0].Value); len(got) > 32_767 || got[len(got)-1] != '…' {
		t.Errorf("%d characters, the last one %c", len(got), got[len(got)-1])
	}
}

// A table ends with the first error of its destination.
func TestDestinationFails(t *testing.T) {
	t.Parallel()
	w := xlsx.NewWriter(failing{}, []string{"n"}, 0)
	if err := errors.Join(w.Row([]xlsx.Cell{{Value: "x"}}), w.Close()); !errors.Is(err, errFull) {
		t.Errorf("error = %v", err)
	}
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestLetters(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 701: "ZZ", 702: "AAA"} {
		if got := xlsx.Letters(n); got != want {
			t.Errorf("column %d is %s, want %s", n, got, want)
		}
	}
}
