package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	// RowP50 and RowP99 are from a buyer's request until he knows that his order has its row.
	RowP50 float64 `json:"rowP50Millis,omitempty"`
	RowP99 float64 `json:"rowP99Millis,omitempty"`
	// WaitingBytes is what an order takes in Redis while it waits, RecordedBytes what is left of it afterwards.
	WaitingBytes  float64 `json:"redisBytesPerWaitingOrder,omitempty"`
	RecordedBytes float64 `json:"redisBytesPerRecordedOrder,omitempty"`
	// ClientCPU is how many processors the load generator took: what it takes, the contestant has not.
	ClientCPU float64 `json:"loadGeneratorProcessors,omitempty"`
	// Cost is the processor time of an answer (of a row, where rows are inserted), while the load lasted.
	Cost perAnswer `json:"processorMicrosPerAnswer,omitzero"`
}

func (t *turn) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%-48s", t.Contestant)
	for _, part := range []struct {
		format string
		value  float64
	}{
		{" %6.0f/s", t.Rate},
		{"  p50 %.2f ms", t.P50},
		{"  p99 %.2f ms", t.P99},
		{"  recorded %.0f/s", t.Meanwhile},
		{"  draining %.0f/s", t.Draining},
		{"  drain %.2f s", t.Drain},
		{"  row p99 %.2f ms", t.RowP99},
		{"  %.0f bytes waiting", t.WaitingBytes},
		{"  %.0f bytes recorded", t.RecordedBytes},
	} {
		if part.value > 0 {
			fmt.Fprintf(&s, part.format, part.value)
		}
	}
	if c := t.Cost; c.sum() > 0 {
		fmt.Fprintf(&s, "  µs: %.0f + redis %.0f + database %.0f + client %.0f", c.Contestant, c.Redis, c.Database, c.Client)
	}
	return s.String()
}

// takeTurn gives a contestant a place of its own and its turn.
func takeTurn(ctx context.Context, c contestant, r *round) (t turn, err error) {
	if err = r.stores.setFsync(ctx, c.appendfsync); err != nil {
		return turn{}, err
	}
	at, err := r.stores.newPlace(ctx)
	if err != nil {
		return turn{}, err
	}
	defer func() { err = errors.Join(err, at.clear(context.WithoutCancel(ctx))) }()
	t, err = c.take(ctx, r, at)
	t.Contestant, t.Round = c.name, r.number
	return t, err
}

type (
	// starter starts a contestant with a voucher on sale.
	starter func(ctx context.Context, at *place, stock int64) (*target, error)
	// audit compares the books with the accepted purchases after the process has ended, and says what does not add up.
	audit func(ctx context.Context, at *place, to *target, accepted int64) error
)

// sell is a turn in which a crowd buys as fast as it is answered.
type sell struct {
	start  starter
	audit  audit // nil when there are no books
	status int   // what every answer must have
	part   int   // its time is this part of the plan's; 0 is all of it
	// held keeps the sale's row in SQL locked while purchases come in, so that nothing is recorded meanwhile: what is
	// measured is admission alone, and then how fast a backlog drains.
	held bool
	// settles says that it is waited for until everything is recorded, as its audit wants.
	settles bool
}

// take lets the crowd in, waits until what was accepted is recorded, and checks the books.
func (s sell) take(ctx context.Context, r *round, at *place) (t turn, err error) {
	to, err := s.start(ctx, at, unlimited)
	if err != nil {
		return turn{}, err
	}
	defer func() { err = errors.Join(err, to.stop()) }()
	release := func() error { return nil }
	if s.held {
		if release, err = at.hold(ctx); err != nil {
			return turn{}, err
		}
		defer func() { _ = release() }() // released below, unless that is never reached
	}
	empty, err := at.stores.usedMemory(ctx)
	if err != nil {
		return turn{}, err
	}
	v := r.volley(to, r.plan.duration/time.Duration(max(s.part, 1)))
	v.wanted = s.status
	parties := at.stores.processes(ctx, to.child)
	cpu, wall := parties.read(), time.Now()
	b, err := v.fire(ctx)
	if err != nil {
		return turn{}, err
	}
	t = turn{
		Answered: b.answered, Rate: b.rate, P50: millis(b.p50), P99: millis(b.p99),
		ClientCPU: (processorTime() - cpu.client).Seconds() / time.Since(wall).Seconds(),
		Cost:      parties.since(cpu, b.answered),
	}
	if s.audit == nil {
		return t, nil
	}
	if s.held {
		if t.WaitingBytes, err = at.stores.bytesSince(ctx, empty, b.answered); err != nil {
			return turn{}, err
		}
	}
	if err = release(); err != nil {
		return turn{}, err
	}
	patience := r.plan.maxDrain
	if s.settles {
		patience = settles
	}
	if err = t.watchDrain(ctx, at, b, s.held, r.plan.duration, patience); err != nil {
		return turn{}, err
	}
	if s.held && !t.Extrapolated {
		if t.RecordedBytes, err = at.stores.bytesSince(ctx, empty, b.answered); err != nil {
			return turn{}, err
		}
	}
	// The books are read when nobody writes in them any more.
	if err = to.stop(); err != nil {
		return turn{}, err
	}
	return t, s.audit(ctx, at, to, b.answered)
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
