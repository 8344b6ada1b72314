package httpapi

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"seckill/internal/guard"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/invalid"
	"seckill/internal/order"
	"seckill/internal/order/redemption"
	"seckill/internal/order/report"
	"seckill/internal/voucher"
)

// csvEnd begins the last line of every CSV, which also says how many lines are between it and the head. A file
// without it was cut off.
const csvEnd = "#end"

// byteOrderMark has spreadsheets read the file as UTF-8.
const byteOrderMark = "\ufeff"

// csvStream is a CSV that is sent a piece at a time: its memory is that of a piece.
type csvStream struct {
	stream *httpkit.Stream
	buf    bytes.Buffer
	csv    *csv.Writer
	width  int // fields of a line
	lines  int64
}

// csvRequest is what a request for a CSV asks for.
type csvRequest struct {
	voucherID int64
	mark      bool // a byte order mark
	codes     bool // whole codes, for a route that has them
}

func readCSVRequest(c *gin.Context, names ...string) (r csvRequest, err error) {
	id, badID := param.ID("id", c.Param("id"), voucher.MaxID)
	values, badQuery := param.ParseQuery(c.Request)
	mark, badMark := values.Flag("bom")
	codes, badCodes := values.Flag("codes")
	err = invalid.Join(badID, badQuery, badMark, badCodes, values.Only(append(names, "bom")...))
	return csvRequest{id, mark, codes}, err
}

