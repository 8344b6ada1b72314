package httpapi

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/httpapi/param"
	"seckill/internal/invalid"
	"seckill/internal/order"
	"seckill/internal/order/rehearsal"
	"seckill/internal/preflight"
	"seckill/internal/voucher"
	"seckill/internal/words"
)

// Rehearsals are what admins do with rehearsals: *rehearsal.Rehearsals. Everywhere order.ErrUnavailable may come back.
type Rehearsals interface {
	// Start starts one of a voucher's sale. *rehearsal.NearSaleError, *rehearsal.RunningError, order.ErrBusy,
	// voucher.ErrNotFound, voucher.ErrNotSeckill.
	Start(ctx context.Context, by voucher.Author, voucherID int64) (voucher.Shown, error)
	// Of returns those of a voucher's sale, newest first.
	Of(ctx context.Context, voucherID int64) ([]rehearsal.Run, error)
	// End ends one. rehearsal.ErrNone.
	End(ctx context.Context, by voucher.Author, voucherID int64) (rehearsal.Run, error)
}

// Crowds play rehearsals: *rehearsal.Rehearsals. Everywhere order.ErrUnavailable may come back.
type Crowds interface {
	// Find returns a rehearsal. rehearsal.ErrNone.
	Find(ctx context.Context, voucherID int64) (rehearsal.Run, error)
	// Report keeps what its crowd has measured. rehearsal.ErrNone, rehearsal.ErrOver.
	Report(ctx context.Context, voucherID int64, f preflight.Figures, done bool) error
}

// errStarting: another admin is starting a rehearsal at this moment.
var errStarting = errors.New("another rehearsal is being started")

// startRehearsal answers POST /admin/voucher/:id/rehearsal.
func (a *API) startRehearsal(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, bad := param.ID("id", c.Param("id"), voucher.MaxID)
	if err := invalid.Join(bad); err != nil {
		return httpkit.Answer{}, err
	}
	shadow, err := a.cfg.Rehearsals.Start(c.Request.Context(), httpkit.Author(c, who), id)
	switch {
	case errors.Is(err, order.ErrBusy):
		return httpkit.Answer{}, errStarting
	case err != nil:
		return httpkit.Answer{}, err
	}
	run := rehearsal.Run{
		VoucherID: shadow.ID, Of: id, AdminID: who.UserID, Begin: shadow.Sale.Begin, End: shadow.Sale.End,
		Figures: preflight.Figures{Stock: shadow.Sale.Issued},
	}
	return httpkit.Answer{
		Status: http.StatusCreated, Envelope: httpkit.Envelope{Data: runView(run, a.cfg.Now(), a.speak(c))},
	}, nil
}

// listRehearsals answers GET /admin/voucher/:id/rehearsal.
func (a *API) listRehearsals(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	id, bad := param.ID("id", c.Param("id"), voucher.MaxID)
	if err := invalid.Join(bad); err != nil {
		return httpkit.Answer{}, err
	}
	runs, err := a.cfg.Rehearsals.Of(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	views, now, in := make([]runJSON, len(runs)), a.cfg.Now(), a.speak(c)
	for i, r := range runs {
		views[i] = runView(r, now, in)
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: views}}, nil
}

