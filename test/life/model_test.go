package life

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

const (
	users      = 5
	firstStock = 3
	price      = 10_00
)

// told is what clients know: every order id that anybody was given, and whose it is.
type told map[int64]int64

// model drives one world.
type model struct {
	w        *world
	told     told
	payments []order.Payment // that a provider was asked to expect
	noticed  map[string]bool
	keys     map[string]int64 // stock changes by idempotency key; those whose answer was not decided among them
	next     int
}

// TestLife is the model. RAPID flags replay a failure: -rapid.seed, -rapid.failfile.
func TestLife(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := s.newWorld(t, rt)
		defer w.end()
		m := &model{w: w, told: told{}, noticed: map[string]bool{}, keys: map[string]int64{}}
		rt.Repeat(map[string]func(*rapid.T){
			"buy":        m.buy,
			"buy again":  m.buy,
			"record":     func(*rapid.T) { w.record() },
			"pay":        m.pay,
			"confirm":    m.confirm,
			"cancel":     m.cancel,
			"close":      m.close,
			"refund":     m.refund,
			"restock":    m.restock,
			"repeat key": m.repeatKey,
			"pause":      m.pause,
			"shelf":      m.shelf,
			"work":       func(*rapid.T) { w.work() },
			"harm":       m.harm,
			"crash":      func(*rapid.T) { w.crash() },
			"redeliver":  m.redeliver,
			"rebuild":    func(*rapid.T) { w.rebuild() },
			"rest":       m.rest,
			"":           func(*rapid.T) { m.neverTwice(rt); m.accounted(rt) },
		})
		m.rest(rt)
	})
}

func (m *model) user(t *rapid.T) int64 { return rapid.Int64Range(1, users).Draw(t, "user") }

// someOrder draws an order that somebody was told of, or skips the action.
func (m *model) someOrder(t *rapid.T) (id, user int64) {
	if len(m.told) == 0 {
		t.Skip("nobody has an order")
	}
	id = rapid.SampledFrom(sortedKeys(m.told)).Draw(t, "order")
	return id, m.told[id]
}

func (m *model) buy(t *rapid.T) {
	user := m.user(t)
	o, err := m.w.buy(user)
	var bought *order.AlreadyBoughtError
	switch {
	case err == nil:
		m.learn(t, o.ID, user)
	case errors.As(err, &bought):
		m.learn(t, bought.OrderID, user)
	default: // refused, or unknown; then he asks again some time
		m.w.expected(t, err, order.ErrSoldOut, order.ErrPaused, order.ErrUnavailable, order.ErrUnknownOutcome, errOffShelf)
	}
}

// learn: an id belongs to one user for ever (I10).
func (m *model) learn(t *rapid.T, id, user int64) {
	if known, has := m.told[id]; has && known != user {
		t.Fatalf("order %d was given to user %d and to user %d", id, known, user)
	}
	m.told[id] = user
}

func (m *model) pay(t *rapid.T) {
	id, user := m.someOrder(t)
	p, err := m.w.pay(user, id)
	if err != nil {
		m.w.expectedOrState(t, err)
		return
	}
	if p.Amount != price || p.OrderID != id {
		t.Fatalf("a payment of %+v for order %d", p, id)
	}
	m.payments = append(m.payments, p)
}

func (m *model) confirm(t *rapid.T) {
	if len(m.payments) == 0 {
		t.Skip("nothing to pay")
	}
	p := rapid.SampledFrom(m.payments).Draw(t, "payment")
	if rapid.IntRange(0, 3).Draw(t, "harmed") == 0 {
		m.harmOne(t, "apply", "settled")
	}
	n := order.Notice{PaymentID: p.ID, Amount: p.Amount}
	if rapid.IntRange(0, 9).Draw(t, "wrong amount") == 0 {
		n.Amount--
		if err := m.w.confirm(n); !errors.Is(err, order.ErrWrongAmount) {
			m.w.expected(t, err)
		}
		return
	}
	if err := m.w.confirm(n); err != nil {
		m.w.expected(t, err)
		return // the provider repeats it some time, or rest does
	}
	m.noticed[p.ID] = true
}

