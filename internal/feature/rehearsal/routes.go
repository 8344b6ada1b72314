package rehearsal

import (
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/check"
	"seckill/internal/kit/idempotency"
	"seckill/internal/kit/words"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Routes returns the routes of admins and of crowds.
func Routes(rehearsals *Rehearsals, front httpkit.Front) []httpkit.Route {
	h, own := handlers{rehearsals, front}, httpkit.OwnVoucher(front.ShopOf)
	return []httpkit.Route{
		httpkit.Staff("GET /admin/voucher/:id/rehearsal", httpkit.ByVoucher(h.list), own),
		// For admins: one rehearsal runs at a time, and its crowd's token is signed with a secret that no merchant has.
		httpkit.Admin("POST /admin/voucher/:id/rehearsal", httpkit.ByVoucher(h.start),
			httpkit.KeyedByID(h.startedBefore)),
		httpkit.Staff("POST /admin/rehearsal/:id/end", httpkit.ByVoucher(h.end), h.own),
		httpkit.Crowd("GET /rehearsal/:id/order", h.orders, httpkit.Query("limit", "before")),
		httpkit.Crowd("POST /rehearsal/:id/report", h.report, httpkit.Body),
	}
}

type handlers struct {
	rehearsals *Rehearsals
	front      httpkit.Front
}

// own returns ErrNone unless the rehearsal in the path is of a voucher of the shop.
func (h handlers) own(c *gin.Context, shop int64) error {
	id, err := httpkit.PathVoucher(c)
	if err != nil {
		return err
	}
	run, err := h.rehearsals.Find(c.Request.Context(), id)
	if err != nil {
		return err
	}
	err = httpkit.Owns(c.Request.Context(), h.front.ShopOf, shop, run.Of)
	if errors.Is(err, voucher.ErrNotFound) {
		return ErrNone
	}
	return err
}

// errStarting is the error while another admin is starting a rehearsal.
var errStarting = errors.New("another rehearsal is being started")

// start answers POST /admin/voucher/:id/rehearsal.
func (h handlers) start(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	shadow, err := h.rehearsals.Start(c.Request.Context(), httpkit.Author(c, who), id)
	switch {
	case errors.Is(err, order.ErrBusy):
		return httpkit.Answer{}, errStarting
	case err != nil:
		return httpkit.Answer{}, err
	}
	return h.show(http.StatusCreated, Run{
		VoucherID: shadow.ID, Of: id, AdminID: who.UserID, Begin: shadow.Sale.Begin, End: shadow.Sale.End,
		Figures: Figures{Stock: shadow.Sale.Issued},
	}, nil)
}

// startedBefore answers a repeated POST /admin/voucher/:id/rehearsal.
func (h handlers) startedBefore(c *gin.Context, _ httpkit.Identity, id int64) (httpkit.Answer, error) {
	run, err := h.rehearsals.Find(c.Request.Context(), id)
	if errors.Is(err, ErrNone) {
		err = idempotency.ErrGone
	}
	return h.show(http.StatusCreated, run, err)
}

// list answers GET /admin/voucher/:id/rehearsal.
func (h handlers) list(c *gin.Context, _ httpkit.Identity, id int64) (httpkit.Answer, error) {
	runs, err := h.rehearsals.Of(c.Request.Context(), id)
	now := h.front.Now()
	return httpkit.Answer{Status: http.StatusOK, Speak: func(in words.Language) any {
		views := make([]runJSON, len(runs))
		for i, r := range runs {
			views[i] = view(r, now, in)
		}
		return views
	}}, err
}

// end answers POST /admin/rehearsal/:id/end.
func (h handlers) end(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	run, err := h.rehearsals.End(c.Request.Context(), httpkit.Author(c, who), id)
	return h.show(http.StatusOK, run, err)
}

// show answers with one rehearsal, unless err is set.
func (h handlers) show(status int, r Run, err error) (httpkit.Answer, error) {
	now := h.front.Now()
	return httpkit.Answer{Status: status, Speak: func(in words.Language) any { return view(r, now, in) }}, err
}

// runJSON is the JSON form of a rehearsal.
type runJSON struct {
	ID         int64               `json:"id"`        // also the id of the rehearsal's own voucher
	VoucherID  int64               `json:"voucherId"` // the voucher whose sale it rehearses
	AdminID    int64               `json:"adminId"`
	State      State               `json:"state"`
	BeginTime  httpkit.Time        `json:"beginTime"`
	EndTime    httpkit.Time        `json:"endTime"`
	Issued     int64               `json:"issued"`
	ReportTime *httpkit.Time       `json:"reportTime,omitempty"`
	Buyers     int64               `json:"buyers"`
	Arrived    int64               `json:"arrived"`
	Requests   int64               `json:"requests"`
	Accepted   int64               `json:"accepted"`
	Unclear    int64               `json:"unclear"`
	P99Millis  float64             `json:"p99Ms"`
	SoldOut    float64             `json:"soldOutSeconds,omitempty"`
	Go         *bool               `json:"go,omitempty"`
	Lines      []httpkit.CheckLine `json:"lines,omitempty"`
}

func view(r Run, now time.Time, in words.Language) runJSON {
	f := r.Figures
	shown := runJSON{
		ID: r.VoucherID, VoucherID: r.Of, AdminID: r.AdminID, State: r.State(now),
		BeginTime: httpkit.ShownTime(r.Begin), EndTime: httpkit.ShownTime(r.End),
		Issued: f.Stock, ReportTime: httpkit.TimeView(r.ReportedAt), Buyers: f.Buyers, Arrived: f.Arrived,
		Requests: f.Requests, Accepted: f.Accepted, Unclear: f.Unclear, P99Millis: float64(f.P99.Microseconds()) / 1000,
		SoldOut: f.SoldOut.Seconds(),
	}
	if r.Done {
		lines := Forecast(f)
		goes := check.Go(lines)
		shown.Go, shown.Lines = &goes, httpkit.CheckLines(lines, in)
	}
	return shown
}
