package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/currency"
	"seckill/internal/kit/invalid"
	"seckill/internal/kit/xlsx"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
)

// csvEnd begins the last line of every CSV. That line also says how many lines are between it and the head. A file
// without it was cut off.
const csvEnd = "#end"

// byteOrderMark makes spreadsheets read the file as UTF-8.
const byteOrderMark = "\ufeff"

// fileStream is a file that is sent piece by piece: a CSV, or a workbook for a spreadsheet. Its memory is that of one
// piece.
type fileStream struct {
	stream *httpkit.Stream
	buf    bytes.Buffer
	book   *xlsx.Writer // nil: a CSV
	front  *httpkit.Front
	width  int // fields of a line
	lines  int64
}

// csvRequest has the parameters of a request for a CSV.
type csvRequest struct {
	voucherID int64
	form      form
	codes     bool // codes whole, not masked, on a route that has codes
}

func readCSVRequest(c *gin.Context) (r csvRequest, err error) {
	id, badID := param.ID("id", c.Param("id"), voucher.MaxID)
	values, badQuery := param.ParseQuery(c.Request)
	form, badMark, badBook := readForm(values)
	codes, badCodes := values.Flag("codes")
	err = invalid.Join(badID, badQuery, badMark, badBook, badCodes)
	return csvRequest{id, form, codes}, err
}

// file returns the file of a voucher.
func (r csvRequest) file(name string) file {
	return file{fmt.Sprintf("%s-%d", name, r.voucherID), r.form}
}

// form is in what form a file is wanted.
type form struct {
	mark bool // a CSV with a byte order mark
	book bool // a workbook
}

func readForm(values param.Query) (f form, badMark, badBook *invalid.Problem) {
	f.mark, badMark = values.Flag("bom")
	f.book, badBook = values.Flag("xlsx")
	return f, badMark, badBook
}

// file has the name under which a file is saved, without its ending.
type file struct {
	name string
	form
}

// sendFile streams the heads, then the lines that the function lines writes. After the first piece, an error cuts the
// answer off, without its last line and without the end of the HTTP message.
func (h handlers) sendFile(
	c *gin.Context, who httpkit.Identity, f file, heads []field, lines func(*gin.Context, *fileStream) error,
) (httpkit.Answer, error) {
	media, ending := "text/csv; charset=utf-8", ".csv"
	if f.book {
		media, ending = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx"
	}
	ctx, s, err := h.front.Streams.Open(c, who, []string{media}, h.front.Now())
	if err != nil {
		return httpkit.Answer{}, err
	}
	defer h.front.Streams.Close(s)
	c.Request = c.Request.WithContext(ctx)
	c.Header("Content-Disposition", fmt.Sprintf("attachment; filename=%q", f.name+ending))
	if c.Request.Method == http.MethodHead {
		s.Begin()
		return httpkit.Answer{}, nil
	}
	out := &fileStream{stream: s, front: &h.front, width: len(heads)}
	out.begin(f, heads)
	if err = lines(c, out); err == nil {
		err = out.end()
	}
	if err != nil && s.Begun() {
		s.Abort()
	}
	if err != nil && !s.Begun() {
		c.Writer.Header().Del("Content-Disposition")
	}
	return httpkit.Answer{}, err
}

func (o *fileStream) begin(f file, heads []field) {
	if f.book {
		digits, _ := currency.Digits(o.front.Currency)
		texts := make([]string, len(heads))
		for i, head := range heads {
			if texts[i] = head.text; head.kind == moment {
				texts[i] += " (" + o.front.Zone.String() + ")"
			}
		}
		o.book = xlsx.NewWriter(&o.buf, texts, digits)
		return
	}
	if f.mark {
		o.buf.WriteString(byteOrderMark)
	}
	o.write(heads)
}

// line adds a line.
func (o *fileStream) line(fields ...field) error {
	o.lines++
	if o.book == nil {
		o.write(fields)
		return nil
	}
	cells := make([]xlsx.Cell, len(fields))
	for i, f := range fields {
		cells[i] = f.inSheet(o.front)
	}
	return o.book.Row(cells)
}

// write adds a line in the format of RFC 4180. It also quotes a cell with a semicolon, which encoding/csv does not do:
// where a comma is the decimal separator, spreadsheets read semicolons as separators of cells.
func (o *fileStream) write(fields []field) {
	for i, of := range fields {
		if i > 0 {
			o.buf.WriteByte(',')
		}
		f := of.inCSV()
		if strings.ContainsAny(f, ",;\"\r\n") || strings.TrimSpace(f) != f {
			f = `"` + strings.ReplaceAll(f, `"`, `""`) + `"`
		}
		o.buf.WriteString(f)
	}
	o.buf.WriteString("\r\n")
}

// flush sends the lines that were added.
func (o *fileStream) flush() error {
	if o.book != nil {
		if err := o.book.Flush(); err != nil {
			return err
		}
	}
	if o.buf.Len() == 0 {
		return nil
	}
	if !o.stream.Begun() {
		o.stream.Begin()
	}
	err := o.stream.Write(o.buf.String())
	o.buf.Reset()
	return err
}

