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
	Answered   int64   `json:"answered,omitempty"`          // requests, warm-up included
	Rate       float64 `json:"answeredPerSecond,omitempty"` // in the measured part
	P50        float64 `json:"p50Millis,omitempty"`
	P99        float64 `json:"p99Millis,omitempty"`
	// Meanwhile is orders recorded per second while purchases came in, Draining after the last of them, when there was a
	// backlog to measure it by.
	Meanwhile float64 `json:"recordedPerSecondUnderLoad,omitempty"`
	Draining  float64 `json:"recordedPerSecondDraining,omitempty"`
	Backlog   int64   `json:"backlog,omitempty"` // accepted and not recorded when the last answer came
	Drain     float64 `json:"drainSeconds,omitempty"`
	// Extrapolated says that the drain was not waited for, but computed from the backlog and the speed.
	Extrapolated bool `json:"drainExtrapolated,omitempty"`
	// ClientCPU is how many processors the load generator took: what it takes, the contestant has not.
	ClientCPU float64 `json:"loadGeneratorProcessors,omitempty"`
}

func (t *turn) String() string {
	s := fmt.Sprintf("%-48s", t.Contestant)
	if t.Rate > 0 {
		s += fmt.Sprintf(" %6.0f/s  p50 %.2f ms  p99 %.2f ms", t.Rate, t.P50, t.P99)
	}
	if t.Meanwhile > 0 {
		s += fmt.Sprintf("  recorded %.0f/s", t.Meanwhile)
	}
	if t.Draining > 0 {
		s += fmt.Sprintf("  draining %.0f/s", t.Draining)
	}
	if t.Drain > 0 {
		s += fmt.Sprintf("  drain %.2f s", t.Drain)
	}
	return s
}

// takeTurn gives a contestant a place of its own, measures it, and checks its books.
func takeTurn(ctx context.Context, c contestant, b binaries, st *stores, l *load, p plan) (t turn, err error) {
	if err = st.setFsync(ctx, c.appendfsync); err != nil {
		return turn{}, err
	}
	at, err := st.newPlace(ctx)
	if err != nil {
		return turn{}, err
	}
	defer func() { err = errors.Join(err, at.clear(context.WithoutCancel(ctx))) }()
	if c.start == nil {
		return rawInsert(ctx, b, at, p)
	}
	to, err := c.start(ctx, at)
	if err != nil {
		return turn{}, err
	}
	defer func() { err = errors.Join(err, to.stop()) }()
	return c.measure(ctx, at, to, l, p)
}

// measure lets the crowd in, waits until what was accepted is recorded, and checks the books.
func (c contestant) measure(ctx context.Context, at *place, to *target, l *load, p plan) (turn, error) {
	release := func() error { return nil }
	if c.held {
		var err error
		if release, err = at.hold(ctx); err != nil {
			return turn{}, err
		}
		defer func() { _ = release() }() // released below, unless that is never reached
	}
	cpu, wall := processorTime(), time.Now()
	b, err := l.fire(ctx, to, c.status)
	if err != nil {
		return turn{}, err
	}
	t := turn{
		Contestant: c.name, Answered: b.answered, Rate: b.rate, P50: millis(b.p50), P99: millis(b.p99),
		ClientCPU: (processorTime() - cpu).Seconds() / time.Since(wall).Seconds(),
	}
	if c.audit == nil {
		return t, nil
	}
	if err = release(); err != nil {
		return turn{}, err
	}
	if err = t.watchDrain(ctx, at, b, c.held, p); err != nil {
		return turn{}, err
	}
	// The books are read when nobody writes in them any more.
	if err = to.stop(); err != nil {
		return turn{}, err
	}
	return t, c.audit(ctx, at, b.answered)
}

// leastBacklog is how many orders must wait for the speed of their recording to be worth a figure.
const leastBacklog = 2000

// watchDrain follows the recording after the last acceptance. A contestant that would take long is not waited for: its
// speed over two seconds tells how long it would be.
func (t *turn) watchDrain(ctx context.Context, at *place, b burst, held bool, p plan) error {
	const sample = 2 * time.Second
	first, err := at.recorded(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	t.Backlog = b.answered - first
	if !held {
		t.Meanwhile = float64(first) / began.Sub(b.began).Seconds()
	}
	for {
		now, err := at.recorded(ctx)
		if err != nil {
			return err
		}
		passed := time.Since(began)
		speed := float64(now-first) / passed.Seconds()
		if t.Backlog >= leastBacklog {
			t.Draining = speed
		}
		switch {
		case now > b.answered:
			return fmt.Errorf("%d orders recorded, %d accepted", now, b.answered)
		case now == b.answered:
			t.Drain = time.Since(b.ended).Seconds()
			return nil
		case passed > sample && speed > 0 && float64(b.answered-now)/speed > p.maxDrain.Seconds():
			t.Drain, t.Extrapolated = float64(t.Backlog)/speed, true
			return nil
		case passed > time.Minute:
			return fmt.Errorf("%d of %d orders recorded a minute after the last was accepted", now, b.answered)
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