// endRehearsal answers POST /admin/rehearsal/:id/end.
func (a *API) endRehearsal(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, bad := param.ID("id", c.Param("id"), voucher.MaxID)
	if err := invalid.Join(bad); err != nil {
		return httpkit.Answer{}, err
	}
	run, err := a.cfg.Rehearsals.End(c.Request.Context(), httpkit.Author(c, who), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{
		Status: http.StatusOK, Envelope: httpkit.Envelope{Data: runView(run, a.cfg.Now(), a.speak(c))},
	}, nil
}

// rehearsalOrders answers GET /rehearsal/:id/order: the orders of one rehearsal, as GET /admin/order lists them.
func (a *API) rehearsalOrders(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, err := played(c, who)
	if err != nil {
		return httpkit.Answer{}, err
	}
	values, badQuery := param.ParseQuery(c.Request)
	n, badLimit := values.Limit()
	cursor, badCursor := values.Before()
	if err := invalid.Join(badQuery, badLimit, badCursor, values.Only("limit", "before")); err != nil {
		return httpkit.Answer{}, err
	}
	if _, err := a.cfg.Crowds.Find(c.Request.Context(), id); err != nil { // it might be a real sale's
		return httpkit.Answer{}, err
	}
	// One more shows whether a page follows.
	orders, err := a.cfg.Orders.Find(c.Request.Context(), order.Filter{VoucherID: id}, cursor, n+1)
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: orderPage(orders, n)}, nil
}

// reportRehearsal answers POST /rehearsal/:id/report.
func (a *API) reportRehearsal(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, err := played(c, who)
	if err != nil {
		return httpkit.Answer{}, err
	}
	var (
		f                 preflight.Figures
		soldOut, p50, p99 int64 // microseconds
		done              bool
	)
	required, integer := jsonbody.Required, jsonbody.Integer
	err = a.bodies.Read(c,
		required(jsonbody.Bool("done", &done)), required(integer("buyers", &f.Buyers)),
		required(integer("arrived", &f.Arrived)), required(integer("requests", &f.Requests)),
		required(integer("accepted", &f.Accepted)), required(integer("unclear", &f.Unclear)),
		integer("soldOutMicros", &soldOut), integer("p50Micros", &p50), integer("p99Micros", &p99),
		integer("findings", &f.Findings), jsonbody.Bool("early", &f.Early))
	if err != nil {
		return httpkit.Answer{}, err
	}
	if err := wholeFigures(&f, soldOut, p50, p99); err != nil {
		return httpkit.Answer{}, err
	}
	if err := a.cfg.Crowds.Report(c.Request.Context(), id, f, done); err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: struct{}{}}}, nil
}

// longestMicros is an hour: no rehearsal lasts as long.
const longestMicros = int64(time.Hour / time.Microsecond)

// wholeFigures checks numbers that a report must not have, and fills in its times.
func wholeFigures(f *preflight.Figures, soldOut, p50, p99 int64) error {
	var problems invalid.Problems
	for _, n := range []struct {
		name     string
		is, most int64
	}{
		{"buyers", f.Buyers, math.MaxInt32},
		{"arrived", f.Arrived, math.MaxInt32},
		{"requests", f.Requests, math.MaxInt64},
		{"accepted", f.Accepted, math.MaxInt64},
		{"unclear", f.Unclear, math.MaxInt64},
		{"findings", f.Findings, math.MaxInt64},
		{"soldOutMicros", soldOut, longestMicros},
		{"p50Micros", p50, longestMicros},
		{"p99Micros", p99, longestMicros},
	} {
		problems.Number(n.name, n.is, 0, n.most)
	}
	f.SoldOut, f.P50, f.P99 = time.Duration(soldOut)*time.Microsecond, time.Duration(p50)*time.Microsecond,
		time.Duration(p99)*time.Microsecond
	return problems.Err()
}

// played returns the rehearsal in the path, if the caller is its crowd or an admin.
func played(c *gin.Context, who httpkit.Identity) (int64, error) {
	id, bad := param.ID("id", c.Param("id"), voucher.MaxID)
	if err := invalid.Join(bad); err != nil {
		return 0, err
	}
	if !who.Admin && who.Crowd != id {
		return 0, errForbidden
	}
	return id, nil
}

