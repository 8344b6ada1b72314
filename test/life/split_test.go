package life

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/order/split"
	"seckill/internal/telemetry"
	"seckill/internal/voucher"
)

// TestSplitSale: a sale in four shares goes through its life, on one process. Each buyer is in the share that is theirs: they buy
// there, once, find their order there, and what they cancel comes back there; a share is rebuilt by itself while the others sell;
// pause and stock reach all of them; all units are accounted for in each.
func TestSplitSale(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p := newProcess(e.stores, func(order.Batch) {})
	t.Cleanup(func() { p.shutdown(t.Context()) })
	const shares, units = 4, 40
	v := e.splitSale(t, p, shares, units)

	// Half of the units, to users as they come.
	const buyers = units / 2
	orders := make([]order.Order, buyers)
	var buying sync.WaitGroup
	for user := range buyers {
		buying.Go(func() {
			o, err := p.buy(t.Context(), int64(user+1), v.ID, order.OneUnit, 0)
			if err != nil {
				t.Errorf("user %d: %v", user+1, err)
			}
			orders[user] = o
		})
	}
	buying.Wait()
	var already *order.AlreadyBoughtError
	if _, err := p.buy(t.Context(), 1, v.ID, order.OneUnit, 0); !errors.As(err, &already) || already.OrderID != orders[0].ID {
		t.Errorf("user 1 once more: %v", err)
	}
	if o, err := p.purchases.Order(t.Context(), 1, orders[0].ID, 0); err != nil || o.Status != order.Queued {
		t.Errorf("user 1 finds %+v, %v", o, err)
	}
	p.run(t.Context(), p.newRecorder().Run, quiesceTimeout, func() bool { return e.queued(t) == 0 })
	sold := e.splitStocks(t, p, v.ID, units, buyers)
	for user := range int64(buyers) {
		o, err := p.orders.Order(t.Context(), orders[user].ID)
		if share := split.ShareOf(v.ID, user+1, shares); err != nil || o.Share != share || o.Status != order.Unpaid {
			t.Errorf("user %d, of share %d, has %+v, %v", user+1, share, o, err)
		}
	}

	// What is cancelled comes back to the buyer's share.
	_, err := p.orders.Cancel(t.Context(), 1, orders[0].ID)
	must(t, err)
	must(t, p.outbox.Flush(t.Context(), v.ID))
	back := e.splitStocks(t, p, v.ID, units, buyers-1)
	if share := split.ShareOf(v.ID, 1, shares); back[share] != sold[share]+1 {
		t.Errorf("share %d had %d units before user 1 cancelled, and has %d", share, sold[share], back[share])
	}

	// A share is lost, and rebuilt: at another epoch, which the others have not.
	lost := order.SaleID{VoucherID: v.ID, Share: 2}
	must(t, e.rdb.Del(t.Context(), e.prefix+"{p0}:sale:"+lost.String(), e.prefix+"{p0}:buyers:"+lost.String()).Err())
	must(t, p.reconciler.OpenSale(t.Context(), lost))
	e.splitStocks(t, p, v.ID, units, buyers-1)
	now2, err := e.stores.sql.Voucher(t.Context(), v.ID)
	must(t, err)
	for i, share := range now2.Sale.Shares {
		if want := int64(1); i == lost.Share && share.Epoch != want+1 || i != lost.Share && share.Epoch != want {
			t.Errorf("share %d is at epoch %d", i, share.Epoch)
		}
	}

	// Pause and stock are done once all shares have them.
	_, _, err = p.vouchers.AddStock(t.Context(), admin, v.ID, 8, "more")
	must(t, err)
	e.splitStocks(t, p, v.ID, units+8, buyers-1)
	_, _, err = p.vouchers.Pause(t.Context(), admin, v.ID)
	must(t, err)
	current, err := e.stores.sql.Voucher(t.Context(), v.ID)
	must(t, err)
	views, err := e.stores.redis.Views(t.Context(), order.SalesOf(current))
	must(t, err)
	for i, view := range views {
		if view.Mode != order.SalePaused {
			t.Errorf("share %d is in mode %d", i, view.Mode)
		}
	}
	live, _, err := e.stores.redis.Live(t.Context(), []voucher.Voucher{current})
	if err != nil || live[0].State != voucher.StatePaused || live[0].Stock != units+8-(buyers-1) {
		t.Errorf("live %+v, %v", live, err)
	}
}

