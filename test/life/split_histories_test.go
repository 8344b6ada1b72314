package life

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"seckill/internal/order"
)

// usualSplit is how many histories of split sales are checked unless -rapid.checks says otherwise. make life-split checks 200.
const usualSplit = 6

// otherServer is the run of no server.
const otherServer = "run_id:another"

// TestSplitHistories checks random histories of split sales: buyers who are all in one share or in several, fewer units than shares or
// more, with returns, late payments and orders of several units while units move, crashes, lost answers, rebuilds of any share, and a
// Redis that restarts or has lost one. The model is that of TestLife; in the end the last unit sells.
func TestSplitHistories(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	var begun, ended atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		if failed := begun.Load() > ended.Load(); !checksGiven && !failed && ended.Load() >= usualSplit {
			return // one that has failed is repeated, to find a shorter one
		}
		begun.Add(1)
		w := e.newSplitWorld(t, rt)
		defer w.end()
		m := newModel(w)
		rt.Repeat(map[string]func(*rapid.T){
			"buy":            m.buy,
			"buy more":       m.buy, // so that it is drawn more often
			"buy still more": m.buy,
			"crowd":          m.crowd,
			"crowd again":    m.crowd,
			"record":         func(*rapid.T) { w.record() },
			"pay":            m.pay,
			"pay too late":   m.payLate,
			"pay late again": m.payLate,
			"confirm":        m.confirm,
			"confirm again":  m.confirm,
			"cancel":         m.cancel,
			"cancel too":     m.cancel, // so that units come back
			"expire":         m.expire,
			"refund":         m.refund,
			"restock":        m.restock,
			"repeat key":     m.repeatKey,
			"pause":          m.pause,
			"shelf":          m.shelf,
			"work":           func(*rapid.T) { w.work() },
			"fault":          m.fault,
			"fault too":      m.fault,
			"crash":          func(*rapid.T) { w.crash() },
			"redeliver":      m.redeliver,
			"rebuild":        func(rt *rapid.T) { w.rebuild(w.aShare(rt)) },
			"another server": m.anotherServer,
			"lose a share":   m.loseShare,
			"time passes":    m.timePasses,
			"quiesce":        m.quiesce,
			"":               func(*rapid.T) { m.ledgerHolds(rt); m.balanced(rt) },
		})
		m.quiesce(rt)
		m.sellOut(rt)
		ended.Add(1)
	})
	e.logMoves(t, ended.Load())
}

// newSplitWorld draws a sale and who comes to it.
func (e *env) newSplitWorld(t *testing.T, rt *rapid.T) *world {
	t.Helper()
	w := e.openWorld(t, rt)
	w.shares, w.within = rapid.SampledFrom([]int{2, 2, 3, 4, 8}).Draw(rt, "shares"), 500*time.Millisecond
	w.issued = rapid.SampledFrom([]int64{1, 2, 3, 6, 9}).Draw(rt, "units")
	w.deltas = []int64{-3, -2, -1, 1, 2, 3}
	v := splitVoucher(w.shares, w.issued)
	v.PayValue, v.PerUser = w.price, perUser
	must(t, e.stores.sql.CreateVoucher(t.Context(), v, admin))
	w.voucher = v.ID
	must(t, w.process.reconciler.Open(t.Context(), v.ID))
	const buyers = 5
	share := rapid.IntRange(0, w.shares-1).Draw(rt, "share")
	switch rapid.SampledFrom([]string{"all in one share", "all but one", "as they come"}).Draw(rt, "buyers") {
	case "all in one share":
		w.users = usersOf(v.ID, w.shares, share, buyers)
	case "all but one":
		w.users = append(usersOf(v.ID, w.shares, share, buyers-1), usersOf(v.ID, w.shares, (share+1)%w.shares, 1)...)
	default:
		w.users = []int64{1, 2, 3, 4, 5}
	}
	return w
}

// aShare draws one.
func (w *world) aShare(t *rapid.T) order.SaleID {
	return rapid.SampledFrom(w.sales()).Draw(t, "share")
}