// runJSON is a rehearsal as it is shown.
type runJSON struct {
	VoucherID  int64           `json:"voucherId"`
	Of         int64           `json:"rehearses"`
	AdminID    int64           `json:"adminId"`
	State      rehearsal.State `json:"state"`
	BeginTime  time.Time       `json:"beginTime"`
	EndTime    time.Time       `json:"endTime"`
	Issued     int64           `json:"issued"`
	ReportTime *time.Time      `json:"reportTime,omitempty"`
	Buyers     int64           `json:"buyers"`
	Arrived    int64           `json:"arrived"`
	Requests   int64           `json:"requests"`
	Accepted   int64           `json:"accepted"`
	Unclear    int64           `json:"unclear"`
	P99Millis  float64         `json:"p99Ms"`
	SoldOut    float64         `json:"soldOutSeconds,omitempty"`
	Go         *bool           `json:"go,omitempty"`
	Lines      []checkLineJSON `json:"lines,omitempty"`
}

func runView(r rehearsal.Run, now time.Time, in words.Language) runJSON {
	f := r.Figures
	view := runJSON{
		VoucherID: r.VoucherID, Of: r.Of, AdminID: r.AdminID, State: r.State(now),
		BeginTime: httpkit.ShownTime(r.Begin), EndTime: httpkit.ShownTime(r.End),
		Issued: f.Stock, ReportTime: httpkit.TimeView(r.ReportedAt), Buyers: f.Buyers, Arrived: f.Arrived,
		Requests: f.Requests, Accepted: f.Accepted, Unclear: f.Unclear, P99Millis: float64(f.P99.Microseconds()) / 1000,
		SoldOut: f.SoldOut.Seconds(),
	}
	if r.Done {
		lines := preflight.Forecast(f)
		goes := preflight.Go(lines)
		view.Go, view.Lines = &goes, checkLines(lines, in)
	}
	return view
}

// noRehearsal answers who names a rehearsal that is not there.
func noRehearsal() httpkit.Failure {
	return httpkit.Failure{
		Code: "NOT_FOUND", Status: http.StatusNotFound, Title: "Not found",
		Detail:  "There is no rehearsal with this id, or nothing of its sale is left.",
		English: "There is no such rehearsal.", Chinese: "该演练不存在",
	}
}

// rehearsalOver answers a crowd that reports too late.
func rehearsalOver() httpkit.Failure {
	return httpkit.Failure{
		Code: "REHEARSAL_OVER", Status: http.StatusConflict, Title: "The rehearsal has ended",
		Detail: "The rehearsal's time was over a minute before this report, and its orders may be gone: it " +
			"says nothing any more.",
		English: "This rehearsal has ended.", Chinese: "演练已结束",
	}
}

// nearSale answers who would rehearse when real buyers come.
func nearSale() httpkit.Failure {
	return httpkit.Failure{
		Code: "SALE_NEAR", Status: http.StatusConflict, Title: "A sale is near",
		Detail: "A sale runs, or begins within the hour; data says which. A rehearsal would take " +
			"what its buyers need.",
		English: "A sale runs or begins within the hour. Rehearse before or after it.",
		Chinese: "有活动正在进行或将在一小时内开始，此时不能演练", Members: nearSaleMembers,
	}
}

// nearSaleMembers adds the sale.
func nearSaleMembers(body []byte, _ words.Language, err error) []byte {
	e, _ := errors.AsType[*rehearsal.NearSaleError](err)
	body = append(body, `,"data":`...)
	return httpkit.AppendJSON(body, struct {
		VoucherID int64     `json:"voucherId"`
		Begin     time.Time `json:"beginTime"`
		End       time.Time `json:"endTime"`
	}{e.VoucherID, httpkit.ShownTime(e.Begin), httpkit.ShownTime(e.End)})
}

// rehearsalRuns answers who starts a rehearsal beside another.
func rehearsalRuns() httpkit.Failure {
	return httpkit.Failure{
		Code: "REHEARSAL_RUNS", Status: http.StatusConflict, Title: "A rehearsal runs",
		Detail:  "Another rehearsal has not ended, or is being started. There is one at a time.",
		English: "Another rehearsal has not ended.", Chinese: "已有演练正在进行",
	}
}
