package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"seckill/internal/checker"
	"seckill/internal/httpload"
)

const (
	// rehearsalShop is the shop reserved for rehearsals.
	rehearsalShop = 8_000_000_000_000_000
	// reportEvery is how often the progress is reported to the service.
	reportEvery = time.Second
	// patience is how long the first and the last report are retried without an answer.
	patience = 30 * time.Second
)

// reporter reports the progress of a rehearsal to the service: the console shows it, and the service keeps the results.
type reporter struct {
	service *service // has its own connection
	voucher int64
	load    *load
	log     io.Writer
}

// newReporter returns a reporter that has announced the load before the first buyer arrives. It returns nil if the
// voucher is no rehearsal or the service accepts no reports.
func newReporter(ctx context.Context, p *plan, v voucher, l *load, log io.Writer) *reporter {
	if v.ShopID != rehearsalShop || p.tokens.crowd(v.ID) == "" {
		return nil
	}
	s, err := newService(p)
	if err != nil {
		return nil // cannot happen: the plan has checked the address
	}
	r := &reporter{service: s, voucher: v.ID, load: l, log: log}
	if err := r.deliver(ctx, r.figures()); err != nil {
		_, _ = fmt.Fprintln(log, "the service accepts no reports, so it will not keep this rehearsal's results:", err)
		s.close()
		return nil
	}
	return r
}

// run reports until the load is over. The next report makes up for a failed one.
func (r *reporter) run(ctx context.Context, over <-chan struct{}) {
	if r == nil {
		return
	}
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return
		case <-ticker.C:
			_ = r.send(ctx, r.figures())
		}
	}
}

// finish reports the results and the verification.
func (r *reporter) finish(ctx context.Context, found checker.Report, early bool) {
	if r == nil {
		return
	}
	defer r.service.close()
	f := r.figures()
	f.Done, f.Findings, f.Early = true, found.Total, early
	if err := r.deliver(ctx, f); err != nil {
		_, _ = fmt.Fprintln(r.log, "the service did not accept the results:", err)
	}
}

// deliver repeats a report until it is answered: the service needs at least the first and the last one.
func (r *reporter) deliver(ctx context.Context, f reportBody) error {
	for deadline := time.Now().Add(patience); ; {
		err := r.send(ctx, f)
		if err == nil || isRefused(err) || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(reportEvery)
	}
}

// reportBody is the body of POST /rehearsal/:id/report.
type reportBody struct {
	Done     bool  `json:"done"`
	Buyers   int   `json:"buyers"`
	Arrived  int64 `json:"arrived"`
	Requests int   `json:"requests"`
	Accepted int   `json:"accepted"`
	Unclear  int   `json:"unclear"`
	SoldOut  int64 `json:"soldOutMicros"`
	P50      int64 `json:"p50Micros"`
	P99      int64 `json:"p99Micros"`
	Findings int   `json:"findings"`
	Early    bool  `json:"early"`
}

// figures returns the current numbers of the load.
func (r *reporter) figures() reportBody {
	l, rec := r.load, r.load.record
	rec.mu.Lock()
	defer rec.mu.Unlock()
	f := reportBody{
		Buyers: l.plan.buyers, Arrived: l.arrived.Load(), Requests: rec.answered, Accepted: rec.accepted,
		SoldOut: rec.soldOut.Microseconds(), P50: rec.fromDue.ValueAtQuantile(50), P99: rec.fromDue.ValueAtQuantile(99),
	}
	for _, s := range rec.seconds {
		f.Unclear += s.Unclear
	}
	return f
}

func (r *reporter) send(ctx context.Context, f reportBody) error {
	body, err := json.Marshal(f)
	if err != nil {
		return err
	}
	var nothing struct{}
	_, err = r.service.call(ctx, httpload.Request{
		Method: http.MethodPost, Path: "/rehearsal/" + strconv.FormatInt(r.voucher, 10) + "/report",
		Token: r.service.tokens.crowd(r.voucher), Body: body,
	}, &nothing)
	return err
}
