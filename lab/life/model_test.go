package life

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"seckill/internal/feature/redemption"
	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/order/gate"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

const (
	firstStock = 6
	perUser    = 3 // units
)

// model drives one world.
type model struct {
	w         *world
	owners    map[int64]int64           // owner of each order id that a buyer was answered
	payments  []payment.Payment         // begun with the provider
	confirmed map[string]bool           // payments whose notice was answered
	returned  map[string]payment.Notice // of money that the provider has sent back by itself, by payment
	keys      map[string]int64          // changes of stock by idempotency key, including those with an unknown outcome
	coupons   coupons
	placed    map[int64]int64 // the last position that each user was answered
	next      int
}

// TestLife checks the model. The flags -rapid.seed and -rapid.failfile replay a failure.
func TestLife(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := s.newWorld(t, rt)
		defer w.end()
		m := newModel(w)
		if rapid.Bool().Draw(rt, "begins with a rush") {
			m.rush(rt)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"buy":         m.buy,
			"buy more":    m.buy, // so that it is drawn more often
			"sell":        m.sell,
			"record":      func(*rapid.T) { w.record() },
			"pay":         m.pay,
			"confirm":     m.confirm,
			"progress":    m.progress,
			"cancel":      m.cancel,
			"cancel too":  m.cancel, // so that units come back
			"expire":      m.expire,
			"refund":      m.refund,
			"till":        m.till,
			"till again":  m.till, // so that it is drawn more often
			"two minutes": m.reservationEnds,
			"lapse":       m.lapse,
			"rush":        m.rush,
			"join":        m.join,
			"accept":      m.accept,
			"accept too":  m.accept,
			"leave":       m.leave,
			"pass":        m.pass,
			"pass again":  m.pass,
			"window ends": m.windowEnds,
			"staff":       m.staff,
			"staff again": m.staff, // so that it is drawn more often
			"final no":    m.finalNo,
			"stuck":       m.stuck,
			"call off":    m.callOff,
			"unwind":      m.unwind,
			"restock":     m.restock,
			"repeat key":  m.repeatKey,
			"pause":       m.pause,
			"shelf":       m.shelf,
			"work":        func(*rapid.T) { w.work() },
			"fault":       m.fault,
			"crash":       func(*rapid.T) { w.crash() },
			"redeliver":   m.redeliver,
			"rebuild":     func(*rapid.T) { w.rebuild() },
			"quiesce":     m.quiesce,
			"":            func(*rapid.T) { m.ledgerHolds(rt); m.balanced(rt) },
		})
		m.quiesce(rt)
	})
	s.logPlaces(t)
	s.logCallOffs(t)
}

func newModel(w *world) *model {
	return &model{
		w: w, owners: map[int64]int64{}, confirmed: map[string]bool{}, keys: map[string]int64{}, coupons: newCoupons(),
		placed: map[int64]int64{}, returned: map[string]payment.Notice{},
	}
}

func (m *model) user(t *rapid.T) int64 { return rapid.SampledFrom(m.w.users).Draw(t, "user") }

// anOrder draws an order id that a buyer was answered, or skips the action.
func (m *model) anOrder(t *rapid.T) (id, user int64) {
	if len(m.owners) == 0 {
		t.Skip("no user has an order")
	}
	id = rapid.SampledFrom(sortedKeys(m.owners)).Draw(t, "order")
	return id, m.owners[id]
}

func (m *model) buy(t *rapid.T) {
	user := m.user(t)
	m.buyAs(t, user, rapid.Int64Range(1, perUser).Draw(t, "units"))
}

// buyAs lets a user buy. A refusal for want of units must have been true at some moment: it is wrong if there were
// enough units both before and after the purchase, since nobody else has bought meanwhile.
func (m *model) buyAs(t *rapid.T, user, units int64) {
	before, closed := m.w.sellable(t), m.w.off.closed
	o, err := m.w.buy(user, units)
	m.closedTo(t, "a purchase", closed, err)
	if needed := neededBy(err, units); needed > 0 {
		if after := m.w.sellable(t); min(before, after) >= needed {
			t.Fatalf("user %d asks for %d units and is answered %v; before it %d could be sold, after it %d: %s",
				user, units, err, before, after, m.w.inRedis())
		}
	}
	m.answered(t, user, units, o, err)
}