func (m *model) cancel(t *rapid.T) {
	id, user := m.someOrder(t)
	if err := m.w.cancel(user, id); err != nil {
		m.w.expectedOrState(t, err)
	}
}

func (m *model) close(t *rapid.T) {
	id, _ := m.someOrder(t)
	m.w.closeOverdue(id)
}

func (m *model) refund(t *rapid.T) {
	id, user := m.someOrder(t)
	if err := m.w.refund(user, id); err != nil {
		m.w.expectedOrState(t, err)
	}
}

func (m *model) restock(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "harmed") == 0 {
		m.harmOne(t, "apply", "settled")
	}
	delta := rapid.SampledFrom([]int64{-3, -2, -1, 1, 2}).Draw(t, "delta")
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

func (m *model) harm(t *rapid.T) { m.harmOne(t, calls()...) }

// harmOne lets something befall the next one of the calls.
func (m *model) harmOne(t *rapid.T, calls ...string) {
	call := rapid.SampledFrom(calls).Draw(t, "call")
	h := harm(rapid.IntRange(0, int(harms)-1).Draw(t, "harm"))
	m.w.alive().fate.plan(call, h)
}

// redeliver puts an order into the stream once more, as an entry that was delivered and not acknowledged (I7).
func (m *model) redeliver(t *rapid.T) {
	id, user := m.someOrder(t)
	m.w.redeliver(id, user)
}

func (m *model) rest(t *rapid.T) {
	m.w.rest()
	for _, p := range m.payments { // a provider repeats its callbacks until they are answered
		if m.noticed[p.ID] {
			m.w.must(t, m.w.confirm(order.Notice{PaymentID: p.ID, Amount: p.Amount}))
		}
	}
	m.w.rest()
	m.deltasAddUp(t)
	m.check(t)
	if b := m.accounted(t); b.Finding != order.Balanced || !b.Complete {
		t.Fatalf("at rest the auditor finds %s (%s), complete: %v; redis %+v, ledger %+v", b.Finding, b.Why, b.Complete, b.Redis, b.Ledger)
	}
}

// accounted holds at every moment: the auditor raises no false alarm. (A sale that stands still, or changes while it is
// read, he does not judge.)
func (m *model) accounted(t *rapid.T) order.Balance {
	b := m.w.balance(t)
	if b.Finding.Broken() {
		t.Fatalf("the auditor finds %s: %s; redis %+v, ledger %+v", b.Finding, b.Why, b.Redis, b.Ledger)
	}
	return b
}

// deltasAddUp asks for every change of stock once more, which says what became of it, and wants the issued units to be
// what was confirmed.
func (m *model) deltasAddUp(t *rapid.T) {
	want := int64(firstStock)
	for _, key := range sortedKeys(m.keys) {
		err := m.w.restock(key, m.keys[key])
		if err == nil {
			want += m.keys[key]
		} else if _, refused := errors.AsType[*voucher.InsufficientStockError](err); !refused {
			t.Fatalf("at rest a change of stock by %d is answered %v", m.keys[key], err)
		}
	}
	m.w.rest()
	if got := m.w.view(t).sale.issued; got != want {
		t.Fatalf("%d units are issued, %d by what was answered", got, want)
	}
}

// neverTwice holds at every moment: no user has two live orders in the ledger, and no stock is below zero (I1, I2).
func (m *model) neverTwice(t *rapid.T) {
	v := m.w.view(t)
	v.oneLiveOrderEach(t)
	if v.sale.stock < 0 || v.sale.stock+v.live() != v.sale.issued {
		t.Fatalf("the ledger has %d units and %d live orders of %d issued", v.sale.stock, v.live(), v.sale.issued)
	}
}
