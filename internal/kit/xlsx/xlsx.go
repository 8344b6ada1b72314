// Package xlsx writes tables that spreadsheets open as they are meant: text stays text, so that no long number loses
// digits and nothing is taken for a formula, amounts have decimals, and times are times.
//
// A table is written as it comes, in the memory of one piece. One that is cut off lacks its directory, and no program
// opens it. The format is that of ECMA-376, Part 1, with what spreadsheets need of it and no more.
package xlsx

import (
	"archive/zip"
	"embed"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The most that spreadsheets take.
const (
	maxRows = 1 << 20 // of a sheet; another sheet follows
	maxText = 32_767  // characters of a cell; the rest is cut off
)

// Style is how a cell is shown: its place in parts/styles.xml.
type Style int

// The styles.
const (
	Text Style = iota
	Head
	Number
	Amount
	Moment
)

// Cell is a cell. Value is a text, or for Number and Amount a decimal number as XML has it; "" is an empty cell.
type Cell struct {
	Style Style
	Value string
}

// At returns a cell with the wall clock of a time, to the second; the zero time is an empty cell. Spreadsheets know no
// zones.
func At(t time.Time) Cell {
	if t.IsZero() {
		return Cell{}
	}
	const day = 24 * 60 * 60
	year, month, date := t.Date()
	hour, minute, second := t.Clock()
	wall := time.Date(year, month, date, hour, minute, second, 0, time.UTC)
	seconds := wall.Unix() - time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC).Unix() // where spreadsheets begin to count
	return Cell{Moment, strconv.FormatFloat(float64(seconds)/day, 'f', -1, 64)}
}

// Cents returns a cell with an amount of money. The amount counts the currency's least unit; digits says how many
// decimals the cell shows: 1005 with two digits is 10.05.
func Cents(amount int64, digits int) Cell {
	sign, text := "", strconv.FormatInt(amount, 10)
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		sign, text = "-", rest
	}
	if missing := digits + 1 - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	if digits > 0 {
		text = text[:len(text)-digits] + "." + text[len(text)-digits:]
	}
	return Cell{Amount, sign + text}
}

// Writer writes one table. Its methods return the first error of its destination.
type Writer struct {
	zip    *zip.Writer
	sheet  io.Writer
	end    string // of the sheet
	heads  []string
	digits int
	sheets int
	rows   int // of the sheet
	most   int // rows of a sheet
	row    strings.Builder
}

// NewWriter returns a writer of a table. heads name its columns; its amounts show that many decimals.
func NewWriter(to io.Writer, heads []string, digits int) *Writer {
	return &Writer{zip: zip.NewWriter(to), heads: heads, digits: digits, most: maxRows}
}

// Row adds a row.
func (w *Writer) Row(cells []Cell) error {
	if w.sheet == nil || w.rows == w.most {
		if err := w.begin(); err != nil {
			return err
		}
	}
	return w.write(cells)
}

// Flush hands on what was added.
func (w *Writer) Flush() error { return w.zip.Flush() }

// Close ends the table.
func (w *Writer) Close() error {
	if w.sheet == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(w.sheet, w.end); err != nil {
		return err
	}
	return errors.Join(w.finish(), w.zip.Close())
}

// begin begins a sheet with its heads.
func (w *Writer) begin() error {
	text, err := part("sheet.xml")
	if err != nil {
		return err
	}
	begins, end, _ := strings.Cut(text, "ROWS")
	if w.sheet != nil {
		if _, err := io.WriteString(w.sheet, end); err != nil {
			return err
		}
	}
	w.sheets, w.rows, w.end = w.sheets+1, 0, end
	if w.sheet, err = w.zip.Create(fmt.Sprintf("xl/worksheets/sheet%d.xml", w.sheets)); err != nil {
		return err
	}
	if _, err := io.WriteString(w.sheet, begins); err != nil {
		return err
	}
	heads := make([]Cell, len(w.heads))
	for i, head := range w.heads {
		heads[i] = Cell{Head, head}
	}
	return w.write(heads)
}

func (w *Writer) write(cells []Cell) error {
	w.rows++
	w.row.Reset()
	fmt.Fprintf(&w.row, `<row r="%d">`, w.rows)
	for i, c := range cells {
		place := letters(i) + strconv.Itoa(w.rows)
		switch {
		case c.Value == "":
		case c.Style == Text, c.Style == Head:
			fmt.Fprintf(&w.row, `<c r="%s" s="%d" t="inlineStr"><is><t xml:space="preserve">`, place, c.Style)
			if err := xml.EscapeText(&w.row, []byte(cut(c.Value))); err != nil {
				return err
			}
			w.row.WriteString("</t></is></c>")
		default:
			fmt.Fprintf(&w.row, `<c r="%s" s="%d"><v>%s</v></c>`, place, c.Style, c.Value)
		}
	}
	w.row.WriteString("</row>")
	_, err := io.WriteString(w.sheet, w.row.String())
	return err
}

// letters returns the name of a column, from 0: A to Z, AA to ZZ and so on.
func letters(column int) (name string) {
	const all = 'Z' - 'A' + 1
	for n := column; n >= 0; n = n/all - 1 {
		name = string(rune('A'+n%all)) + name
	}
	return name
}

// cut returns as much of a text as a cell takes.
func cut(text string) string {
	if utf8.RuneCountInString(text) <= maxText/2 { // it counts in UTF-16
		return text
	}
	return string([]rune(text)[:maxText/2-1]) + "…"
}

// parts are the parts of a file, with words in capitals where something is put in.
//
//go:embed parts
var parts embed.FS

// part returns a part with the words replaced.
func part(name string, words ...string) (string, error) {
	text, err := parts.ReadFile("parts/" + name)
	return strings.NewReplacer(words...).Replace(string(text)), err
}

// add adds a part to the file.
func (w *Writer) add(at, name string, words ...string) error {
	text, err := part(name, words...)
	if err != nil {
		return err
	}
	to, err := w.zip.Create(at)
	if err == nil {
		_, err = io.WriteString(to, text)
	}
	return err
}

// finish adds the parts of the file besides its sheets.
func (w *Writer) finish() error {
	var sheets, relations, types strings.Builder
	for i := 1; i <= w.sheets; i++ {
		fmt.Fprintf(&sheets, `<sheet name="%d" sheetId="%[1]d" r:id="rId%[1]d"/>`, i)
		fmt.Fprintf(&relations, `<Relationship Id="rId%d" Target="worksheets/sheet%[1]d.xml" Type="%s"/>`, i,
			"http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet")
		fmt.Fprintf(&types, `<Override PartName="/xl/worksheets/sheet%d.xml" ContentType="%s"/>`, i,
			"application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml")
	}
	format := "0"
	if w.digits > 0 {
		format += "." + strings.Repeat("0", w.digits)
	}
	return errors.Join(
		w.add("xl/styles.xml", "styles.xml", "AMOUNT", format),
		w.add("xl/workbook.xml", "workbook.xml", "SHEETS", sheets.String()),
		w.add("xl/_rels/workbook.xml.rels", "workbook.xml.rels", "SHEETS", relations.String()),
		w.add("_rels/.rels", "package.rels"),
		w.add("[Content_Types].xml", "types.xml", "SHEETS", types.String()),
	)
}
