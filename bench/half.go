package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// half is a turn at half of what the service accepted in this round: requests come when they are due, whether the
// earlier ones have been answered or not, as people do.
type half struct {
	start starter
	audit audit // nil when there are no books
	// probes are a few more buyers who wait for their rows (?wait=), on connections of their own: from their request
	// until they know is an upper bound of the time from acceptance to row, taken by one clock.
	probes bool
}

func (h half) take(ctx context.Context, r *round, at *place) (t turn, err error) {
	to, err := h.start(ctx, at, unlimited)
	if err != nil {
		return turn{}, err
	}
	defer func() { err = errors.Join(err, to.stop()) }()
	v := r.volley(to, r.plan.duration)
	v.pace = r.rate(serviceName) / 2
	probe := v
	probe.connections, probe.pace, probe.query, probe.wanted = probeConnections, probesPerSecond, "?wait=10s", http.StatusCreated
	probe.first = int64(len(r.crowd) - 1 - int(probesPerSecond*(v.warmUp+v.duration+time.Second).Seconds()))
	var group errgroup.Group
	var waited burst
	if h.probes {
		group.Go(func() (err error) { waited, err = probe.fire(ctx); return err })
	}
	parties := at.stores.processes(ctx, to.child)
	cpu := parties.read()
	b, err := v.fire(ctx)
	if err = errors.Join(err, group.Wait()); err != nil {
		return turn{}, err
	}
	t = turn{
		Answered: b.answered, Rate: b.rate, P50: millis(b.p50), P99: millis(b.p99),
		RowP50: millis(waited.p50), RowP99: millis(waited.p99), Cost: parties.since(cpu, b.answered+waited.answered),
	}
	if h.audit == nil {
		return t, nil
	}
	b.answered += waited.answered
	if err = t.watchDrain(ctx, at, b, false, r.plan.duration, settles); err != nil {
		return turn{}, err
	}
	if err = to.stop(); err != nil {
		return turn{}, err
	}
	return t, h.audit(ctx, at, to, b.answered)
}
