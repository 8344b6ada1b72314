package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// scalePlan is how far sales, stock and buyers go apart when it is measured whether they matter.
type scalePlan struct {
	sales    int   // many, where one is compared with many
	buyers   int64 // who have bought already, where nobody is compared with many
	requests int64 // of a volley
}

// smallStock is the stock of a sale that has little, bigStock of one that has much.
const smallStock, bigStock = 100, 1_000_000

// takeScale measures what a purchase costs with one and with many sales, with small and large stocks, with nobody and
// with many who have bought: one process, all its sales on sale at once, volleys in turn.
func takeScale(ctx context.Context, r *round) (turns []turn, err error) {
	at, err := r.stores.newPlace(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.clear(context.WithoutCancel(ctx))) }()
	to, sales, err := openScale(ctx, r, at)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, to.stop()) }()
	next := map[string]int64{}
	accepted := r.plan.scale.buyers + 1 // and the one who tried
	names := []string{oneSaleName, manySalesName, smallSalesName, fullSaleName}
	for n := range r.plan.rounds {
		// Another one begins each round: the first is at a disadvantage.
		names = append(names[1:], names[0])
		for _, name := range names {
			v := volley{
				crowd: r.crowd, doors: []door{{to.addr, sales[name]}}, connections: r.plan.connections, first: next[name],
				wanted: http.StatusAccepted, duration: time.Minute, most: r.plan.scale.requests,
			}
			parties := at.stores.processes(ctx, to.child)
			cpu := parties.read()
			b, err := v.fire(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			next[name] = b.next
			accepted += b.answered
			if err = at.awaitRecorded(ctx, accepted); err != nil { // the next one starts without a backlog
				return nil, err
			}
			turns = append(turns, turn{
				Contestant: name, Round: n + 1, Answered: b.answered, Rate: b.rate, P50: millis(b.p50), P99: millis(b.p99),
				Cost: parties.since(cpu, b.answered),
			})
		}
	}
	if err = to.stop(); err != nil {
		return nil, err
	}
	return turns, auditService(ctx, at, to, accepted)
}

// openScale creates the sales as an admin does. The many buyers come from the ledger: their rows are inserted while the
// service is down, and it puts them into Redis when it starts, as it does after Redis has lost a sale.
func openScale(ctx context.Context, r *round, at *place) (to *target, sales map[string][]int64, err error) {
	svc := service{r.bin}
	if to, err = svc.launch(ctx, at, "bench"); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, to.stop())
		}
	}()
	sales = map[string][]int64{}
	for _, group := range []struct {
		name  string
		sales int
		stock int64
	}{
		{oneSaleName, 1, unlimited},
		{manySalesName, r.plan.scale.sales, bigStock},
		{smallSalesName, r.plan.scale.sales, smallStock},
		{fullSaleName, 1, unlimited},
	} {
		if sales[group.name], err = createSales(ctx, to.addr, group.sales, group.stock); err != nil {
			return to, nil, err
		}
	}
	if err = to.stop(); err != nil {
		return to, nil, err
	}
	full := sales[fullSaleName][0]
	const batch, strangers = 1000, 100_000_000 // user ids far from the crowd's
	for n := int64(0); n < r.plan.scale.buyers; n += batch {
		if err = insertOrders(ctx, at.db, full, strangers+n, min(batch, r.plan.scale.buyers-n)); err != nil {
			return to, nil, err
		}
	}
	if err = at.stores.rdb.Del(ctx, fmt.Sprintf("%s{p0}:sale:%d", at.prefix, full)).Err(); err != nil {
		return to, nil, fmt.Errorf("redis: %w", err)
	}
	again, err := svc.launch(ctx, at, "bench")
	if err != nil {
		return to, nil, err
	}
	to = again
	return to, sales, tryUntilSold(ctx, to.addr, full)
}

// tryUntilSold buys one unit. A sale that was rebuilt sells again once every instance has forgotten that it may have
// been sold out, a second later (rule 11, docs/architecture.md).
func tryUntilSold(ctx context.Context, addr string, voucher int64) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := buyOne(ctx, addr, voucher)
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

// createSales puts n vouchers on sale, several at a time.
func createSales(ctx context.Context, addr string, n int, stock int64) ([]int64, error) {
	ids := make([]int64, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range ids {
		group.Go(func() (err error) {
			ids[i], err = createSale(ctx, addr, stock)
			return err
		})
	}
	return ids, group.Wait()
}
