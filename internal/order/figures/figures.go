// Package figures adds up orders and their money, for reports. What was purged is kept as figures, so sums of orders
// that are there and of orders that are gone are added by one rule.
package figures

import (
	"time"

	"seckill/internal/order"
	"seckill/internal/order/payment"
)

// Tally is a number of orders, with their units and their price.
type Tally struct {
	Orders int64 `json:"orders"`
	Units  int64 `json:"units"`
	Cents  int64 `json:"amount"`
}

// Plus returns the sum of both.
func (t Tally) Plus(o Tally) Tally {
	return Tally{t.Orders + o.Orders, t.Units + o.Units, t.Cents + o.Cents}
}

// Money is the money of payments, in cents. Received is the amount that the providers have taken, also late and twice.
// Returned is the amount that has gone back, as refunds and by lost disputes; Lost is the latter alone.
//
//	Received = Refunded() + Lost + Kept()
//
// Stuck and Closed are parts of the amount kept: providers refuse for good to send Stuck back, and staff have closed
// the refunds of Closed. Overdrawn is what has gone back of payments beyond what came in.
type Money struct{ Received, Returned, Lost, Stuck, Closed, Overdrawn int64 }

// Refunded returns the amount that has gone back as refunds.
func (m Money) Refunded() int64 { return m.Returned - m.Lost }

// Kept returns the amount that was received and has not gone back.
func (m Money) Kept() int64 { return m.Received - m.Returned }

// Plus returns the sum of both.
func (m Money) Plus(o Money) Money {
	return Money{
		Received: m.Received + o.Received, Returned: m.Returned + o.Returned, Lost: m.Lost + o.Lost,
		Stuck: m.Stuck + o.Stuck, Closed: m.Closed + o.Closed, Overdrawn: m.Overdrawn + o.Overdrawn,
	}
}

// Orders has the tallies of orders by their present state, and the money of their payments. Each recorded order is in
// one tally. The names in JSON are stored.
type Orders struct {
	Money     Money
	Unpaid    Tally
	Paid      Tally
	Redeemed  Tally
	Lapsed    Tally
	Refunding Tally
	Refunded  Tally

	Processing Tally // those of Unpaid whose money is under way
	Cancelled  Tally // cancelled before their payment deadline
	Expired    Tally // cancelled at their payment deadline or later
	Failed     Tally // accepted, but impossible to record
}

// Of returns the tally of the orders in a state; nil for an unknown state. Expired tells apart the orders that were
// cancelled at their payment deadline or later.
func (o *Orders) Of(status order.Status, expired bool) *Tally {
	switch status {
	case order.Unpaid:
		return &o.Unpaid
	case order.Paid:
		return &o.Paid
	case order.Redeemed:
		return &o.Redeemed
	case order.Cancelled:
		if expired {
			return &o.Expired
		}
		return &o.Cancelled
	case order.Refunding:
		return &o.Refunding
	case order.Refunded:
		return &o.Refunded
	case order.Failed:
		return &o.Failed
	case order.Lapsed:
		return &o.Lapsed
	default:
		return nil
	}
}

// Add adds an order.
func (o *Orders) Add(of order.Order) {
	one := Tally{Orders: 1, Units: of.Quantity.Units(), Cents: of.Amount}
	if tally := o.Of(of.Status, Expired(of)); tally != nil {
		*tally = tally.Plus(one)
	}
	if of.Processing {
		o.Processing = o.Processing.Plus(one)
	}
}

// Expired reports whether the order was cancelled at its payment deadline or later. Then the reason is that it was not
// paid in time, even if its owner cancelled it before the expirer did.
func Expired(o order.Order) bool {
	return o.Status == order.Cancelled && !o.PayBefore.IsZero() && !o.CancelledAt.Before(o.PayBefore)
}

// AddPayment adds the money of a payment.
func (o *Orders) AddPayment(p payment.Payment) {
	if p.ReceivedAt.IsZero() {
		return
	}
	m := Money{Received: p.Amount, Returned: p.Gone(), Lost: p.Lost()}
	m.Overdrawn = max(0, p.Gone()-p.Amount)
	switch p.State { //nolint:exhaustive // of the others the amount kept has no part of its own
	case payment.Stuck:
		m.Stuck = m.Kept()
	case payment.Closed:
		m.Closed = m.Kept()
	}
	o.Money = o.Money.Plus(m)
}

// Plus returns the sum of both.
func (o Orders) Plus(p Orders) Orders {
	return Orders{
		Money: o.Money.Plus(p.Money), Unpaid: o.Unpaid.Plus(p.Unpaid), Paid: o.Paid.Plus(p.Paid),
		Redeemed: o.Redeemed.Plus(p.Redeemed), Lapsed: o.Lapsed.Plus(p.Lapsed),
		Refunding: o.Refunding.Plus(p.Refunding), Refunded: o.Refunded.Plus(p.Refunded),
		Processing: o.Processing.Plus(p.Processing), Cancelled: o.Cancelled.Plus(p.Cancelled),
		Expired: o.Expired.Plus(p.Expired), Failed: o.Failed.Plus(p.Failed),
	}
}

// Recorded returns the tally of all orders.
func (o Orders) Recorded() Tally {
	return o.Sold().Plus(o.Refunded).Plus(o.Cancelled).Plus(o.Expired).Plus(o.Failed)
}

// Sold returns the tally of the orders that have their units.
func (o Orders) Sold() Tally {
	return o.Unpaid.Plus(o.Paid).Plus(o.Redeemed).Plus(o.Lapsed).Plus(o.Refunding)
}

// Earned returns the tally of the orders that are paid for and not being refunded: the revenue.
func (o Orders) Earned() Tally { return o.Paid.Plus(o.Redeemed).Plus(o.Lapsed) }

// Day is the money of one day: how much came in and went back, of how many payments each.
type Day struct {
	Received, Receipts int64
	Refunded, Refunds  int64
	Lost, Losses       int64
	Returns            int64 // payments of which something went back either way
}

// Moved is the money of a payment as a day's sums count it: the last day on which something went back counts what had
// not gone back before.
type Moved struct {
	Payment    payment.Payment
	ReturnedAt time.Time // when money went back last; zero: never
	Before     int64     // what had gone back before that day
	LostAt     time.Time // when money was lost last
	LostBefore int64
}

// AddTo adds the payment to the days on which its money moved; day names the day of a moment.
func (m Moved) AddTo(days map[string]Day, day func(time.Time) string) {
	p := m.Payment
	if p.ReceivedAt.IsZero() {
		return
	}
	in := days[day(p.ReceivedAt)]
	in.Received, in.Receipts = in.Received+p.Amount, in.Receipts+1
	days[day(p.ReceivedAt)] = in
	if m.ReturnedAt.IsZero() {
		return
	}
	back, gone := days[day(m.ReturnedAt)], p.Gone()-m.Before
	lost := int64(0)
	if p.Dispute == payment.DisputeLost && !m.LostAt.IsZero() && day(m.LostAt) == day(m.ReturnedAt) {
		lost = p.Disputed - m.LostBefore
	}
	if lost != 0 {
		back.Lost, back.Losses = back.Lost+lost, back.Losses+1
	}
	if refunded := gone - lost; refunded != 0 {
		back.Refunded, back.Refunds = back.Refunded+refunded, back.Refunds+1
	}
	back.Returns++
	days[day(m.ReturnedAt)] = back
}