// neededBy returns how many units make this refusal wrong.
func neededBy(err error, units int64) int64 {
	var lacking *gate.NotEnoughError
	switch {
	case errors.Is(err, gate.ErrSoldOut):
		return 1
	case errors.As(err, &lacking):
		return units
	default:
		return 0
	}
}

// answered records the answer to a user who wanted to buy.
func (m *model) answered(t *rapid.T, user, units int64, o order.Order, err error) {
	var bought *gate.AlreadyBoughtError
	var lacking *gate.NotEnoughError
	switch {
	case err == nil:
		m.learn(t, o.ID, user)
	case errors.As(err, &lacking):
		if lacking.Left < 1 || lacking.Left >= units {
			t.Fatalf("%d units are refused as %d are left", units, lacking.Left)
		}
	case errors.As(err, &bought):
		m.learn(t, bought.OrderID, user)
	default: // refused, or unknown; a later action asks again
		m.w.expected(t, err, gate.ErrSoldOut, gate.ErrPaused, order.ErrUnavailable, order.ErrUnknownOutcome,
			gate.ErrEnded, errOffShelf)
	}
}

// learn records an answered order id and checks that it always belongs to one user (I10).
func (m *model) learn(t *rapid.T, id, user int64) {
	if owner, known := m.owners[id]; known && owner != user {
		t.Fatalf("order %d was answered to user %d and to user %d", id, owner, user)
	}
	m.owners[id] = user
}

// sell sells units to somebody who pays at once.
func (m *model) sell(t *rapid.T) {
	m.buy(t)
	m.w.record()
	m.pay(t)
	m.confirm(t)
}

func (m *model) pay(t *rapid.T) {
	id, user := m.anOrder(t)
	p, err := m.w.pay(user, id)
	if err != nil {
		m.w.expectedOrState(t, err)
		return
	}
	if p.Amount != m.w.price*m.w.unitsOf(id) || p.OrderID != id {
		t.Fatalf("a payment of %+v for order %d", p, id)
	}
	m.payments = append(m.payments, p)
}

func (m *model) confirm(t *rapid.T) {
	if len(m.payments) == 0 {
		t.Skip("nothing to pay")
	}
	p := rapid.SampledFrom(m.payments).Draw(t, "payment")
	if rapid.IntRange(0, 3).Draw(t, "fault") == 0 {
		m.injectOne(t, "apply", "complete operations")
	}
	n := payment.Notice{PaymentID: p.ID, Amount: p.Amount, Provider: p.Provider}
	if rapid.IntRange(0, 9).Draw(t, "wrong amount") == 0 {
		n.Amount--
		if err := m.w.confirm(n); !errors.Is(err, payment.ErrWrongAmount) {
			m.w.expected(t, err)
		}
		return
	}
	if err := m.w.confirm(n); err != nil {
		m.w.expected(t, err)
		return // a later action repeats it, as a provider does
	}
	m.confirmed[p.ID] = true
}

func (m *model) cancel(t *rapid.T) {
	id, user := m.anOrder(t)
	if err := m.w.cancel(user, id); err != nil {
		m.w.expectedOrState(t, err)
	}
}

func (m *model) expire(t *rapid.T) {
	id, _ := m.anOrder(t)
	m.w.expire(id)
}

func (m *model) refund(t *rapid.T) {
	id, user := m.anOrder(t)
	if err := m.w.refund(user, id); err != nil && !errors.Is(err, redemption.ErrReserved) {
		m.w.expectedOrState(t, err)
	}
}

func (m *model) restock(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "fault") == 0 {
		m.injectOne(t, "apply", "complete operations")
	}
	delta := rapid.SampledFrom(m.w.deltas).Draw(t, "delta")
	m.next++
	m.changeStock(t, fmt.Sprintf("key %d", m.next), delta)
}

func (m *model) repeatKey(t *rapid.T) {
	if len(m.keys) == 0 {
		t.Skip("no key was used")
	}
	key := rapid.SampledFrom(sortedKeys(m.keys)).Draw(t, "key")
	m.changeStock(t, key, m.keys[key])
}

