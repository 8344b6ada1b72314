package report

import (
	"context"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// Service makes reports: *Reports. Errors of its methods: order.ErrUnavailable, and voucher.ErrNotFound where a voucher
// is named.
type Service interface {
	// Of returns the report of a voucher.
	Of(ctx context.Context, voucherID int64) (Report, error)
	// Sales returns a shop's sales, or with 0 all shops', of one phase, or with "" of all, with an id below before,
	// newest first, at most limit, without rehearsals.
	Sales(ctx context.Context, shopID int64, phase Phase, before int64, limit int) ([]Sale, error)
	// SalesSums returns the sums over all sales of a shop, or with 0 of all, of each phase, without rehearsals.
	SalesSums(ctx context.Context, shopID int64) (map[Phase]SalesSums, error)
	// Taken returns the money that a shop, or with 0 all shops, took and gave back since midnight, without rehearsals.
	Taken(ctx context.Context, shopID int64) (Taken, error)
	Exports
}

// Exports read the rows of files. Each method calls yield with some rows at a time, until yield fails.
type Exports interface {
	// Orders reads all recorded orders of a voucher, by id. Codes are masked unless whole is set.
	Orders(ctx context.Context, voucherID int64, whole bool, yield func([]ExportRow) error) error
	// Payments reads all payments that the filter selects, the oldest first.
	Payments(ctx context.Context, f payment.Filter, yield func([]payment.Payment) error) error
	// Seconds reads each second with requests for a sale, in order.
	Seconds(ctx context.Context, voucherID int64, yield func([]Point) error) error
	// Audit reads all entries of the audit trail that the filter selects, the newest first.
	Audit(ctx context.Context, f voucher.AuditFilter, yield func([]AuditRow) error) error
}

// Routes returns the routes of reports and exports.
//
// note adds an entry to the audit trail, or returns order.ErrUnavailable.
func Routes(
	reports Service, front httpkit.Front, note func(ctx context.Context, e voucher.Entry) error,
) []httpkit.Route {
	h, mark, own := handlers{reports, front, note}, httpkit.Query("bom", "xlsx"), httpkit.OwnVoucher(front.ShopOf)
	return []httpkit.Route{
		httpkit.Staff("GET /admin/sale", h.listSales, httpkit.ByHandler, httpkit.Query("phase", "limit", "before")),
		httpkit.Staff("GET /admin/today", h.today, httpkit.ByHandler),
		httpkit.Staff("GET /admin/voucher/:id/report", httpkit.ByVoucher(h.showReport), own),
		httpkit.Staff("GET /admin/voucher/:id/report.csv", h.reportCSV, own, httpkit.Uncounted, mark),
		httpkit.Staff("GET /admin/voucher/:id/timeline.csv", h.timelineCSV, own, httpkit.Uncounted, mark),
		httpkit.Staff("GET /admin/voucher/:id/orders.csv", h.ordersCSV, own, httpkit.Uncounted, mark,
			httpkit.Query("codes")),
		httpkit.Staff("GET /admin/audit.csv", h.auditCSV, httpkit.ByHandler, httpkit.Uncounted, mark,
			httpkit.Query("voucherId", "adminId")),
		httpkit.Staff("GET /admin/payments.csv", h.paymentsCSV, httpkit.ByHandler, httpkit.Uncounted, mark,
			httpkit.PaymentQuery),
	}
}

type handlers struct {
	reports Service
	front   httpkit.Front
	note    func(ctx context.Context, e voucher.Entry) error
}

// showReport answers GET /admin/voucher/:id/report.
func (h handlers) showReport(c *gin.Context, _ httpkit.Identity, id int64) (httpkit.Answer, error) {
	r, err := h.reports.Of(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	view := reportView(r, h.front.Currency, h.front.Now())
	view.ShopName = h.front.Members.Of("shop").Shops(c.Request.Context(), []int64{view.ShopID})[view.ShopID]
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: view}}, nil
}

// listSales answers GET /admin/sale: all shops' sales, or a merchant's, newest first, with the sums over all of each
// phase.
func (h handlers) listSales(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	phase, badPhase := phaseOf(values)
	n, badLimit := values.Limit()
	cursor, badCursor := values.Before()
	if err := invalid.Join(badQuery, badPhase, badLimit, badCursor); err != nil {
		return httpkit.Answer{}, err
	}
	// It reads one more sale than it shows, to learn whether a page follows.
	sales, err := h.reports.Sales(c.Request.Context(), who.Only(), phase, cursor, n+1)
	if err != nil {
		return httpkit.Answer{}, err
	}
	sums, err := h.reports.SalesSums(c.Request.Context(), who.Only())
	if err != nil {
		return httpkit.Answer{}, err
	}
	e := httpkit.Envelope{}
	if len(sales) > n {
		sales = sales[:n]
		e.Next = strconv.FormatInt(sales[n-1].VoucherID, 10)
	}
	view := salesJSON{
		Currency: h.front.Currency, Sums: make(map[Phase]SalesSums), Sales: make([]saleLineJSON, len(sales)),
	}
	for _, p := range Phases() {
		view.Sums[p] = sums[p]
	}
	names := httpkit.ShopNames(c.Request.Context(), h.front.Members, sales, func(s Sale) int64 { return s.ShopID })
	for i, s := range sales {
		view.Sales[i] = saleLineJSON{
			VoucherID: s.VoucherID, ShopID: s.ShopID, ShopName: names[s.ShopID], Title: s.Title,
			BeginTime: httpkit.ShownTime(s.Begin), EndTime: httpkit.ShownTime(s.End), Phase: s.Phase,
			CalledOff: httpkit.TimeView(s.CalledOff), SalesSums: s.Sums,
		}
	}
	e.Data = view
	return httpkit.Answer{Status: http.StatusOK, Envelope: e}, nil
}

// phaseOf returns the phase that the query asks for; "" for all.
func phaseOf(values param.Query) (Phase, *invalid.Problem) {
	i, bad := httpkit.OneOf(values, "phase", Phases())
	if i < 0 {
		return "", bad
	}
	return Phases()[i], nil
}

// todayJSON is the JSON form of today's money.
type todayJSON struct {
	Since    httpkit.Time `json:"since"` // midnight
	Zone     string       `json:"zone"`  // the time zone of Since: a name of the IANA database
	Currency string       `json:"currency"`
	Received Flow         `json:"received"`
	Returned Flow         `json:"returned"` // the sum of the next two
	Refunded Flow         `json:"refunded"`
	Lost     Flow         `json:"lostInDisputes"`
}

// today answers GET /admin/today: the money of the day, by the service's time zone.
func (h handlers) today(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	_, bad := param.ParseQuery(c.Request)
	if err := invalid.Join(bad); err != nil {
		return httpkit.Answer{}, err
	}
	taken, err := h.reports.Taken(c.Request.Context(), who.Only())
	return httpkit.Data(http.StatusOK, todayJSON{
		Since: httpkit.ShownTime(taken.Since), Zone: h.front.Zone.String(), Currency: h.front.Currency,
		Received: taken.Received, Returned: taken.Returned, Refunded: taken.Refunded, Lost: taken.Lost,
	}, err)
}
