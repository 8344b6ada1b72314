package measures

import (
	"context"
	"errors"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/lab/bench/audit"
	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
	"seckill/lab/load"
	"seckill/lab/rig"
)

const (
	probesPerSecond  = 200 // buyers at half load who wait for their row
	probeConnections = 32
	longListReaders  = 200
)

// halfLoad measures latency at half of the rate that the service accepted in this round. Like real buyers, it sends
// requests when they are due, whether earlier ones have been answered or not.
type halfLoad struct {
	start starter
	audit audit.Check // nil when nothing is sold
	// probes adds some buyers who wait for their rows (?wait=), on connections of their own. The time from their
	// request to their answer is an upper bound of the time from acceptance to row, measured by one clock.
	probes bool
	// readers is how many read a list of 1 MB meanwhile, each once a second, over connections of their own.
	readers int
}

func (m halfLoad) measure(ctx context.Context, r *round, at *rig.Namespace) (t result.Trial, err error) {
	server, err := m.start(ctx, at, rig.Unlimited)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	if m.readers > 0 {
		if err = fillLongList(ctx, server); err != nil {
			return t, err
		}
	}
	burst := r.burst(server, r.plan.Duration)
	burst.Rate = r.figure(candidate.Service, result.Rate) / 2
	probe := burst
	probe.Connections, probe.Rate, probe.Query, probe.Want = probeConnections, probesPerSecond,
		"?wait=10s", http.StatusCreated
	probe.First = int64(len(r.users) - 1 - int(probesPerSecond*(burst.WarmUp+burst.Duration+time.Second).Seconds()))
	var group errgroup.Group
	var waited load.Answers
	if m.probes {
		group.Go(func() (err error) { waited, err = probe.Send(ctx); return err })
	}
	if m.readers > 0 {
		group.Go(func() error { return m.read(ctx, burst) })
	}
	processes := r.stores.Processes(ctx, server)
	before := processes.Time()
	answers, err := burst.Send(ctx)
	if err = errors.Join(err, group.Wait()); err != nil {
		return t, err
	}
	t.Figures = figuresOf(answers)
	t.Figures[result.RowP50], t.Figures[result.RowP99] = millis(waited.P50), millis(waited.P99)
	addTime(t.Figures, processes.Since(before), answers.Want+waited.Want)
	if m.audit == nil {
		return t, nil
	}
	answers.Want += waited.Want
	if err = (drain{sample: r.plan.Duration, maxWait: untilRecorded}).watch(ctx, at, answers, &t); err != nil {
		return t, err
	}
	if err = server.Stop(); err != nil {
		return t, err
	}
	return t, m.audit(ctx, at, server, answers.Want)
}

// read lets the readers read during a burst of purchases. A reader who is refused because of too many others tries
// again.
func (m halfLoad) read(ctx context.Context, beside load.Burst) error {
	beside.Connections, beside.Rate = m.readers, float64(m.readers)
	beside.Get, beside.Want, beside.Other = rig.ListPath(), http.StatusOK, http.StatusServiceUnavailable
	_, err := beside.Send(ctx)
	return err
}
