package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/invalid"
	"seckill/internal/order"
	"seckill/internal/order/report"
	"seckill/internal/voucher"
)

// Reports are what sales leave behind: *report.Reports. Its methods return voucher.ErrNotFound where they name a
// voucher, and order.ErrUnavailable.
type Reports interface {
	// Of returns the report of a voucher.
	Of(ctx context.Context, voucherID int64) (report.Report, error)
	// Orders calls yield with all orders of a voucher, a page at a time, until it fails.
	Orders(ctx context.Context, voucherID int64, yield func([]report.ExportRow) error) error
	// Seconds calls yield with each second in which something was asked, some at a time, until it fails.
	Seconds(ctx context.Context, voucherID int64, yield func([]report.Point) error) error
	// Sales returns sales of one phase, or with "" of all, with an id below before, newest first, at most limit.
	Sales(ctx context.Context, phase report.Phase, before int64, limit int) ([]report.Sale, error)
	// SalesSums returns the sums over all sales of each phase.
	SalesSums(ctx context.Context) (map[report.Phase]report.SalesSums, error)
}

// showReport answers GET /admin/voucher/:id/report.
func (a *API) showReport(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	id, badID := param.ID("id", c.Param("id"), voucher.MaxID)
	if err := invalid.Join(badID); err != nil {
		return httpkit.Answer{}, err
	}
	r, err := a.cfg.Reports.Of(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: reportView(r, a.cfg.Now())}}, nil
}

// listSales answers GET /admin/sale: all shops' sales, newest first, with the sums over all of each phase.
func (a *API) listSales(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	phase, badPhase := phaseOf(values)
	n, badLimit := values.Limit()
	cursor, badCursor := values.Before()
	if err := invalid.Join(badQuery, badPhase, badLimit, badCursor,
		values.Only("phase", "limit", "before")); err != nil {
		return httpkit.Answer{}, err
	}
	sales, err := a.cfg.Reports.Sales(c.Request.Context(), phase, cursor, n+1) // one more shows whether a page follows
	if err != nil {
		return httpkit.Answer{}, err
	}
	sums, err := a.cfg.Reports.SalesSums(c.Request.Context())
	if err != nil {
		return httpkit.Answer{}, err
	}
	e := httpkit.Envelope{}
	if len(sales) > n {
		sales = sales[:n]
		e.Next = strconv.FormatInt(sales[n-1].VoucherID, 10)
	}
	view := salesJSON{Sums: make(map[report.Phase]salesSumsJSON), Sales: make([]saleLineJSON, len(sales))}
	for _, p := range report.Phases() {
		view.Sums[p] = salesSumsView(sums[p])
	}
	for i, s := range sales {
		view.Sales[i] = saleLineJSON{
			VoucherID: s.VoucherID, ShopID: s.ShopID, Title: s.Title, BeginTime: httpkit.ShownTime(s.Begin),
			EndTime: httpkit.ShownTime(s.End), Phase: s.Phase, salesSumsJSON: salesSumsView(s.Sums),
		}
	}
	e.Data = view
	return httpkit.Answer{Status: http.StatusOK, Envelope: e}, nil
}

// phaseOf returns which sales are asked for; "" for all.
func phaseOf(values param.Query) (report.Phase, *invalid.Problem) {
	text, given, bad := values.Text("phase")
	if !given {
		return "", bad
	}
	var names []string
	for _, p := range report.Phases() {
		if text == string(p) {
			return p, nil
		}
		names = append(names, string(p))
	}
	return "", invalid.New("phase", invalid.Malformed, invalid.OneOf,
		invalid.Data{"value": invalid.Clip(text), "values": names})
}

// salesJSON is a page of sales.
type salesJSON struct {
	Sums  map[report.Phase]salesSumsJSON `json:"sums"` // over all sales of each phase
	Sales []saleLineJSON                 `json:"sales"`
}

type salesSumsJSON struct {
	Count   int64 `json:"count"`   // of sales
	Issued  int64 `json:"issued"`  // units
	Sold    int64 `json:"sold"`    // units that live orders have
	Paid    int64 `json:"paid"`    // of them
	Revenue int64 `json:"revenue"` // cents
}

func salesSumsView(s report.SalesSums) salesSumsJSON {
	return salesSumsJSON{Count: s.Sales, Issued: s.Issued, Sold: s.Sold, Paid: s.Paid, Revenue: s.Cents}
}

type saleLineJSON struct {
	VoucherID int64        `json:"voucherId"`
	ShopID    int64        `json:"shopId"`
	Title     string       `json:"title"`
	BeginTime time.Time    `json:"beginTime"`
	EndTime   time.Time    `json:"endTime"`
	Phase     report.Phase `json:"phase"`
	salesSumsJSON
}

// reportJSON is what a sale has left behind.
type reportJSON struct {
	At        time.Time `json:"at"`
	VoucherID int64     `json:"voucherId"`
	ShopID    int64     `json:"shopId"`
	Title     string    `json:"title"`
	PayValue  int64     `json:"payValue"` // cents
	*reportSaleJSON
	Waitlist *reportWaitlistJSON `json:"waitlist,omitempty"` // absent where the sale has no waiting list
	Guards   *guardFiguresJSON   `json:"guards,omitempty"`   // absent without guards while nothing was counted
	// GuardsUnread: what guards did could not be read.
	GuardsUnread bool `json:"guardsUnread,omitempty"`

	Orders   map[string]tallyJSON `json:"orders"`   // by what they are now; each recorded order is in one
	Recorded tallyJSON            `json:"recorded"` // all of them
	Sold     tallyJSON            `json:"sold"`     // those that have their units
	Received int64                `json:"received"` // cents that were paid, also those that went back
	Revenue  int64                `json:"revenue"`  // cents that were paid and are not going back
}

