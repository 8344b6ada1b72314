package measures

import (
	"context"
	"errors"
	"time"

	"seckill/lab/bench/audit"
	"seckill/lab/bench/result"
	"seckill/lab/rig"
)

// starter starts a candidate that has a voucher on sale.
type starter func(ctx context.Context, at *rig.Namespace, stock int64) (*rig.Server, error)

// accepting measures how many purchases are answered per second, each sent when the previous one is answered, and how
// many are recorded.
type accepting struct {
	start starter
	audit audit.Check // nil when nothing is sold
	want  int         // the status of every answer
	part  int         // divides the plan's duration; 0 is the same as 1
	// held keeps the sale's row in SQL locked while purchases come in, so that nothing is recorded meanwhile: this
	// measures admission alone, and then how fast a backlog drains.
	held bool
	// recordsAll makes the measurement wait until everything is recorded, as the audit requires.
	recordsAll bool
}

// measure sends the load, waits until the accepted orders are recorded, and audits the counts.
func (m accepting) measure(ctx context.Context, r *round, at *rig.Namespace) (t result.Trial, err error) {
	server, err := m.start(ctx, at, rig.Unlimited)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	release := func() error { return nil }
	if m.held {
		if release, err = at.LockSale(ctx); err != nil {
			return t, err
		}
		defer func() { _ = release() }() // released below, unless an error comes first
	}
	empty, err := r.stores.UsedMemory(ctx)
	if err != nil {
		return t, err
	}
	burst := r.burst(server, r.plan.Duration/time.Duration(max(m.part, 1)))
	burst.Want = m.want
	processes := r.stores.Processes(ctx, server)
	before, began := processes.Time(), time.Now()
	answers, err := burst.Send(ctx)
	if err != nil {
		return t, err
	}
	spent := processes.Since(before)
	t.Figures = figuresOf(answers)
	t.Figures[result.LoadProcessors] = spent.LoadGenerator.Seconds() / time.Since(began).Seconds()
	addTime(t.Figures, spent, answers.Want)
	if m.audit == nil {
		return t, nil
	}
	if m.held {
		if t.Figures[result.WaitingBytes], err = bytesSince(ctx, r.stores, empty, answers.Want); err != nil {
			return t, err
		}
	}
	if err = release(); err != nil {
		return t, err
	}
	drain := drain{held: m.held, sample: r.plan.Duration, maxWait: r.plan.MaxDrain}
	if m.recordsAll {
		drain.maxWait = untilRecorded
	}
	if err = drain.watch(ctx, at, answers, &t); err != nil {
		return t, err
	}
	if m.held && !t.DrainEstimated {
		if t.Figures[result.RecordedBytes], err = bytesSince(ctx, r.stores, empty, answers.Want); err != nil {
			return t, err
		}
	}
	// The audit runs once nothing writes any more.
	if err = server.Stop(); err != nil {
		return t, err
	}
	return t, m.audit(ctx, at, server, answers.Want)
}

// bytesSince returns the bytes per order in Redis's memory, given the memory used before the orders.
func bytesSince(ctx context.Context, s *rig.Stores, before, orders int64) (float64, error) {
	now, err := s.UsedMemory(ctx)
	return float64(now-before) / float64(orders), err
}

// startSoldOut starts the service with a sale whose only unit is sold.
func (b *Bench) startSoldOut(ctx context.Context, at *rig.Namespace, _ int64) (*rig.Server, error) {
	server, err := b.service().Start(ctx, at, 1)
	if err != nil {
		return nil, err
	}
	if err = server.BuyOne(ctx, server.Voucher); err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return server, nil
}