// sendCSV streams what lines writes below the head. Once something was sent, an error cuts the answer off: the last
// line is missing then, and so is the end of the HTTP message.
func (a *API) sendCSV(
	c *gin.Context, who httpkit.Identity, r csvRequest, name string, head []string,
	lines func(*gin.Context, *csvStream) error,
) (httpkit.Answer, error) {
	ctx, s, err := a.cfg.Streams.Open(c, who, []string{"text/csv; charset=utf-8"}, a.cfg.Now())
	if err != nil {
		return httpkit.Answer{}, err
	}
	defer a.cfg.Streams.Close(s)
	c.Request = c.Request.WithContext(ctx)
	c.Header("Content-Disposition", fmt.Sprintf(`attachment; filename="%s-%d.csv"`, name, r.voucherID))
	if c.Request.Method == http.MethodHead {
		s.Begin()
		return httpkit.Answer{}, nil
	}
	out := &csvStream{stream: s, width: len(head)}
	out.csv = csv.NewWriter(&out.buf)
	out.csv.UseCRLF = true // RFC 4180
	if r.mark {
		out.buf.WriteString(byteOrderMark)
	}
	if err = out.csv.Write(head); err == nil {
		err = lines(c, out)
	}
	if err == nil {
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

// line adds a line. Text that a person has written goes through cell.
func (o *csvStream) line(fields ...string) error {
	o.lines++
	if err := o.csv.Write(fields); err != nil {
		return fmt.Errorf("writing a line of CSV: %w", err)
	}
	return nil
}

// flush sends what was added.
func (o *csvStream) flush() error {
	o.csv.Flush()
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
	if err := o.csv.Write(last); err != nil {
		return fmt.Errorf("writing the last line of CSV: %w", err)
	}
	return o.flush()
}

// cell is a text as a cell that no spreadsheet takes for a formula: a quote before what could begin one.
func cell(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	// full-width ones are formulas in East Asian spreadsheets.
	if text != "" && strings.ContainsRune("=+-@\t\r\n|%＝＋－＠", first) {
		return "'" + text
	}
	return text
}

// csvTime is a time as a cell; "" for none.
func csvTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return httpkit.ShownTime(t).Format(time.RFC3339Nano)
}

func csvNumber(n int64) string { return strconv.FormatInt(n, 10) }

// reportCSV answers GET /admin/voucher/:id/report.csv: the figures of the report, one on a line.
func (a *API) reportCSV(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	r, err := readCSVRequest(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	made, err := a.cfg.Reports.Of(c.Request.Context(), r.voucherID)
	if err != nil {
		return httpkit.Answer{}, err
	}
	return a.sendCSV(c, who, r, "report", []string{"figure", "value"}, func(_ *gin.Context, out *csvStream) error {
		return writeReport(out, made, reportView(made, a.cfg.Now()))
	})
}

func writeReport(out *csvStream, r report.Report, v reportJSON) error {
	figures := [][2]string{
		{"at", csvTime(v.At)},
		{"voucher_id", csvNumber(v.VoucherID)},
		{"shop_id", csvNumber(v.ShopID)},
		{"title", cell(v.Title)},
		{"price_cents", csvNumber(v.PayValue)},
	}
	if sale := v.reportSaleJSON; sale != nil {
		figures = append(figures, [][2]string{
			{"begin", csvTime(sale.BeginTime)},
			{"end", csvTime(sale.EndTime)},
			{"issued_units", csvNumber(sale.Issued)},
			{"left_units", csvNumber(sale.Stock)},
			{"asked", csvNumber(sale.Asked)},
			{"accepted", csvNumber(sale.Accepted)},
		}...)
		for _, answer := range order.Answers()[1:] {
			figures = append(figures, [2]string{"refused_" + string(answer), csvNumber(r.Answers[answer])})
		}
		figures = append(figures, [][2]string{
			{"first_accepted", csvTime(r.FirstAccepted)},
			{"last_accepted", csvTime(r.LastAccepted)},
			{"sold_out", csvTime(r.SoldOut)},
		}...)
	}
	if w := v.Waitlist; w != nil {
		figures = append(figures, [][2]string{
			{"waitlist_joined", csvNumber(w.Joined)},
			{"waitlist_waiting", csvNumber(w.Waiting)},
			{"waitlist_offered", csvNumber(w.Offered)},
			{"waitlist_open", csvNumber(w.Open)},
			{"waitlist_accepted", csvNumber(w.Accepted)},
			{"waitlist_bought", csvNumber(w.Bought)},
			{"waitlist_passed", csvNumber(w.Passed)},
		}...)
	}
	if g := v.Guards; g != nil {
		figures = append(figures, guardLines(g)...)
	}
	for _, t := range tallies(r.Sums) {
		figures = append(figures, [][2]string{
			{t.name + "_orders", csvNumber(t.tally.Orders)},
			{t.name + "_units", csvNumber(t.tally.Units)},
			{t.name + "_cents", csvNumber(t.tally.Cents)},
		}...)
	}
	figures = append(figures, [2]string{"received_cents", csvNumber(v.Received)},
		[2]string{"revenue_cents", csvNumber(v.Revenue)})
	for _, f := range figures {
		if err := out.line(f[0], f[1]); err != nil {
			return err
		}
	}
	return nil
}

// guardLines are the figures of guards: requests, units by the account's age, and the highest networks.
func guardLines(g *guardFiguresJSON) (lines [][2]string) {
	for _, n := range guard.Names() {
		name := "guard_" + strings.ReplaceAll(string(n), "D", "_d") // as the other figures are written
		lines = append(lines, [2]string{name + "_stopped", csvNumber(g.Stopped[n])},
			[2]string{name + "_would_stop", csvNumber(g.WouldStop[n])})
	}
	for _, a := range guard.Ages() {
		lines = append(lines, [2]string{"units_age_" + string(a), csvNumber(g.UnitsByAge[a])})
	}
	for _, n := range g.StoppedNetworks {
		lines = append(lines, [2]string{"stopped_network " + n.Network, csvNumber(n.Count)})
	}
	for _, n := range g.UnitNetworks {
		lines = append(lines, [2]string{"units_network " + n.Network, csvNumber(n.Count)})
	}
	return lines
}

// timelineCSV answers GET /admin/voucher/:id/timeline.csv: how requests were answered, a line for each second.
func (a *API) timelineCSV(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	r, err := readCSVRequest(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	head := []string{"time"}
	for _, answer := range order.Answers() {
		head = append(head, string(answer))
	}
	return a.sendCSV(c, who, r, "timeline", head, func(c *gin.Context, out *csvStream) error {
		return a.cfg.Reports.Seconds(c.Request.Context(), r.voucherID, func(points []report.Point) error {
			for _, p := range points {
				line := []string{csvTime(p.At)}
				for _, answer := range order.Answers() {
					line = append(line, csvNumber(p.Counts[answer]))
				}
				if err := out.line(line...); err != nil {
					return err
				}
			}
			return out.flush()
		})
	})
}

// orderColumns are the columns of an export of orders.
func orderColumns() []string {
	return []string{
		"order_id", "user_id", "status", "units", "amount_cents", "reason", "recorded", "pay_before", "paid",
		"redeemed", "cancelled", "refunding", "refunded", "failed", "lapsed", "code", "valid_until",
	}
}

// ordersCSV answers GET /admin/voucher/:id/orders.csv: all recorded orders, with their codes masked or, with
// ?codes=true, whole. The audit trail has an entry before anything is sent.
func (a *API) ordersCSV(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	r, err := readCSVRequest(c, "codes")
	if err != nil {
		return httpkit.Answer{}, err
	}
	show, shown := redemption.Code.Masked, "masked"
	if r.codes {
		show, shown = redemption.Code.Shown, "whole"
	}
	noted := c.Request.Method == http.MethodHead
	return a.sendCSV(c, who, r, "orders", orderColumns(), func(c *gin.Context, out *csvStream) error {
		return a.cfg.Reports.Orders(c.Request.Context(), r.voucherID, func(page []report.ExportRow) error {
			if !noted { // the voucher exists
				noted = true
				e := voucher.Entry{
					By: httpkit.Author(c, who), Action: voucher.Exported, VoucherID: r.voucherID,
					Changes: []voucher.FieldChange{{Field: "codes", To: shown}},
				}
				if err := a.cfg.Audit.Note(c.Request.Context(), e); err != nil {
					return err
				}
			}
			for _, row := range page {
				if err := out.line(orderLine(row, show)...); err != nil {
					return err
				}
			}
			return out.flush()
		})
	})
}

func orderLine(row report.ExportRow, show func(redemption.Code) string) []string {
	o := row.Order
	status, code := o.Status.String(), ""
	if row.Expired {
		status = "expired"
	}
	if row.Code != "" {
		code = show(row.Code)
	}
	return []string{
		csvNumber(o.ID), csvNumber(o.UserID), status, csvNumber(row.Units), csvNumber(o.Amount), cell(string(o.Reason)),
		csvTime(o.CreatedAt), csvTime(o.PayBefore), csvTime(o.PaidAt), csvTime(o.RedeemedAt), csvTime(o.CancelledAt),
		csvTime(o.RefundingAt), csvTime(o.RefundedAt), csvTime(o.FailedAt), csvTime(o.LapsedAt), cell(code),
		csvTime(row.ValidUntil),
	}
}