// crowd has several users buy at once, while something else happens.
func (m *model) crowd(t *rapid.T) {
	buyers := rapid.Permutation(m.w.users).Draw(t, "buyers")[:rapid.IntRange(2, len(m.w.users)).Draw(t, "how many")]
	units := rapid.SliceOfN(rapid.SampledFrom([]int64{1, 1, 1, 2, perUser}), len(buyers), len(buyers)).Draw(t, "units")
	meanwhile := rapid.SampledFrom([]string{"nothing", "nothing", "a rebuild", "a flush", "recording"}).Draw(t, "meanwhile")
	share := m.w.aShare(t)
	p := m.w.alive()
	_, waiting := m.w.sellable(t)
	ctx, cancel := m.w.withTimeout()
	defer cancel()
	orders, errs := make([]order.Order, len(buyers)), make([]error, len(buyers))
	var buying sync.WaitGroup
	for i, user := range buyers {
		buying.Go(func() { orders[i], errs[i] = p.buy(ctx, user, m.w.voucher, order.QuantityOf(units[i]), 0) })
	}
	switch meanwhile {
	case "a rebuild":
		m.w.rebuild(share)
	case "a flush":
		_ = p.outbox.Flush(ctx, m.w.voucher) // what fails stays pending
	case "recording":
		m.w.record()
	}
	buying.Wait()
	after, _ := m.w.sellable(t)
	for i, user := range buyers {
		// Units have only become fewer, if none came back: so there were as many all the time.
		if needed := neededBy(errs[i], units[i]); meanwhile == "nothing" && waiting == 0 && needed > 0 && after >= needed {
			t.Fatalf("user %d asks for %d units and is answered %v; after it %d can be sold: %s", user, units[i], errs[i], after, m.w.inRedis())
		}
		m.answered(t, user, units[i], orders[i], errs[i])
	}
}

// payLate has a user buy and begin to pay, lets the payment deadline pass, and pays. Others may have bought what came back.
func (m *model) payLate(t *rapid.T) {
	user := m.user(t)
	m.buyAs(t, user, rapid.SampledFrom([]int64{1, 1, 2}).Draw(t, "units"))
	id := int64(0)
	for bought, owner := range m.owners {
		if owner == user {
			id = max(id, bought)
		}
	}
	if id == 0 {
		t.Skip("they have no order")
	}
	m.w.record()
	p, err := m.w.pay(user, id)
	if err != nil {
		m.w.expectedOrState(t, err)
		return
	}
	m.payments = append(m.payments, p)
	m.w.expire(id)
	if rapid.Bool().Draw(t, "others come first") {
		m.w.work()
		time.Sleep(order.ReturnDelay + 10*time.Millisecond)
		m.crowd(t)
	}
	if err := m.w.confirm(order.Notice{PaymentID: p.ID, Amount: p.Amount, Provider: p.Provider}); err != nil {
		m.w.expected(t, err)
		return
	}
	m.confirmed[p.ID] = true
}

// anotherServer makes a share one that another run of the server has opened, as a restart does: the sale stops until it is rebuilt.
func (m *model) anotherServer(t *rapid.T) {
	share := m.w.aShare(t)
	if n, err := m.w.rdb.Exists(m.w.ctx, m.w.saleKey(share)).Result(); err != nil || n == 0 {
		t.Skip("the share is lost")
	}
	m.w.must(t, m.w.rdb.HSet(m.w.ctx, m.w.saleKey(share), "server", otherServer).Err())
}

// loseShare has Redis lose a share. What it accepted is in the stream.
func (m *model) loseShare(t *rapid.T) {
	share := m.w.aShare(t)
	m.w.must(t, m.w.rdb.Del(m.w.ctx, m.w.saleKey(share), m.w.buyersKey(share)).Err())
}

// timePasses lets returned units become sellable, by Redis's clock.
func (m *model) timePasses(t *rapid.T) {
	if !rapid.Bool().Draw(t, "long enough") {
		t.Skip("not yet") // else the histories would wait most of the time
	}
	time.Sleep(order.ReturnDelay + 10*time.Millisecond)
}

// sellOut sells what is left, to buyers of one share and to the last unit. Then nobody is sold any, whichever share is theirs.
func (m *model) sellOut(t *rapid.T) {
	w := m.w
	w.calm = true
	defer func() { w.calm = false }()
	w.pause(t, false)
	w.shelve(t, true)
	w.quiesce()
	share := w.aShare(t).Share
	left := w.view(t).sale.stock
	buyers := slices.DeleteFunc(usersOf(w.voucher, w.shares, share, int(left)+len(w.users)+1), func(user int64) bool { return slices.Contains(w.users, user) })
	for _, user := range buyers[:left] {
		m.buysUntil(t, user, func(err error) bool {
			_, bought := errors.AsType[*order.AlreadyBoughtError](err) // by a request whose outcome was not known
			return err == nil || bought
		}, "has a unit")
	}
	soldOut := func(err error) bool { return errors.Is(err, order.ErrSoldOut) }
	m.buysUntil(t, buyers[left], soldOut, "is told that nothing is left")
	other := slices.DeleteFunc(usersOf(w.voucher, w.shares, (share+1)%w.shares, len(w.users)+1), func(user int64) bool { return slices.Contains(w.users, user) })[0]
	m.buysUntil(t, other, soldOut, "is told that nothing is left")
	m.quiesce(t)
	if v := w.view(t); v.sale.stock != 0 {
		t.Fatalf("%d units are left", v.sale.stock)
	}
}