// reportSaleJSON is what the report of a sale has besides.
type reportSaleJSON struct {
	BeginTime time.Time `json:"beginTime"`
	EndTime   time.Time `json:"endTime"`
	Issued    int64     `json:"issued"`
	Stock     int64     `json:"stock"` // units without a live order, in the ledger

	Asked    int64            `json:"asked"`                // requests
	Accepted int64            `json:"accepted"`             // of them
	Refused  map[string]int64 `json:"refused"`              // by code
	Spoilt   int64            `json:"unreadable,omitempty"` // minutes of the timeline that are left out

	FirstAccepted  *time.Time `json:"firstAcceptedTime,omitempty"`
	LastAccepted   *time.Time `json:"lastAcceptedTime,omitempty"`
	SoldOut        *time.Time `json:"soldOutTime,omitempty"`
	SoldOutSeconds *int64     `json:"soldOutSeconds,omitempty"` // after the first acceptance

	StepSeconds int64       `json:"stepSeconds"` // of the timeline
	Timeline    []pointJSON `json:"timeline"`
}

// reportWaitlistJSON is what a waiting list has come to, in places. Offered ones are open, bought or passed.
type reportWaitlistJSON struct {
	Joined   int64 `json:"joined"`
	Waiting  int64 `json:"waiting"` // now
	Offered  int64 `json:"offered"`
	Open     int64 `json:"open"`     // the offer stands, or is accepted and not decided yet
	Accepted int64 `json:"accepted"` // the buyer wanted it
	Bought   int64 `json:"bought"`   // it became an order
	Passed   int64 `json:"passed"`   // it went to the next: declined, missed, refused or over
}

type tallyJSON struct {
	Orders int64 `json:"orders"`
	Units  int64 `json:"units"`
	Amount int64 `json:"amount"` // cents
}

func tallyView(t report.Tally) tallyJSON { return tallyJSON{t.Orders, t.Units, t.Cents} }

// pointJSON is how the requests of a step were answered.
type pointJSON struct {
	At       time.Time        `json:"at"`
	Accepted int64            `json:"accepted"`
	Refused  map[string]int64 `json:"refused,omitempty"` // by code
}

// tallies are the tallies of a report by name, in the order in which they are shown.
func tallies(s report.Sums) []struct {
	name  string
	tally report.Tally
} {
	return []struct {
		name  string
		tally report.Tally
	}{
		{"unpaid", s.Unpaid},
		{"paid", s.Paid},
		{"redeemed", s.Redeemed},
		{"lapsed", s.Lapsed},
		{"refunding", s.Refunding},
		{"refunded", s.Refunded},
		{"cancelled", s.Cancelled},
		{"expired", s.Expired},
		{"failed", s.Failed},
	}
}

func reportView(r report.Report, now time.Time) reportJSON {
	v := reportJSON{
		At: httpkit.ShownTime(now), VoucherID: r.Voucher.ID, ShopID: r.Voucher.ShopID, Title: r.Voucher.Title,
		PayValue: r.Voucher.PayValue, Orders: make(map[string]tallyJSON), Recorded: tallyView(r.Sums.Recorded()),
		Sold: tallyView(r.Sums.Sold()), Received: r.Sums.Received().Cents, Revenue: r.Sums.Earned().Cents,
	}
	if r.Waitlist != nil {
		w := reportWaitlistJSON(*r.Waitlist)
		v.Waitlist = &w
	}
	if sale := r.Voucher.Sale; sale != nil {
		v.Guards, v.GuardsUnread = guardFiguresView(sale.Guards, r.Guards), r.GuardsUnread
	}
	for _, t := range tallies(r.Sums) {
		v.Orders[t.name] = tallyView(t.tally)
	}
	if sale := r.Voucher.Sale; sale != nil {
		v.reportSaleJSON = reportSaleView(r, sale)
	}
	return v
}

func reportSaleView(r report.Report, sale *voucher.Sale) *reportSaleJSON {
	v := &reportSaleJSON{
		BeginTime: httpkit.ShownTime(sale.Begin), EndTime: httpkit.ShownTime(sale.End), Issued: r.Sums.Issued,
		Stock: r.Sums.Stock, Spoilt: r.Spoilt, FirstAccepted: httpkit.TimeView(r.FirstAccepted),
		LastAccepted: httpkit.TimeView(r.LastAccepted), SoldOut: httpkit.TimeView(r.SoldOut),
		StepSeconds: int64(r.Step / time.Second), Timeline: make([]pointJSON, len(r.Points)),
	}
	v.Accepted, v.Refused = split(r.Answers)
	v.Asked = v.Accepted
	for _, n := range v.Refused {
		v.Asked += n
	}
	if !r.SoldOut.IsZero() && !r.FirstAccepted.IsZero() {
		seconds := max(0, int64(r.SoldOut.Sub(r.FirstAccepted)/time.Second))
		v.SoldOutSeconds = &seconds
	}
	for i, p := range r.Points {
		accepted, refused := split(p.Counts)
		v.Timeline[i] = pointJSON{At: httpkit.ShownTime(p.At), Accepted: accepted, Refused: refused}
	}
	return v
}

// split returns how many requests were accepted, and how many were refused, by code.
func split(counts order.Counts) (accepted int64, refused map[string]int64) {
	refused = make(map[string]int64)
	for answer, n := range counts {
		if answer == order.Accepted.Answer() {
			accepted = n
		} else {
			refused[httpkit.CodeOf(answer)] = n
		}
	}
	return accepted, refused
}
