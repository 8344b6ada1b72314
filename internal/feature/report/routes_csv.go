package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
)

// csvEnd begins the last line of every CSV. That line also says how many lines are between it and the head. A file
// without it was cut off.
const csvEnd = "#end"

// byteOrderMark makes spreadsheets read the file as UTF-8.
const byteOrderMark = "\ufeff"

// csvStream is a CSV that is sent piece by piece. Its memory is that of one piece.
type csvStream struct {
	stream *httpkit.Stream
	buf    bytes.Buffer
	width  int // fields of a line
	lines  int64
}

// csvRequest has the parameters of a request for a CSV.
type csvRequest struct {
	voucherID int64
	mark      bool // a byte order mark
	codes     bool // codes whole, not masked, on a route that has codes
}

func readCSVRequest(c *gin.Context) (r csvRequest, err error) {
	id, badID := param.ID("id", c.Param("id"), voucher.MaxID)
	values, badQuery := param.ParseQuery(c.Request)
	mark, badMark := values.Flag("bom")
	codes, badCodes := values.Flag("codes")
	err = invalid.Join(badID, badQuery, badMark, badCodes)
	return csvRequest{id, mark, codes}, err
}

// file returns the name under which the voucher's CSV is saved, and whether the CSV has a byte order mark.
func (r csvRequest) file(name string) csvFile {
	return csvFile{fmt.Sprintf("%s-%d.csv", name, r.voucherID), r.mark}
}

// csvFile has the name under which a CSV is saved.
type csvFile struct {
	name string
	mark bool // a byte order mark
}

// column is a column of a CSV. Programs read columns by their heads. New columns go to the end, for those that go by
// position.
type column[T any] struct {
	head string
	cell func(T) string
}

func headsOf[T any](columns []column[T]) []string {
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = c.head
	}
	return heads
}

// addLines adds a line for each row, and sends them.
func addLines[T any](o *csvStream, columns []column[T], rows []T) error {
	line := make([]string, len(columns))
	for _, row := range rows {
		for i, c := range columns {
			line[i] = c.cell(row)
		}
		o.line(line...)
	}
	return o.flush()
}

// sendCSV streams the head, then the lines that the function lines writes. After the first piece, an error cuts the
// answer off, without its last line and without the end of the HTTP message.
func (h handlers) sendCSV(
	c *gin.Context, who httpkit.Identity, file csvFile, head []string,
	lines func(*gin.Context, *csvStream) error,
) (httpkit.Answer, error) {
	ctx, s, err := h.front.Streams.Open(c, who, []string{"text/csv; charset=utf-8"}, h.front.Now())
	if err != nil {
		return httpkit.Answer{}, err
	}
	defer h.front.Streams.Close(s)
	c.Request = c.Request.WithContext(ctx)
	c.Header("Content-Disposition", fmt.Sprintf("attachment; filename=%q", file.name))
	if c.Request.Method == http.MethodHead {
		s.Begin()
		return httpkit.Answer{}, nil
	}
	out := &csvStream{stream: s, width: len(head)}
	if file.mark {
		out.buf.WriteString(byteOrderMark)
	}
	out.write(head)
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

// line adds a line. The caller passes each field that a person typed through cell.
func (o *csvStream) line(fields ...string) {
	o.lines++
	o.write(fields)
}

// write adds a line in the format of RFC 4180. It also quotes a cell with a semicolon, which encoding/csv does not do:
// where a comma is the decimal separator, spreadsheets read semicolons as separators of cells.
func (o *csvStream) write(fields []string) {
	for i, f := range fields {
		if i > 0 {
			o.buf.WriteByte(',')
		}
		if strings.ContainsAny(f, ",;\"\r\n") || strings.TrimSpace(f) != f {
			f = `"` + strings.ReplaceAll(f, `"`, `""`) + `"`
		}
		o.buf.WriteString(f)
	}
	o.buf.WriteString("\r\n")
}

// flush sends the lines that were added.
func (o *csvStream) flush() error {
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

// end sends the last line, as wide as the others.
func (o *csvStream) end() error {
	last := make([]string, o.width)
	last[0], last[1] = csvEnd, strconv.FormatInt(o.lines, 10)
	o.write(last)
	return o.flush()
}

// cell returns the text as a cell that no spreadsheet takes for a formula: it puts a quote before a sign that begins a
// formula.
func cell(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	// Full-width signs begin formulas in East Asian spreadsheets.
	if text != "" && strings.ContainsRune("=+-@\t\r\n|%＝＋－＠", first) {
		return "'" + text
	}
	return text
}

// csvTime returns a time as a cell; "" for the zero time.
func csvTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return httpkit.ShownTime(t).String()
}

func csvNumber(n int64) string { return strconv.FormatInt(n, 10) }

// csvP99 returns a result of httpkit.P99 as a cell; "" for 0.
func csvP99(ms float64) string {
	if ms == 0 {
		return ""
	}
	return strconv.FormatFloat(ms, 'f', -1, 64)
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
	head := []string{"figure", "value"}
	return h.sendCSV(c, who, r.file("report"), head, func(_ *gin.Context, out *csvStream) error {
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
func (o *csvStream) figures(text *json.Decoder, path string) error {
	token, err := text.Token()
	if err != nil {
		return fmt.Errorf("reading a report at %q: %w", path, err)
	}
	opened, nested := token.(json.Delim)
	if !nested {
		if token != nil {
			o.line(path, cell(fmt.Sprint(token)))
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
	return h.sendCSV(c, who, r.file("timeline"), headsOf(columns), func(c *gin.Context, out *csvStream) error {
		return h.reports.Seconds(c.Request.Context(), r.voucherID, func(points []Point) error {
			return addLines(out, columns, points)
		})
	})
}

// timelineColumns are the columns of a timeline, in the order of gate.Answers, whose first is Accepted.
func timelineColumns() []column[Point] {
	columns := []column[Point]{{"at", func(p Point) string { return csvTime(p.At) }}}
	for i, answer := range gate.Answers() {
		head := "accepted"
		if i > 0 {
			head = "refused." + httpkit.CodeOf(answer)
		}
		columns = append(columns, column[Point]{head, func(p Point) string { return csvNumber(p.Counts[answer]) }})
	}
	return append(columns, column[Point]{"p99Ms", func(p Point) string { return csvP99(httpkit.P99(p.Took)) }})
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
	return h.sendCSV(c, who, r.file("orders"), headsOf(columns), func(c *gin.Context, out *csvStream) error {
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
