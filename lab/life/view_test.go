package life

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"seckill/internal/order"
	"seckill/internal/order/payment"
)

// view is all data of both stores about the world's sale.
type view struct {
	sale     saleRow
	orders   []orderRow
	payments []paymentRow
	places   []placeRow // of the waiting list, by position
	pending  int64      // operations

	redis   saleRow
	mode    string // of the sale in Redis
	holders map[int64]string
	waiting int64 // entries in the stream
}

// saleRow is one store's data of a sale.
type saleRow struct {
	stock, kept, accepted, issued int64 // in Redis the stock contains returned units
	last                          int64 // number of the last operation, in Redis of the last that was applied
	extra                         int64 // units that its holders in Redis have beyond one each
	calledOff                     bool  // in the ledger
}

type orderRow struct {
	id, user int64
	status   order.Status
	units    int64
	last     order.Status // in its history; its own if it has none
}

type paymentRow struct {
	id    string
	order int64
	state payment.State
}

// live counts the units of live orders.
func (v view) live() int64 {
	n := int64(0)
	for _, o := range v.orders {
		if o.status.Live() {
			n += o.units
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

// check checks the invariants of quiescent stores.
func (m *model) check(t *rapid.T) {
	v := m.w.view(t)
	v.oneLiveOrderEach(t) // I2
	if v.waiting != 0 || v.pending != 0 {
		t.Fatalf("not quiescent: %d entries wait, %d operations are pending", v.waiting, v.pending)
	}
	m.ledgerHolds(t)                                                  // I1, I5
	if v.redis.stock != v.sale.stock || v.redis.last != v.sale.last { // I5, I9
		t.Fatalf("Redis has %d units to sell and has applied %d operations, the ledger %d and %d",
			v.redis.stock, v.redis.last, v.sale.stock, v.sale.last)
	}
	live, texts, extra := map[int64]int64{}, map[int64]string{}, int64(0)
	for _, o := range v.orders {
		if o.status.Live() {
			live[o.user], texts[o.user] = o.id, m.w.text(o.id)
			extra += o.units - 1
		}
		if o.units != m.w.unitsOf(o.id) {
			t.Fatalf("order %d has %d units, but %d were asked for", o.id, o.units, m.w.unitsOf(o.id))
		}
		if o.last != o.status {
			t.Fatalf("order %d is %s, its history ends with %s", o.id, o.status, o.last)
		}
	}
	if !maps.Equal(texts, v.holders) || extra != v.redis.extra { // I2, I6
		t.Fatalf("live orders of users %v with %d units beyond one each, holders in Redis %v with %d",
			texts, extra, v.holders, v.redis.extra)
	}
	m.allSettled(t, v)
	m.paymentsAddUp(t, v)
	m.heldForMoney(t)
	steps := m.w.steps(t)
	m.couponsAddUp(t, v, steps)
	m.acceptancesBecameOrders(t, v)
	m.callOffAddsUp(t, v)
	m.eventsTellTheHistory(t, v, steps)
	m.winnersGetTheirOrder(t, live, 0)
}

// allSettled checks that each answered order has a row of the same user (I3), and that each row belongs to a request
// (I4).
func (m *model) allSettled(t *rapid.T, v view) {
	rows := map[int64]int64{}
	for _, o := range v.orders {
		rows[o.id] = o.user
		if _, sent := m.w.sent[o.id]; !sent {
			t.Fatalf("order %d of user %d belongs to no request", o.id, o.user)
		}
		if o.status == order.Failed {
			t.Fatalf("order %d failed, though no store lost anything", o.id)
		}
	}
	for id, user := range m.owners {
		if rows[id] != user {
			t.Fatalf("user %d was answered order %d, the ledger has it for user %d", user, id, rows[id])
		}
	}
}

// paymentsAddUp checks that each paid order has exactly one received payment, and that no other money is kept.
func (m *model) paymentsAddUp(t *rapid.T, v view) {
	paidBy := map[int64][]string{}
	for _, p := range v.payments {
		switch p.state {
		case payment.Received:
			paidBy[p.order] = append(paidBy[p.order], p.id)
		case payment.Open:
			if m.confirmed[p.id] {
				t.Fatalf("payment %s was confirmed and is still open", p.id)
			}
		case payment.Refunded:
			if !m.confirmed[p.id] && !m.w.maybeConfirmed[p.id] {
				t.Fatalf("payment %s was refunded, though it was never paid", p.id)
			}
		case payment.Stuck, payment.Closed:
			m.stuckAddsUp(t, p)
		case payment.Late, payment.Refunding:
			t.Fatalf("payment %s of order %d is %s, though all is quiescent", p.id, p.order, p.state)
		}
	}
	for _, o := range v.orders {
		want := 0
		if m.w.price == 0 && (o.status == order.Unpaid || o.status == order.Cancelled) {
			t.Fatalf("order %d costs nothing, and was not paid when it was recorded: it is %s", o.id, o.status)
		}
		if m.w.price > 0 && (o.status == order.Paid || o.status == order.Redeemed || o.status == order.Lapsed) {
			want = 1
		}
		if len(paidBy[o.id]) != want {
			t.Fatalf("order %d is %s and has the received payments %v", o.id, o.status, paidBy[o.id])
		}
	}
	refunded := m.w.refunded()
	for _, p := range v.payments {
		if p.state == payment.Refunded && refunded[p.id] == 0 {
			t.Fatalf("payment %s is refunded, and the provider has sent nothing back", p.id)
		}
	}
	for id, refunds := range refunded {
		if refunds == 0 || stateOf(v.payments, id) != payment.Refunded {
			t.Fatalf("payment %s was refunded by the provider and is %s", id, stateOf(v.payments, id))
		}
	}
}

func stateOf(payments []paymentRow, id string) payment.State {
	for _, p := range payments {
		if p.id == id {
			return p.state
		}
	}
	return 0
}

// winnersGetTheirOrder checks that a user with a live order who asks again is answered with it, in every mode of the
// sale (I6); until soldOut has passed, sold out is an answer, too.
func (m *model) winnersGetTheirOrder(t *rapid.T, live map[int64]int64, soldOut time.Duration) {
	for user, id := range live {
		if got := m.w.buyAgain(t, user, soldOut); got != id {
			t.Fatalf("user %d has order %d and is answered %d", user, id, got)
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
