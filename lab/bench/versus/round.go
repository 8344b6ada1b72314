package versus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"seckill/lab/load"
	"seckill/lab/rig"
)

// candidate is a process of one of the builds in a round, with its measurements so far.
type candidate struct {
	*rig.Namespace
	server           *rig.Server
	processes        rig.Processes
	buyers           buyers
	sale, soldOut    int64 // vouchers
	accepted         int64
	bought, refused  burst
	orders, refusals rig.ProcessorTime
	backlog          int64
	drained          time.Duration
}

// runRound starts the three, each in a namespace of its own, and gives them slices of load in turn, in all six orders,
// so that other load on the machine affects them alike. While one has its slice the others are idle.
func runRound(
	ctx context.Context, st *rig.Stores, p plan, users load.Users, binaries [sides]string,
) (r round, err error) {
	var all [sides]*candidate
	for who, binary := range binaries {
		var c *candidate // separate from err, to which the deferred end adds
		shares := p.shares == "both" || p.shares == "new" && side(who) == newTree
		if c, err = newCandidate(ctx, st, p, users, binary, shares); c != nil {
			//nolint:gocritic // there are three
			defer func() { err = errors.Join(err, c.end(context.WithoutCancel(ctx))) }()
		}
		if err != nil {
			return r, err
		}
		all[who] = c
	}
	inTurn := func(slices int, do func(*candidate) error) error {
		for n := range slices {
			for _, who := range sequences()[n%len(sequences())] {
				if err := do(all[who]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	const slices, drains = 6, 2
	for _, part := range []struct {
		slices int
		do     func(*candidate) error
	}{
		{1, func(c *candidate) error { return c.warmUp(ctx, p.warmUp) }},
		{slices, func(c *candidate) error { return c.sell(ctx, p.accept/slices) }},
		{drains, func(c *candidate) error { return c.drain(ctx, p.backlog/drains) }},
		{slices, func(c *candidate) error { return c.refuse(ctx, p.refuse/slices) }},
	} {
		if err := inTurn(part.slices, part.do); err != nil {
			return r, err
		}
	}
	for who, c := range all {
		if err := errors.Join(c.server.Stop(), c.audit(ctx)); err != nil {
			return r, err
		}
		r[who] = c.outcome()
	}
	return r, nil
}

// roomyShares are the largest shares that there are: a round of two seconds does not use them up.
const roomyShares = `,"guards":{"units":{"perAddress":100000,"perNetwork":100000}}`

// newCandidate starts a build with two sales: one that cannot sell out, and one that is sold out, with shares of
// addresses or without guards. The caller must end the candidate, even after an error.
func newCandidate(
	ctx context.Context, st *rig.Stores, p plan, users load.Users, binary string, shares bool,
) (c *candidate, err error) {
	at, err := st.NewNamespace(ctx)
	if err != nil {
		return nil, err
	}
	c = &candidate{Namespace: at, buyers: buyers{users: users, connections: p.connections}}
	if c.server, err = (rig.Service{Path: binary}).Launch(ctx, at, "versus"); err != nil {
		return c, err
	}
	if shares {
		c.server.Terms = roomyShares
	}
	c.processes = st.Processes(ctx, c.server)
	if err = c.processes.Known(); err != nil {
		return c, err
	}
	if err = c.server.Sell(ctx, rig.Unlimited); err != nil {
		return c, err
	}
	c.sale = c.server.Voucher
	if err = c.server.Sell(ctx, 1); err != nil {
		return c, err
	}
	c.soldOut, c.accepted = c.server.Voucher, 1
	return c, c.server.BuyOne(ctx, c.soldOut)
}

// end stops the process, if it is running, and clears its namespace.
func (c *candidate) end(ctx context.Context) (err error) {
	if c.server != nil {
		err = c.server.Stop()
	}
	return errors.Join(err, c.Clear(ctx))
}

// buy lets users buy for the given time, and returns once their orders are recorded.
func (c *candidate) buy(ctx context.Context, d time.Duration) (burst, error) {
	b, err := c.buyers.buy(ctx, c.server.Addr, c.sale, http.StatusAccepted, d)
	if err != nil {
		return b, err
	}
	c.accepted += b.answered()
	return b, c.AwaitRecorded(ctx, c.accepted)
}

func (c *candidate) warmUp(ctx context.Context, d time.Duration) error {
	if _, err := c.buyers.buy(ctx, c.server.Addr, c.soldOut, http.StatusConflict, d/4); err != nil {
		return err
	}
	_, err := c.buy(ctx, d)
	return err
}

// sell measures purchases, up to the row of the last one.
func (c *candidate) sell(ctx context.Context, d time.Duration) error {
	used, err := c.measure(func() error {
		b, err := c.buy(ctx, d)
		c.bought.add(b)
		return err
	})
	c.orders = plus(c.orders, used)
	return err
}

// drain measures how fast a backlog is recorded.
func (c *candidate) drain(ctx context.Context, d time.Duration) error {
	release, err := c.LockSale(ctx)
	if err != nil {
		return err
	}
	b, err := c.buyers.buy(ctx, c.server.Addr, c.sale, http.StatusAccepted, d)
	if err := errors.Join(err, release()); err != nil {
		return err
	}
	began := time.Now()
	c.accepted += b.answered()
	if err := c.AwaitRecorded(ctx, c.accepted); err != nil {
		return err
	}
	c.backlog, c.drained = c.backlog+b.answered(), c.drained+time.Since(began)
	return nil
}

// refuse measures sold-out answers.
func (c *candidate) refuse(ctx context.Context, d time.Duration) error {
	used, err := c.measure(func() error {
		b, err := c.buyers.buy(ctx, c.server.Addr, c.soldOut, http.StatusConflict, d)
		c.refused.add(b)
		return err
	})
	c.refusals = plus(c.refusals, used)
	return err
}

// outcome computes the figures from the measurements.
func (c *candidate) outcome() (o outcome) {
	each := func(d time.Duration, answers int64) float64 {
		return float64(d.Nanoseconds()) / 1000 / float64(answers)
	}
	orders, refusals := c.bought.answered(), c.refused.answered()
	o[orderServer], o[orderRedis], o[orderDatabase] = each(c.orders.Server, orders), each(c.orders.Redis, orders),
		each(c.orders.Database, orders)
	o[orderTogether], o[refusalTogether] = each(together(c.orders), orders), each(together(c.refusals), refusals)
	o[acceptedRate], o[acceptedP99] = c.bought.rate(), c.bought.p99()
	o[refusedRate], o[refusedP99] = c.refused.rate(), c.refused.p99()
	o[drainRate] = float64(c.backlog) / c.drained.Seconds()
	return o
}

// plus adds up the processes' times.
func plus(t, more rig.ProcessorTime) rig.ProcessorTime {
	return rig.ProcessorTime{
		Server: t.Server + more.Server, Redis: t.Redis + more.Redis, Database: t.Database + more.Database,
	}
}

// together returns the time of all processes except the load generator.
func together(t rig.ProcessorTime) time.Duration { return t.Server + t.Redis + t.Database }

// measure returns each process's time while do runs.
func (c *candidate) measure(do func() error) (rig.ProcessorTime, error) {
	before := c.processes.Time()
	err := do()
	return c.processes.Since(before), err
}

// audit compares the ledger with the answers once the process has ended. If they disagree, the round counts for
// nothing.
func (c *candidate) audit(ctx context.Context) error {
	const (
		rows   = "SELECT COUNT(*) FROM tb_voucher_order WHERE status = 1"
		others = "SELECT COUNT(*) FROM tb_voucher_order WHERE status <> 1"
		sold   = "SELECT SUM(issued - stock) FROM tb_seckill_voucher"
	)
	var err error
	for query, want := range map[string]int64{rows: c.accepted, others: 0, sold: c.accepted} {
		if n, nerr := c.Number(ctx, query); nerr != nil || n != want {
			err = errors.Join(err, fmt.Errorf("answers and ledger disagree: %s: %d, want %d (%w)",
				query, n, want, nerr))
		}
	}
	for _, stream := range []string{"{p0}:orders", "{p0}:dead"} {
		if n, nerr := c.StreamLength(ctx, stream); nerr != nil || n != 0 {
			err = errors.Join(err, fmt.Errorf("entries are left: %d in %s (%w)", n, stream, nerr))
		}
	}
	return err
}
