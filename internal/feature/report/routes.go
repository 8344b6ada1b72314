package report

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Service makes reports: *Reports. Its methods return voucher.ErrNotFound if they name a voucher, and
// order.ErrUnavailable.
type Service interface {
	// Of returns the report of a voucher.
	Of(ctx context.Context, voucherID int64) (Report, error)
	// Sales returns a shop's sales, or with 0 all shops', of one phase, or with "" of all, with an id below before,
	// newest first, at most limit.
	Sales(ctx context.Context, shopID int64, phase Phase, before int64, limit int) ([]Sale, error)
	// SalesSums returns the sums over all sales of a shop, or with 0 of all, of each phase.
	SalesSums(ctx context.Context, shopID int64) (map[Phase]SalesSums, error)
	// Taken returns the money that a shop, or with 0 all shops, took and gave back since midnight.
	Taken(ctx context.Context, shopID int64) (Taken, error)
	Exports
}

// Exports are what files are made of. Each method calls yield with some rows at a time, until it fails.
type Exports interface {
	// Orders has all orders of a voucher. Codes are masked or whole.
	Orders(ctx context.Context, voucherID int64, whole bool, yield func([]ExportRow) error) error
	// Payments has all payments that the filter selects.
	Payments(ctx context.Context, f order.PaymentFilter, yield func([]order.Payment) error) error
	// Seconds has each second with requests.
	Seconds(ctx context.Context, voucherID int64, yield func([]Point) error) error
	// Audit has all entries of the audit trail that the filter selects.
	Audit(ctx context.Context, f voucher.AuditFilter, yield func([]AuditRow) error) error
}

// HTTP is what the routes need of the core's interface.
type HTTP struct {
	// Note adds an entry to the audit trail. Error: order.ErrUnavailable.
	Note    func(ctx context.Context, e voucher.Entry) error
	Streams *httpkit.Streams
	Now     func() time.Time
	Zone    *time.Location // whose midnight begins a day, and of times without a zone
	// Currency is that of all amounts, a code of ISO 4217.
	Currency string
	// ShopOf returns the shop of a voucher. Errors: voucher.ErrNotFound, order.ErrUnavailable.
	ShopOf func(ctx context.Context, voucherID int64) (int64, error)
}

// Routes returns the routes of reports and exports.
func Routes(reports Service, core HTTP) []httpkit.Route {
	h, mark, own := handlers{reports, core}, httpkit.Query("bom"), httpkit.OwnVoucher(core.ShopOf)
	return []httpkit.Route{
		httpkit.Staff("GET /admin/sale", h.listSales, httpkit.ByHandler, httpkit.Query("phase", "limit", "before")),
		httpkit.Staff("GET /admin/today", h.today, httpkit.ByHandler),
		httpkit.Staff("GET /admin/voucher/:id/report", h.showReport, own),
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
	core    HTTP
}

// showReport answers GET /admin/voucher/:id/
func (h handlers) showReport(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	id, badID := param.ID("id", c.Param("id"), voucher.MaxID)
	if err := invalid.Join(badID); err != nil {
		return httpkit.Answer{}, err
	}
	r, err := h.reports.Of(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	view := reportView(r, h.core.Currency, h.core.Now())
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
	// One more shows whether a page follows.
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
		Currency: h.core.Currency, Sums: make(map[Phase]salesSumsJSON), Sales: make([]saleLineJSON, len(sales)),
	}
	for _, p := range Phases() {
		view.Sums[p] = salesSumsView(sums[p])
	}
	for i, s := range sales {
		view.Sales[i] = saleLineJSON{
			VoucherID: s.VoucherID, ShopID: s.ShopID, Title: s.Title, BeginTime: httpkit.ShownTime(s.Begin),
			EndTime: httpkit.ShownTime(s.End), Phase: s.Phase,
			CalledOff: httpkit.TimeView(s.CalledOff), salesSumsJSON: salesSumsView(s.Sums),
		}
	}
	e.Data = view
	return httpkit.Answer{Status: http.StatusOK, Envelope: e}, nil
}

// phaseOf returns the phase that the query asks for; "" for all.
func phaseOf(values param.Query) (Phase, *invalid.Problem) {
	text, given, bad := values.Text("phase")
	if !given {
		return "", bad
	}
	var names []string
	for _, p := range Phases() {
		if text == string(p) {
			return p, nil
		}
		names = append(names, string(p))
	}
	return "", invalid.New("phase", invalid.Malformed, invalid.OneOf,
		invalid.Data{"value": invalid.Clip(text), "values": names})
}