func (m *model) changeStock(t *rapid.T, key string, delta int64) {
	m.keys[key] = delta
	if err := m.w.restock(key, delta); err != nil {
		m.w.expectedOrStock(t, err)
	}
}

func (m *model) pause(t *rapid.T) { m.w.pause(t, rapid.Bool().Draw(t, "paused")) }
func (m *model) shelf(t *rapid.T) { m.w.shelve(t, rapid.Bool().Draw(t, "on the shelf")) }

func (m *model) fault(t *rapid.T) {
	m.injectOne(t, calls()...)
}

// injectOne plans a fault for the next call of one of these.
func (m *model) injectOne(t *rapid.T, calls ...string) {
	name := rapid.SampledFrom(calls).Draw(t, "call")
	kind := fault(rapid.IntRange(0, int(faultKinds)-1).Draw(t, "kind"))
	m.w.alive().faults.plan(name, kind)
}

// redeliver adds an order to the stream once more, as if its entry had not been acknowledged (I7).
func (m *model) redeliver(t *rapid.T) {
	id, user := m.anOrder(t)
	m.w.redeliver(id, user)
}

// quiesce waits until nothing is under way, and checks what must then hold.
func (m *model) quiesce(t *rapid.T) {
	m.w.alive().faults.clear()
	m.w.calm = true
	defer func() { m.w.calm = false }()
	if !m.w.off.known {
		m.w.setEnd(t, time.Now().Add(time.Hour)) // a fault may have left it ended
	}
	m.w.quiesce()
	for _, p := range m.payments { // a provider may repeat its notices
		if m.confirmed[p.ID] {
			m.w.must(t, m.w.confirm(payment.Notice{PaymentID: p.ID, Amount: p.Amount, Provider: p.Provider}))
		}
	}
	m.tellReturned(t)
	m.w.quiesce()
	m.deltasAddUp(t)
	m.check(t)
	if b := m.balanced(t); b.Finding != audit.Balanced || !b.Complete {
		t.Fatalf("quiescent: the auditor finds %s (%s), complete: %v; redis %+v, ledger %+v",
			b.Finding, b.Why, b.Complete, b.Redis, b.Ledger)
	}
}

// balanced must hold at every moment: the auditor raises no false alarm. (A sale that is stopped, or changes while it
// is read, is undecided.)
func (m *model) balanced(t *rapid.T) audit.Balance {
	b := m.w.balance(t)
	if b.Finding.Broken() {
		t.Fatalf("the auditor finds %s: %s; redis %+v, ledger %+v", b.Finding, b.Why, b.Redis, b.Ledger)
	}
	return b
}

// deltasAddUp repeats every change of stock, which returns its result, and checks that the issued units are the sum of
// the changes that succeeded.
func (m *model) deltasAddUp(t *rapid.T) {
	want := m.w.issued
	for _, key := range sortedKeys(m.keys) {
		err := m.w.restock(key, m.keys[key])
		for end := time.Now().Add(quiesceTimeout); errors.Is(err, voucher.ErrUndecided) && time.Now().Before(end); {
			m.w.work()
			err = m.w.restock(key, m.keys[key])
		}
		if err == nil {
			want += m.keys[key]
		} else if _, refused := errors.AsType[*voucher.InsufficientStockError](err); !refused &&
			(!m.w.off.known || !errors.Is(err, voucher.ErrCalledOff)) {
			t.Fatalf("quiescent: a change of stock by %d is answered %v", m.keys[key], err)
		}
	}
	m.w.quiesce()
	if got := m.w.view(t).sale.issued; got != want {
		t.Fatalf("%d units are issued, %d according to the answers", got, want)
	}
}

// ledgerHolds must hold at every moment: no user has two live orders in the ledger, and no stock is below zero (I1,
// I2).
func (m *model) ledgerHolds(t *rapid.T) {
	v := m.w.view(t)
	v.oneLiveOrderEach(t)
	m.noticeCallOff(t, v)
	if r, live := v.sale, v.live(); r.stock < 0 || r.stock+r.kept+live != r.issued {
		t.Fatalf("the ledger has %d units, %d kept, and %d units of live orders, of %d issued",
			r.stock, r.kept, live, r.issued)
	}
	m.placesAddUp(t, v)
}
