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
	// rehearsalShop is the shop of rehearsals, and of nothing else.
	rehearsalShop = 8_000_000_000_000_000
	// reportEvery is how often the service is told how a rehearsal goes.
	reportEvery = time.Second
	// patience is for how long the first report and the last are repeated that were not answered.
	patience = 30 * time.Second
)

// reporter tells the service how a rehearsal goes: the console shows it, and what it measured is kept.
type reporter struct {
	service *service // with a connection of its own
	voucher int64
	load    *load
	log     io.Writer
}

// newReporter returns one that has told who will come, before the first of them does; nil where there is nothing to
// report: the voucher is no rehearsal, or the service does not take reports.
func newReporter(ctx context.Context, p *plan, v voucher, l *load, log io.Writer) *reporter {
	if v.ShopID != rehearsalShop || p.tokens.crowd(v.ID) == "" {
		return nil
	}
	s, err := newService(p)
	if err != nil {
		return nil // the plan has tried the address
	}
	r := &reporter{service: s, voucher: v.ID, load: l, log: log}
	if err := r.deliver(ctx, r.figures()); err != nil {
		_, _ = fmt.Fprintln(log, "the service takes no report, so that it keeps nothing of this rehearsal:", err)
		s.close()
		return nil
	}
	return r
}

// run reports until the load is over. What fails is told again with the next.
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

// finish hands in what was measured and verified.
func (r *reporter) finish(ctx context.Context, found checker.Report, early bool) {
	if r == nil {
		return
	}
	defer r.service.close()
	f := r.figures()
	f.Done, f.Findings, f.Early = true, found.Total, early
	if err := r.deliver(ctx, f); err != nil {
		_, _ = fmt.Fprintln(r.log, "the service did not take what was measured:", err)
	}
}

// deliver repeats a report until it is answered: what the service keeps begins with the first and ends with the last.
func (r *reporter) deliver(ctx context.Context, f reportBody) error {
	for deadline := time.Now().Add(patience); ; {
		err := r.send(ctx, f)
		if err == nil || isRefused(err) || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(reportEvery)
	}
}

// reportBody is what POST /rehearsal/:id/report takes.
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

// figures are those of the load as it is now.
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