// TestSkewedBuyers: all buyers of a split sale are in one share, and get the units of the others, whatever happens to the calls that
// move them. SOLD_OUT is said once nothing is left, and a unit that comes back in one share sells in another.
func TestSkewedBuyers(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const shares, units = 3, 12
	e.underFaults(t, shares, units, map[string]callFault{
		"no fault":                    {},
		"a request's answer is lost":  {"request move", answerLost},
		"Redis's answer is lost":      {"apply", answerLost},
		"the ledger's answer is lost": {"complete operations", answerLost},
		"it dies before Redis":        {"apply", diesBefore},
		"it dies after Redis":         {"apply", diesAfter},
		"it dies before the ledger":   {"complete operations", diesBefore},
		"it dies after the ledger":    {"complete operations", diesAfter},
	}, func(t *testing.T, b *splitBuyers, voucherID int64) {
		buyers := usersOf(voucherID, shares, 0, units+1)
		var last order.Order
		for _, user := range buyers[:units] {
			last = b.gets(t, user, voucherID)
		}
		b.getsNone(t, buyers[units], voucherID)
		b.getsNone(t, usersOf(voucherID, shares, 1, 1)[0], voucherID)

		b.record(t)
		_, err := b.p.orders.Cancel(t.Context(), last.UserID, last.ID)
		must(t, err)
		must(t, b.p.outbox.Flush(t.Context(), voucherID))
		b.gets(t, usersOf(voucherID, shares, 2, 1)[0], voucherID, order.ErrSoldOut) // before it can be sold
		b.record(t)
		must(t, b.p.outbox.Flush(t.Context(), voucherID))
		e.splitStocks(t, b.p, voucherID, units, units)
		now, err := e.stores.sql.Voucher(t.Context(), voucherID)
		must(t, err)
		if now.Sale.MovedIn != now.Sale.MovedOut || now.Sale.MovedIn <= units-units/shares {
			t.Errorf("%d units went and %d came", now.Sale.MovedOut, now.Sale.MovedIn)
		}
	})
}

// callFault is what happens to the next of a process's calls of that name; the zero one is nothing.
type callFault struct {
	call string
	kind fault
}

// underFaults runs a test on a new split sale under each fault: of the process in which it begins.
func (e *env) underFaults(t *testing.T, shares int, units int64, faults map[string]callFault, test func(t *testing.T, b *splitBuyers, voucherID int64)) {
	t.Helper()
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			b := &splitBuyers{env: e, p: newProcess(e.stores, func(order.Batch) {})}
			defer func() { b.dead = append(b.dead, b.p) }()
			v := e.splitSale(t, b.p, shares, units)
			if f.call != "" {
				b.p.faults.plan(f.call, f.kind)
			}
			test(t, b, v.ID)
		})
	}
}

// splitBuyers buy of a split sale, from one process after the other.
type splitBuyers struct {
	*env
	p *process
}

// gets buys until the user has a unit. A sale that is sold out is said to be so only if that is among the allowed errors.
func (b *splitBuyers) gets(t *testing.T, user, voucherID int64, allowed ...error) order.Order {
	t.Helper()
	allowed = append(allowed, order.ErrPaused, order.ErrUnavailable, order.ErrUnknownOutcome)
	for end := time.Now().Add(quiesceTimeout); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		o, err := b.p.buy(t.Context(), user, voucherID, order.OneUnit, 0)
		var already *order.AlreadyBoughtError
		switch {
		case err == nil:
			return o
		case errors.As(err, &already):
			return order.Order{ID: already.OrderID, UserID: user}
		case b.p.faults.isDead(): // the next one finds what it had begun
			b.dead = append(b.dead, b.p)
			b.p = newProcess(b.stores, func(order.Batch) {})
		case !slices.ContainsFunc(allowed, func(a error) bool { return errors.Is(err, a) }):
			t.Fatalf("user %d: %v", user, err)
		}
	}
	t.Fatalf("user %d gets no unit within %s", user, quiesceTimeout)
	return order.Order{}
}