// end sends what ends the file: of a CSV the last line, as wide as the others.
func (o *fileStream) end() error {
	if o.book != nil {
		if err := o.book.Close(); err != nil {
			return err
		}
		o.book = nil
		return o.flush()
	}
	last := make([]field, o.width)
	last[0].text, last[1].text = csvEnd, strconv.FormatInt(o.lines, 10)
	o.write(last)
	return o.flush()
}

// reportCSV answers GET /admin/voucher/:id/report.csv: the figures of GET /admin/voucher/:id/report, one per line, with
// their names there.
func (h handlers) reportCSV(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	r, err := readCSVRequest(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	made, err := h.reports.Of(c.Request.Context(), r.voucherID)
	if err != nil {
		return httpkit.Answer{}, err
	}
	heads := []field{{text: "figure"}, {text: "value"}}
	return h.sendFile(c, who, r.file("report"), heads, func(_ *gin.Context, out *fileStream) error {
		view := reportView(made, h.front.Currency, h.front.Now())
		if view.saleJSON != nil {
			view.Timeline = nil // the timeline is a file of its own
		}
		text, err := json.Marshal(view)
		if err != nil {
			return fmt.Errorf("the report of voucher %d: %w", r.voucherID, err)
		}
		values := json.NewDecoder(bytes.NewReader(text))
		values.UseNumber()
		return out.figures(values, "")
	})
}

// figures adds a line for each value of a JSON text, under its path: orders.paid.units.
func (o *fileStream) figures(text *json.Decoder, path string) error {
	token, err := text.Token()
	if err != nil {
		return fmt.Errorf("reading a report at %q: %w", path, err)
	}
	opened, nested := token.(json.Delim)
	if !nested {
		if token != nil {
			return o.line(field{text: path}, figure(path, token))
		}
		return nil
	}
	for i := 0; text.More(); i++ {
		member := any(i)
		if opened == '{' {
			if member, err = text.Token(); err != nil {
				return fmt.Errorf("reading a report in %q: %w", path, err)
			}
		}
		if err := o.figures(text, strings.TrimPrefix(fmt.Sprintf("%s.%v", path, member), ".")); err != nil {
			return err
		}
	}
	_, err = text.Token() // the end of the object or array
	return err
}

// timelineCSV answers GET /admin/voucher/:id/timeline.csv: how requests were answered, a line for each second.
func (h handlers) timelineCSV(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	r, err := readCSVRequest(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	columns := timelineColumns()
	return h.sendFile(c, who, r.file("timeline"), headsOf(columns), func(c *gin.Context, out *fileStream) error {
		return h.reports.Seconds(c.Request.Context(), r.voucherID, func(points []Point) error {
			return addLines(out, columns, points)
		})
	})
}

// timelineColumns are the columns of a timeline, in the order of gate.Answers, whose first is Accepted.
func timelineColumns() []column[Point] {
	columns := []column[Point]{at("at", func(p Point) time.Time { return p.At })}
	for i, answer := range gate.Answers() {
		head := "accepted"
		if i > 0 {
			head = "refused." + httpkit.CodeOf(answer)
		}
		columns = append(columns, count(head, func(p Point) int64 { return p.Counts[answer] }))
	}
	return append(columns, column[Point]{"p99Ms", number, func(p Point) string { return csvP99(httpkit.P99(p.Took)) }})
}

// ordersCSV answers GET /admin/voucher/:id/orders.csv: all recorded orders, with their codes masked or, with
// ?codes=true, whole. It adds an entry to the audit trail before it sends anything.
func (h handlers) ordersCSV(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	r, err := readCSVRequest(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	shown := "masked"
	if r.codes {
		shown = "whole"
	}
	columns := orderColumns(h.front.Currency)
	e := voucher.Entry{
		Action: voucher.Exported, VoucherID: r.voucherID,
		Changes: []voucher.FieldChange{{Field: "codes", To: shown}},
	}
	return h.sendFile(c, who, r.file("orders"), headsOf(columns), func(c *gin.Context, out *fileStream) error {
		note := h.noteOnce(c, who, e)
		return h.reports.Orders(c.Request.Context(), r.voucherID, r.codes, func(page []ExportRow) error {
			if err := note(); err != nil {
				return err
			}
			return addLines(out, columns, page)
		})
	})
}

// noteOnce returns a function that adds an entry about an export to the audit trail, at its first call: with the first
// page, so that an export that cannot be read leaves no entry. A HEAD request leaves none, because it exports nothing.
func (h handlers) noteOnce(c *gin.Context, who httpkit.Identity, e voucher.Entry) func() error {
	e.By = httpkit.Author(c, who)
	noted := c.Request.Method == http.MethodHead
	return func() error {
		if noted {
			return nil
		}
		noted = true
		return h.note(c.Request.Context(), e)
	}
}
