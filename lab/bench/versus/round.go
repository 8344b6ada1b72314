package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"seckill/internal/httpload"
)

// unlimited is a stock that no round can sell.
const unlimited = 100_000_000

// candidate is a process of one of the builds in a round, with what was measured of it so far.
type candidate struct {
	*namespace
	*instance
	load             *load
	sale, soldOut    int64 // vouchers
	accepted         int64
	bought, refused  burst
	orders, refusals cost
	backlog          int64
	drained          time.Duration
}

// runRound starts the three, each in a namespace of its own, and gives them slices of load in turn, in all six orders:
// what else the machine does meanwhile hits each alike. While one has its slice the others have nothing to do.
func runRound(ctx context.Context, st *stores, p plan, users users, binaries [sides]string) (r round, err error) {
	var all [sides]*candidate
	for who, binary := range binaries {
		var c *candidate // not together with err, which the end below adds to
		if c, err = newCandidate(ctx, st, p, users, binary); c != nil {
			defer func() { err = errors.Join(err, c.end(context.WithoutCancel(ctx))) }() //nolint:gocritic // there are three
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
		if err := errors.Join(c.stop(), c.audit(ctx, c.accepted)); err != nil {
			return r, err
		}
		r[who] = c.outcome()
	}
	return r, nil
}

// newCandidate starts a build with two sales: one that cannot be sold out, and one that is. What it returns wants its
// end, also with an error.
func newCandidate(ctx context.Context, st *stores, p plan, users users, binary string) (c *candidate, err error) {
	at, err := st.newNamespace(ctx)
	if err != nil {
		return nil, err
	}
	c = &candidate{namespace: at}
	if c.instance, err = start(ctx, binary, at); err != nil {
		return c, err
	}
	c.load = &load{at: c.instance, users: users, connections: p.connections}
	if c.sale, err = c.createSale(ctx, unlimited); err != nil {
		return c, err
	}
	if c.soldOut, err = c.createSale(ctx, 1); err != nil {
		return c, err
	}
	_, err = c.do(ctx, http.StatusCreated, httpload.Request{
		Method: http.MethodPost, Path: fmt.Sprintf("/voucher/seckill/%d?wait=10s", c.soldOut), Token: sign(9_000_002, ""),
	})
	c.accepted = 1
	return c, err
}

// end stops the process, if it runs, and clears its namespace.
func (c *candidate) end(ctx context.Context) (err error) {
	if c.instance != nil {
		err = c.stop()
	}
	return errors.Join(err, c.clear(ctx))
}

// buy lets users buy for some time, and returns once their orders are recorded.
func (c *candidate) buy(ctx context.Context, d time.Duration) (burst, error) {
	b, err := c.load.buy(ctx, c.sale, http.StatusAccepted, d)
	if err != nil {
		return b, err
	}
	c.accepted += b.answered()
	return b, c.awaitRecorded(ctx, c.sale, c.accepted-1) // one is of the other sale
}

func (c *candidate) warmUp(ctx context.Context, d time.Duration) error {
	if _, err := c.load.buy(ctx, c.soldOut, http.StatusConflict, d/4); err != nil {
		return err
	}
	_, err := c.buy(ctx, d)
	return err
}

// sell measures purchases, up to the row of the last.
func (c *candidate) sell(ctx context.Context, d time.Duration) error {
	used, err := c.measure(c.instance, func() error {
		b, err := c.buy(ctx, d)
		c.bought.add(b)
		return err
	})
	c.orders = c.orders.plus(used)
	return err
}

// drain measures how fast a backlog is recorded.
func (c *candidate) drain(ctx context.Context, d time.Duration) error {
	release, err := c.lockSale(ctx, c.sale)
	if err != nil {
		return err
	}
	b, err := c.load.buy(ctx, c.sale, http.StatusAccepted, d)
	if err := errors.Join(err, release()); err != nil {
		return err
	}
	began := time.Now()
	c.accepted += b.answered()
	if err := c.awaitRecorded(ctx, c.sale, c.accepted-1); err != nil {
		return err
	}
	c.backlog, c.drained = c.backlog+b.answered(), c.drained+time.Since(began)
	return nil
}

// refuse measures sold-out answers.
func (c *candidate) refuse(ctx context.Context, d time.Duration) error {
	used, err := c.measure(c.instance, func() error {
		b, err := c.load.buy(ctx, c.soldOut, http.StatusConflict, d)
		c.refused.add(b)
		return err
	})
	c.refusals = c.refusals.plus(used)
	return err
}

// outcome is what was measured, in figures.
func (c *candidate) outcome() (o outcome) {
	each := func(d time.Duration, answers int64) float64 {
		return float64(d.Nanoseconds()) / 1000 / float64(answers)
	}
	orders, refusals := c.bought.answered(), c.refused.answered()
	o[orderServer], o[orderRedis], o[orderDatabase] = each(c.orders.server, orders), each(c.orders.redis, orders), each(c.orders.database, orders)
	o[orderTogether], o[refusalTogether] = each(c.orders.together(), orders), each(c.refusals.together(), refusals)
	o[acceptedRate], o[acceptedP99] = c.bought.rate(), c.bought.p99()
	o[refusedRate], o[refusedP99] = c.refused.rate(), c.refused.p99()
	o[drainRate] = float64(c.backlog) / c.drained.Seconds()
	return o
}

// cost is processor time of each process.
type cost struct{ server, redis, database time.Duration }

func (c cost) plus(more cost) cost {
	return cost{c.server + more.server, c.redis + more.redis, c.database + more.database}
}

func (c cost) together() time.Duration { return c.server + c.redis + c.database }

// measure returns what each process spends while do runs.
func (p *namespace) measure(i *instance, do func() error) (cost, error) {
	read := func() (all [3]time.Duration, err error) {
		for n, pid := range []int{i.cmd.Process.Pid, p.redis, p.sql} {
			if all[n], err = processorTime(pid); err != nil {
				return all, err
			}
		}
		return all, nil
	}
	before, err := read()
	if err != nil {
		return cost{}, err
	}
	if err := do(); err != nil {
		return cost{}, err
	}
	after, err := read()
	return cost{after[0] - before[0], after[1] - before[1], after[2] - before[2]}, err
}

// audit compares the ledger with the answers once the process has ended. A round in which they disagree measures nothing.
func (p *namespace) audit(ctx context.Context, accepted int64) error {
	const (
		rows   = "SELECT COUNT(*) FROM tb_voucher_order WHERE status = 1"
		others = "SELECT COUNT(*) FROM tb_voucher_order WHERE status <> 1"
		sold   = "SELECT SUM(issued - stock) FROM tb_seckill_voucher"
	)
	var err error
	for query, want := range map[string]int64{rows: accepted, others: 0, sold: accepted} {
		if n, nerr := p.number(ctx, query); nerr != nil || n != want {
			err = errors.Join(err, fmt.Errorf("answers and ledger disagree: %s: %d, want %d (%w)", query, n, want, nerr))
		}
	}
	for _, stream := range []string{"{p0}:orders", "{p0}:dead"} {
		if n, nerr := p.rdb.XLen(ctx, p.prefix+stream).Result(); nerr != nil || n != 0 {
			err = errors.Join(err, fmt.Errorf("entries are left: %d in %s (%w)", n, stream, nerr))
		}
	}
	return err
}
