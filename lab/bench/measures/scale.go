package measures

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"seckill/lab/bench/audit"
	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
	"seckill/lab/load"
	"seckill/lab/rig"
)

// smallStock and bigStock are the stocks of sales with few and with many units.
const smallStock, bigStock = 100, 1_000_000

// scale measures what a purchase costs with one and with many sales, with small and large stocks, with no and with many
// earlier buyers: one process, all its sales open at once, bursts in turn.
func (b *Bench) scale(ctx context.Context) (trials []result.Trial, err error) {
	err = b.inNamespace(ctx, func(at *rig.Namespace) (err error) {
		server, sales, err := b.openScale(ctx, at)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Stop()) }()
		next := map[string]int64{}
		accepted := b.plan.Scale.Buyers + 1 // and the one order of tryUntilSold
		names := []string{candidate.OneSale, candidate.ManySales, candidate.SmallSales, candidate.FullSale}
		for n := range b.plan.Rounds {
			// A different one begins each round, since the first is at a disadvantage.
			names = append(names[1:], names[0])
			for _, name := range names {
				burst := load.Burst{
					Users: b.users, Endpoints: []load.Endpoint{{Addr: server.Addr, Vouchers: sales[name]}},
					Connections: b.plan.Connections, First: next[name],
					Want: http.StatusAccepted, Duration: time.Minute, Limit: b.plan.Scale.Requests,
				}
				processes := b.stores.Processes(ctx, server)
				before := processes.Time()
				answers, err := burst.Send(ctx)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				t := result.Trial{Candidate: name, Round: n + 1, Figures: figuresOf(answers)}
				next[name] = answers.Next
				accepted += answers.Want
				if err = at.AwaitRecorded(ctx, accepted); err != nil { // the next one starts without a backlog
					return err
				}
				addTime(t.Figures, processes.Since(before), answers.Want)
				b.logTrial(t)
				trials = append(trials, t)
			}
		}
		if err = server.Stop(); err != nil {
			return err
		}
		return audit.Service(ctx, at, server, accepted)
	})
	return trials, err
}

// openScale creates the sales as an admin does. The many buyers come from the ledger: their rows are inserted while the
// service is down, and the service rebuilds their sale in Redis when it starts, as after a loss in Redis.
func (b *Bench) openScale(
	ctx context.Context, at *rig.Namespace,
) (server *rig.Server, sales map[string][]int64, err error) {
	if server, err = b.service().Launch(ctx, at, "bench"); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, server.Stop())
		}
	}()
	sales = map[string][]int64{}
	for _, group := range []struct {
		name  string
		sales int
		stock int64
	}{
		{candidate.OneSale, 1, rig.Unlimited},
		{candidate.ManySales, b.plan.Scale.Sales, bigStock},
		{candidate.SmallSales, b.plan.Scale.Sales, smallStock},
		{candidate.FullSale, 1, rig.Unlimited},
	} {
		if sales[group.name], err = server.CreateSales(ctx, group.sales, group.stock); err != nil {
			return server, nil, err
		}
	}
	if err = server.Stop(); err != nil {
		return server, nil, err
	}
	full := sales[candidate.FullSale][0]
	const batch, outsiders = 1000, 100_000_000 // user ids far from those of the bursts
	for n := int64(0); n < b.plan.Scale.Buyers; n += batch {
		if err = insertOrders(ctx, at.DB, full, outsiders+n, min(batch, b.plan.Scale.Buyers-n)); err != nil {
			return server, nil, err
		}
	}
	if err = b.stores.Redis.Del(ctx, fmt.Sprintf("%s{p0}:sale:%d", at.Prefix, full)).Err(); err != nil {
		return server, nil, fmt.Errorf("redis: %w", err)
	}
	again, err := b.service().Launch(ctx, at, "bench")
	if err != nil {
		return server, nil, err
	}
	server = again
	return server, sales, tryUntilSold(ctx, server, full)
}

// tryUntilSold buys one unit. A rebuilt sale sells again a second later, once every instance has forgotten that it may
// have been sold out (rule 11, docs/architecture.md).
func tryUntilSold(ctx context.Context, server *rig.Server, voucher int64) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := server.BuyOne(ctx, voucher)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}
