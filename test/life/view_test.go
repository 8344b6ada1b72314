package life

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"seckill/internal/order"
)

// view is everything that both stores hold of the world's one sale.
type view struct {
	sale   saleRow
	orders []orderRow
	pays   []payRow
	open   int64 // operations that are still pending

	stock   int64 // in Redis, returned units included
	applied int64 // number of the last operation that Redis contains
	places  map[int64]int64
	waiting int64 // entries in the stream
}

type saleRow struct{ stock, issued, last int64 }

type orderRow struct {
	id, user int64
	status   order.Status
	last     order.Status // of its history; its own when it has none
}

type payRow struct {
	id    string
	order int64
	state order.PaymentState
}

// live counts the orders that hold a unit.
func (v view) live() int64 {
	n := int64(0)
	for _, o := range v.orders {
		if o.status.Live() {
			n++
		}
	}
	return n
}

func (v view) oneLiveOrderEach(t *rapid.T) {
	has := map[int64]int64{}
	for _, o := range v.orders {
		if !o.status.Live() {
			continue
		}
		if other, two := has[o.user]; two {
			t.Fatalf("user %d has the live orders %d and %d", o.user, other, o.id)
		}
		has[o.user] = o.id
	}
}

// check holds the invariants against the stores at rest.
func (m *model) check(t *rapid.T) {
	v := m.w.view(t)
	v.oneLiveOrderEach(t) // I2
	if v.waiting != 0 || v.open != 0 {
		t.Fatalf("not at rest: %d entries wait, %d operations are pending", v.waiting, v.open)
	}
	if v.sale.stock+v.live() != v.sale.issued { // I1, I5
		t.Fatalf("ledger: stock %d + %d live orders, %d issued", v.sale.stock, v.live(), v.sale.issued)
	}
	if v.stock != v.sale.stock { // I5, I9
		t.Fatalf("Redis has %d units to sell, the ledger %d", v.stock, v.sale.stock)
	}
	if v.applied != v.sale.last {
		t.Fatalf("Redis contains %d operations of %d", v.applied, v.sale.last)
	}
	held := map[int64]int64{}
	for _, o := range v.orders {
		if o.status.Live() {
			held[o.user] = o.id
		}
		if o.last != o.status {
			t.Fatalf("order %d is %s, its history ends with %s", o.id, o.status, o.last)
		}
	}
	if !maps.Equal(held, v.places) { // I2, I6
		t.Fatalf("live orders of users %v, places in Redis %v", held, v.places)
	}
	m.everybodySettled(t, v)
	m.moneyAddsUp(t, v)
	m.winnersAreTold(t, held)
}

// everybodySettled: what was told has a row of the same user (I3), and no row came from nowhere (I4).
func (m *model) everybodySettled(t *rapid.T, v view) {
	rows := map[int64]int64{}
	for _, o := range v.orders {
		rows[o.id] = o.user
		if _, asked := m.w.asked[o.id]; !asked {
			t.Fatalf("order %d of user %d was never asked for", o.id, o.user)
		}
		if o.status == order.Failed {
			t.Fatalf("order %d failed, though no store lost anything", o.id)
		}
	}
	for id, user := range m.told {
		if rows[id] != user {
			t.Fatalf("user %d was told order %d, the ledger has it for user %d", user, id, rows[id])
		}
	}
}

// moneyAddsUp: an order is paid by exactly one payment whose money is here, and no money stays without such an order.
func (m *model) moneyAddsUp(t *rapid.T, v view) {
	paidBy := map[int64][]string{}
	for _, p := range v.pays {
		switch p.state {
		case order.PaymentReceived:
			paidBy[p.order] = append(paidBy[p.order], p.id)
		case order.PaymentOpen:
			if m.noticed[p.id] {
				t.Fatalf("payment %s was confirmed and is still open", p.id)
			}
		case order.PaymentRefunded:
			if !m.noticed[p.id] && !m.w.maybeNoticed[p.id] {
				t.Fatalf("payment %s was sent back, though nobody ever paid it", p.id)
			}
		case order.PaymentLate, order.PaymentRefunding:
			t.Fatalf("payment %s of order %d is %s at rest", p.id, p.order, p.state)
		}
	}
	for _, o := range v.orders {
		want := 0
		if o.status == order.Paid {
			want = 1
		}
		if len(paidBy[o.id]) != want {
			t.Fatalf("order %d is %s and has the received payments %v", o.id, o.status, paidBy[o.id])
		}
	}
	for id, refunds := range m.w.sentBack() {
		if refunds == 0 || paidFor(v.pays, id) != order.PaymentRefunded {
			t.Fatalf("payment %s was sent back and is %s", id, paidFor(v.pays, id))
		}
	}
}

func paidFor(pays []payRow, id string) order.PaymentState {
	for _, p := range pays {
		if p.id == id {
			return p.state
		}
	}
	return 0
}

// winnersAreTold: whoever has a live order is told it when he asks again, whatever the sale does (I6).
func (m *model) winnersAreTold(t *rapid.T, held map[int64]int64) {
	for user, id := range held {
		if got := m.w.askAgain(t, user); got != id {
			t.Fatalf("user %d has order %d and is told %d", user, id, got)
		}
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