// getsNone asks until the user is told that nothing is left.
func (b *splitBuyers) getsNone(t *testing.T, user, voucherID int64) {
	t.Helper()
	for end := time.Now().Add(quiesceTimeout); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		_, err := b.p.buy(t.Context(), user, voucherID, order.OneUnit, 0)
		switch {
		case errors.Is(err, order.ErrSoldOut):
			return
		case !errors.Is(err, order.ErrPaused) && !errors.Is(err, order.ErrUnavailable):
			t.Fatalf("user %d, once nothing is left: %v", user, err)
		}
	}
	t.Fatalf("user %d is not told within %s that nothing is left", user, quiesceTimeout)
}

// record has all orders recorded.
func (b *splitBuyers) record(t *testing.T) {
	t.Helper()
	b.p.run(t.Context(), b.p.newRecorder().Run, quiesceTimeout, func() bool { return b.queued(t) == 0 })
}

// splitSale opens a sale in so many shares, with the units level.
func (e *env) splitSale(t *testing.T, p *process, shares int, units int64) *voucher.Voucher {
	t.Helper()
	v := splitVoucher(shares, units)
	must(t, e.stores.sql.CreateVoucher(t.Context(), v, admin))
	must(t, p.reconciler.Open(t.Context(), v.ID))
	return v
}

// splitVoucher is the voucher of such a sale. There may be fewer units than shares.
func splitVoucher(shares int, units int64) *voucher.Voucher {
	now := time.Now()
	v := &voucher.Voucher{
		ShopID: 1, Title: "100 for 10", PayValue: 10_00, ActualValue: 100_00, PayWithin: time.Hour, Kind: voucher.Seckill, Status: voucher.OnShelf,
		Sale: &voucher.Sale{Stock: units, Issued: units, Begin: now.Add(-time.Hour), End: now.Add(time.Hour), Shares: make([]voucher.Share, shares)},
	}
	for i, n := range voucher.Level(make([]int64, shares), units) {
		v.Sale.Shares[i] = voucher.Share{Stock: n, Issued: n}
	}
	return v
}

// usersOf returns n users whose share it is.
func usersOf(voucherID int64, shares, share, n int) []int64 {
	var users []int64
	for user := int64(1); len(users) < n; user++ {
		if split.ShareOf(voucherID, user, shares) == share {
			users = append(users, user)
		}
	}
	return users
}

// queued returns how many entries wait in the stream.
func (e *env) queued(t *testing.T) int64 {
	n, err := e.rdb.XLen(t.Context(), e.prefix+"{p0}:orders").Result()
	must(t, err)
	return n
}

// splitStocks returns the units that each share has left in Redis, and fails unless all units and orders are accounted for in each of
// them and in all together.
func (e *env) splitStocks(t *testing.T, p *process, voucherID, units, live int64) []int64 {
	t.Helper()
	auditor := audit.New(audit.Stores{
		Sales: e.stores.sql, Vouchers: e.stores.sql, Totals: e.stores.sql, Redis: e.stores.redis, Locker: localLock{make(chan struct{}, 1)},
	}, p.repairs, telemetry.NewMetrics(telemetry.Build{}), e.stores.log)
	b, err := auditor.Balance(t.Context(), voucherID)
	must(t, err)
	if b.Finding != audit.Balanced || b.Ledger.Issued != units || b.Ledger.Live != live || b.Redis.Holders != live || b.Redis.Stock != units-live {
		t.Errorf("%s: %s; redis %+v, ledger %+v", b.Finding, b.Why, b.Redis, b.Ledger)
	}
	all, err := auditor.All(t.Context())
	must(t, err)
	var stocks []int64
	for _, b := range all {
		if b.VoucherID != voucherID {
			continue
		}
		if b.Share != len(stocks) || b.Finding != audit.Balanced {
			t.Errorf("share %d is %s: %s", b.Share, b.Finding, b.Why)
		}
		stocks = append(stocks, b.Redis.Stock)
	}
	return stocks
}
