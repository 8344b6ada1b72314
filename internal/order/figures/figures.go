// Package figures adds up orders and their money, for reports. What was purged is kept as figures, so sums of orders
// that are there and of orders that are gone are added by one rule.
package figures

import (
	"time"

	"seckill/internal/order"
	"seckill/internal/order/payment"
)

// Tally is a number of orders, with their units and their price.
type Tally = order.Tally

// Money is the money of payments, in cents. Received is the amount that the providers have taken, also late and twice.
// Returned is the amount that has gone back, as refunds and by lost disputes; Lost is the latter alone.
//
//	Received = Refunded() + Lost + Kept()
//
// Stuck and Closed are parts of the amount kept: providers refuse for good to send Stuck back, and staff have closed
// the refunds of Closed. Overdrawn is what has gone back of payments beyond what came in.
type Money struct {
	Received  int64 `json:"received"`
	Returned  int64 `json:"returned"`
	Lost      int64 `json:"lost"`
	Stuck     int64 `json:"stuck"`
	Closed    int64 `json:"closed"`
	Overdrawn int64 `json:"overdrawn"`
}

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
	Money     Money `json:"money"`
	Unpaid    Tally `json:"unpaid"`
	Paid      Tally `json:"paid"`
	Redeemed  Tally `json:"redeemed"`
	Lapsed    Tally `json:"lapsed"`
	Refunding Tally `json:"refunding"`
	Refunded  Tally `json:"refunded"`

	Processing Tally `json:"processing"` // those of Unpaid whose money is under way
	Cancelled  Tally `json:"cancelled"`  // cancelled before their payment deadline
	Expired    Tally `json:"expired"`    // cancelled at their payment deadline or later
	Failed     Tally `json:"failed"`     // accepted, but impossible to record
}

// With returns the figures with a tally of orders in a state. Expired tells apart the orders that were cancelled at
// their payment deadline or later.
func (o Orders) With(status order.Status, expired bool, more Tally) Orders {
	var tally *Tally
	switch status {
	case order.Unpaid:
		tally = &o.Unpaid
	case order.Paid:
		tally = &o.Paid
	case order.Redeemed:
		tally = &o.Redeemed
	case order.Cancelled:
		if tally = &o.Cancelled; expired {
			tally = &o.Expired
		}
	case order.Refunding:
		tally = &o.Refunding
	case order.Refunded:
		tally = &o.Refunded
	case order.Failed:
		tally = &o.Failed
	case order.Lapsed:
		tally = &o.Lapsed
	default:
		return o
	}
	*tally = tally.Plus(more)
	return o
}

// WithOrder returns the figures with an order.
func (o Orders) WithOrder(of order.Order) Orders {
	one := Tally{Orders: 1, Units: of.Quantity.Units(), Cents: of.Amount}
	if of.Processing {
		o.Processing = o.Processing.Plus(one)
	}
	return o.With(of.Status, Expired(of), one)
}

// Expired reports whether the order was cancelled at its payment deadline or later. Then the reason is that it was not
// paid in time, even if its owner cancelled it before the expirer did.
func Expired(o order.Order) bool {
	return o.Status == order.Cancelled && !o.PayBefore.IsZero() && !o.CancelledAt.Before(o.PayBefore)
}

// WithPayment returns the figures with the money of a payment.
func (o Orders) WithPayment(p payment.Payment) Orders {
	if p.ReceivedAt.IsZero() {
		return o
	}
	m := Money{Received: p.Amount, Returned: p.Gone(), Lost: p.Lost(), Overdrawn: max(0, p.Gone()-p.Amount)}
	switch p.State {
	case payment.Stuck:
		m.Stuck = m.Kept()
	case payment.Closed:
		m.Closed = m.Kept()
	default: // the amount kept has no part of its own
	}
	o.Money = o.Money.Plus(m)
	return o
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
	Returns            int64 // payments of which a part or all was refunded or lost
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