// buysUntil has a user buy until they are answered so. Before that the sale may be as if paused, or sold out while units wait.
func (m *model) buysUntil(t *rapid.T, user int64, wanted func(error) bool, what string) {
	for end := time.Now().Add(quiesceTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		before, _ := m.w.sellable(t)
		o, err := m.w.buy(user, 1)
		if after, _ := m.w.sellable(t); errors.Is(err, order.ErrSoldOut) && min(before, after) > 0 {
			t.Fatalf("user %d is answered SOLD_OUT; before it %d could be sold, after it %d: %s", user, before, after, m.w.inRedis())
		}
		m.answered(t, user, 1, o, err)
		if wanted(err) {
			return
		}
	}
	t.Fatalf("user %d never %s: %s", user, what, m.w.inRedis())
}

// sellable is how many units can be sold now or are on their way from one share to another, as far as Redis says for certain, and how
// many wait until they can be sold.
func (w *world) sellable(t *rapid.T) (units, waiting int64) {
	now, err := w.rdb.Time(w.ctx).Result()
	w.must(t, err)
	var out, in int64
	known := true
	for _, id := range w.sales() {
		sale, err := w.rdb.HGetAll(w.ctx, w.saleKey(id)).Result()
		w.must(t, err)
		past := func(field string) bool { return number(sale[field]) <= now.UnixMilli() }
		if sale["mode"] == "" || sale["mode"] == "rebuild" || number(sale["building"]) > 0 || sale["server"] == otherServer {
			known = false
			continue
		}
		out, in = out+number(sale["moved_out"]), in+number(sale["moved_in"])
		waiting += number(sale["reserved"])
		if !past("returned_at") {
			waiting += number(sale["returned"])
		}
		if sale["mode"] != "open" || !past("resumes") {
			continue
		}
		if units += number(sale["stock"]); past("returned_at") {
			units += number(sale["returned"])
		}
	}
	if known {
		units += out - in
	}
	return units, waiting
}

// movesAddUp checks the quiescent stores: no unit is on its way, Redis and the ledger agree about what has moved, and each order is in
// the share of its user.
func (m *model) movesAddUp(t *rapid.T, v view) {
	for i, r := range v.rows {
		if in := v.redisRows[i]; in.movedOut != r.movedOut || in.movedIn != r.movedIn {
			t.Fatalf("share %d: %d units have left it and %d have come to it, in Redis %d and %d", i, r.movedOut, r.movedIn, in.movedOut, in.movedIn)
		}
	}
	if v.redis.movedOut != v.redis.movedIn {
		t.Fatalf("%d units have left shares and %d have come to shares", v.redis.movedOut, v.redis.movedIn)
	}
	for _, o := range v.orders {
		if mine := m.w.saleOf(o.user); o.share != mine.Share {
			t.Fatalf("order %d of user %d, whose share is %s, is in share %d", o.id, o.user, mine, o.share)
		}
	}
}

// logMoves says what has happened in all histories.
func (e *env) logMoves(t *testing.T, histories int64) {
	t.Helper()
	number := func(query string) (n int64) {
		must(t, e.db.QueryRowContext(t.Context(), query).Scan(&n))
		return n
	}
	t.Logf("%d histories: %d orders, %d units moved by %d moves of %d that were asked for, %d rebuilds; of %d late payments %d got a unit, %d of them after being refused once, and %d went back",
		histories, number("SELECT COUNT(*) FROM tb_voucher_order"), number("SELECT COALESCE(SUM(moved_in), 0) FROM tb_seckill_voucher"),
		number("SELECT COUNT(*) FROM tb_voucher_operation WHERE kind = 'move' AND delta > 0"),
		number("SELECT COUNT(*) FROM tb_voucher_operation WHERE kind = 'move' AND delta < 0"),
		number("SELECT COALESCE(SUM(epoch - 1), 0) FROM tb_seckill_voucher"),
		number("SELECT COUNT(*) FROM tb_payment WHERE operation IS NOT NULL"),
		number("SELECT COUNT(*) FROM tb_payment WHERE operation IS NOT NULL AND accept_time IS NOT NULL"),
		number("SELECT COUNT(*) FROM tb_payment p WHERE operation IS NOT NULL AND accept_time IS NOT NULL AND EXISTS "+
			"(SELECT 1 FROM tb_voucher_operation o WHERE o.order_id = p.order_id AND o.kind = 'revive' AND o.state = 4)"),
		number("SELECT COUNT(*) FROM tb_payment WHERE operation IS NOT NULL AND accept_time IS NULL AND state = 5"))
}
