package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// turn is what one contestant did in one round.
type turn struct {
	Contestant string  `json:"contestant"`
	Round      int     `json:"round"`
	Accepted   int64   `json:"accepted"`          // purchases, warm-up included
	Rate       float64 `json:"acceptedPerSecond"` // in the measured part
	P50        float64 `json:"p50Millis"`
	P99        float64 `json:"p99Millis"`
	// Meanwhile is orders recorded per second while purchases came in, Draining after the last of them.
	Meanwhile float64 `json:"recordedPerSecondUnderLoad,omitempty"`
	Draining  float64 `json:"recordedPerSecondDraining,omitempty"`
	Backlog   int64   `json:"backlog,omitempty"` // accepted and not recorded when the last answer came
	Drain     float64 `json:"drainSeconds,omitempty"`
	// Extrapolated says that the drain was not waited for, but computed from the backlog and the speed.
	Extrapolated bool `json:"drainExtrapolated,omitempty"`
	// ClientCPU is how many processors the load generator took: what it takes, the contestant has not.
	ClientCPU float64 `json:"loadGeneratorProcessors"`
}

func (t turn) String() string {
	s := fmt.Sprintf("%-28s %8.0f accepted/s  p50 %.2f ms  p99 %.2f ms", t.Contestant, t.Rate, t.P50, t.P99)
	if t.Meanwhile > 0 {
		s += fmt.Sprintf("  recorded/s %.0f, draining %.0f  drain %.2f s", t.Meanwhile, t.Draining, t.Drain)
	}
	if t.Extrapolated {
		s += " (extrapolated)"
	}
	return s
}

// takeTurn starts a contestant, lets the crowd in, waits until what was accepted is recorded, and checks the books.
func takeTurn(ctx context.Context, c contestant, st *stores, l *load, p plan) (t turn, err error) {
	at, err := st.newPlace(ctx)
	if err != nil {
		return turn{}, err
	}
	defer func() { err = errors.Join(err, at.clear(context.WithoutCancel(ctx))) }()
	target, err := c.start(ctx, at)
	if err != nil {
		return turn{}, err
	}
	defer func() { err = errors.Join(err, target.stop()) }()
	cpu, wall := processorTime(), time.Now()
	b, err := l.fire(ctx, target.addr, target.voucher)
	if err != nil {
		return turn{}, err
	}
	t = turn{
		Contestant: c.name(), Accepted: b.accepted, Rate: b.rate,
		P50: millis(b.p50), P99: millis(b.p99),
		ClientCPU: (processorTime() - cpu).Seconds() / time.Since(wall).Seconds(),
	}
	if !c.records() {
		return t, nil
	}
	if err = t.watchDrain(ctx, at, b, p); err != nil {
		return turn{}, err
	}
	// The books are read when nobody writes in them any more.
	if err = target.stop(); err != nil {
		return turn{}, err
	}
	return t, c.audit(ctx, at, b.accepted)
}

// watchDrain follows the recording after the last acceptance. A contestant that would take minutes is not waited for:
// its speed over a few seconds tells how long it would be.
func (t *turn) watchDrain(ctx context.Context, at *place, b burst, p plan) error {
	const sample = 2 * time.Second
	first, err := at.recorded(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	t.Backlog = b.accepted - first
	t.Meanwhile = float64(first) / began.Sub(b.began).Seconds()
	for {
		now, err := at.recorded(ctx)
		if err != nil {
			return err
		}
		passed := time.Since(began)
		t.Draining = float64(now-first) / passed.Seconds()
		switch {
		case now > b.accepted:
			return fmt.Errorf("%d orders recorded, %d accepted", now, b.accepted)
		case now == b.accepted:
			t.Drain = time.Since(b.ended).Seconds()
			return nil
		case passed > sample && float64(b.accepted-now)/max(t.Draining, 1) > p.maxDrain.Seconds():
			t.Drain, t.Extrapolated = float64(t.Backlog)/max(t.Draining, 1), true
			return nil
		case passed > p.maxDrain:
			return fmt.Errorf("%d of %d orders recorded %v after the last was accepted", now, b.accepted, p.maxDrain)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// processorTime is how long this process has kept processors busy.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
