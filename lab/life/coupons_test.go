package life

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"pgregory.net/rapid"

	"seckill/internal/feature/redemption"
	"seckill/internal/order"
)

// tills returns two tills of the sale's shop, and one of another shop.
func tills() []redemption.Till {
	return []redemption.Till{{ID: 71, ShopID: 1}, {ID: 72, ShopID: 1}, {ID: 73, ShopID: 2}}
}

// redeemer is a till that was answered that it has redeemed a coupon.
type redeemer struct {
	till int64
	key  string
}

// coupons is the model's knowledge of coupons.
type coupons struct {
	redeemed     map[int64]redeemer          // by order
	maybe        map[int64]map[redeemer]bool // redeems that were sent, answered or not
	undone       map[int64]map[redeemer]bool // redemptions that staff have undone
	reservations []string                    // ids in answers
}

func newCoupons() coupons {
	return coupons{
		redeemed: map[int64]redeemer{}, maybe: map[int64]map[redeemer]bool{}, undone: map[int64]map[redeemer]bool{},
		reservations: []string{""},
	}
}

// aCode draws an order that has a code, or skips the action.
func (m *model) aCode(t *rapid.T) (id int64, code string) {
	var ids []int64
	m.w.each(t, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, "SELECT order_id FROM tb_coupon WHERE voucher_id = ? ORDER BY order_id")
	if len(ids) == 0 {
		t.Skip("no order has a code")
	}
	id = rapid.SampledFrom(ids).Draw(t, "order")
	return id, m.w.code(t, id)
}

// till sends a request of a till, with any code, reservation and key, whether that makes sense or not.
func (m *model) till(t *rapid.T) {
	id, code := m.aCode(t)
	if rapid.IntRange(0, 2).Draw(t, "fault") == 0 {
		m.injectOne(t, "do", "ask refund", "lapse")
	}
	cmd := redemption.Command{
		Verb: rapid.SampledFrom([]redemption.Verb{
			redemption.Redeem, redemption.Reserve, redemption.Release, redemption.Validate,
		}).Draw(t, "verb"),
		Till: rapid.SampledFrom(tills()).Draw(t, "till"),
		Key:  rapid.SampledFrom([]string{"k", "l"}).Draw(t, "key"),
	}
	if rapid.Bool().Draw(t, "named") {
		cmd.Reservation = rapid.SampledFrom(m.coupons.reservations).Draw(t, "reservation")
	}
	if cmd.Verb == redemption.Reserve {
		m.next++
		cmd.Reservation = fmt.Sprint("reservation ", m.next)
	}
	who := redeemer{cmd.Till.ID, cmd.Key}
	if cmd.Verb == redemption.Redeem {
		if m.coupons.maybe[id] == nil {
			m.coupons.maybe[id] = map[redeemer]bool{}
		}
		m.coupons.maybe[id][who] = true
	}
	known := m.w.off.known
	outcome, err := m.w.till(cmd, code)
	if err != nil {
		m.w.expected(t, err, redemption.ErrUndone, redemption.ErrNotFound, redemption.ErrWrongCodes,
			redemption.ErrRedeemed, redemption.ErrReserved, redemption.ErrReservationOver, redemption.ErrLapsed,
			redemption.ErrVoid)
		return
	}
	if cmd.Till.ShopID != 1 {
		t.Fatalf("a till of another shop was answered %+v", outcome)
	}
	if known && !outcome.Repeated && cmd.Verb != redemption.Release {
		t.Fatalf("the sale is called off, and %s is answered %+v", cmd.Verb, outcome)
	}
	switch cmd.Verb {
	case redemption.Reserve:
		m.coupons.reservations = append(m.coupons.reservations, outcome.Coupon.Reservation.ID)
	case redemption.Redeem:
		if first, before := m.coupons.redeemed[id]; before && first != who {
			t.Fatalf("order %d was redeemed by %+v and by %+v", id, first, who)
		}
		if m.coupons.undone[id][who] {
			t.Fatalf("order %d is redeemed by %+v again, which was undone", id, who)
		}
		m.coupons.redeemed[id] = who
	default:
	}
}

// reservationEnds ends the two minutes of a reservation.
func (m *model) reservationEnds(t *rapid.T) {
	id, _ := m.aCode(t)
	m.w.exec(t, "UPDATE tb_coupon SET reserved_until = '2020-01-01' WHERE order_id = ? AND reservation IS NOT NULL", id)
}

// lapse lets the date of a coupon pass, and lapses due coupons.
func (m *model) lapse(t *rapid.T) {
	id, _ := m.aCode(t)
	m.w.exec(t, "UPDATE tb_coupon SET valid_until = '2020-01-01', due_time = '2020-01-01' WHERE order_id = ? AND "+
		"due_time IS NOT NULL", id)
	m.w.token++
	_, _, _ = m.w.alive().coupons.LapseDue(m.w.ctx, m.w.token, 10) // after a fault, a later call lapses them
}

// couponsAddUp checks, when the stores are quiescent, that each redeemed coupon was redeemed once, by a request that
// was sent, and that a till that was told so still has it.
func (m *model) couponsAddUp(t *rapid.T, v view, steps map[int64][]step) {
	for _, o := range v.orders {
		ended := 0
		for _, s := range steps[o.id] {
			switch {
			case s.ends() && s.from == order.Paid:
				ended++
			case s.restarts():
				ended--
			case s.ends():
				t.Fatalf("order %d goes from %s to %s: %v", o.id, s.from, s.kind, steps[o.id])
			}
		}
		ends := map[order.Status]int{order.Redeemed: 1, order.Lapsed: 1, order.Refunding: 1, order.Refunded: 1}
		if ended != ends[o.status] {
			t.Fatalf("order %d is %s and has come to an end %d times: %v", o.id, o.status, ended, steps[o.id])
		}
		winner, answered := m.coupons.redeemed[o.id]
		if answered != (o.status == order.Redeemed) && (answered || len(m.coupons.maybe[o.id]) == 0) {
			t.Fatalf("order %d is %s; redeemed by %+v as was answered: %t", o.id, o.status, winner, answered)
		}
		if o.status != order.Redeemed {
			continue
		}
		c := m.w.coupon(t, o.id)
		by := redeemer{c.RedeemedBy, c.RedeemKey}
		if answered && by != winner || !m.coupons.maybe[o.id][by] {
			t.Fatalf("order %d was redeemed by %+v, answered was %+v, sent were %v",
				o.id, by, winner, m.coupons.maybe[o.id])
		}
	}
}

// coupon reads the coupon of an order without injected faults; zero if there is none.
func (w *world) coupon(t *rapid.T, id int64) redemption.Coupon {
	orders, err := w.stores.sql.OrdersByID(w.ctx, []int64{id})
	w.must(t, err)
	o, has := orders[id]
	if !has {
		return redemption.Coupon{}
	}
	c, err := w.stores.coupons.CouponOf(w.ctx, o)
	if errors.Is(err, redemption.ErrNotFound) {
		return redemption.Coupon{}
	}
	w.must(t, err)
	return c
}

func (w *world) code(t *rapid.T, id int64) string { return string(w.coupon(t, id).Code) }

func (w *world) till(cmd redemption.Command, code string) (redemption.Outcome, error) {
	ctx, cancel := w.withTimeout()
	defer cancel()
	return w.alive().tills.Do(ctx, cmd, code)
}

func (w *world) exec(t *rapid.T, query string, args ...any) {
	_, err := w.db.ExecContext(w.ctx, query, args...)
	w.must(t, err)
}

// faultyCoupons is how a process reaches coupons, with faults.
type faultyCoupons struct {
	*redemption.Ledger
	faults *faults
}

// Do sends tills' commands to the ledger.
func (l faultyCoupons) Do(ctx context.Context, cmds []redemption.Command) (outcomes []redemption.Outcome, err error) {
	err = l.faults.call("do", func() error {
		outcomes, err = l.Ledger.Do(ctx, cmds)
		return err
	})
	return outcomes, err
}

func (l faultyCoupons) LapseDue(ctx context.Context, token int64, n int) (lapsed []order.Order, seen int, err error) {
	err = l.faults.call("lapse", func() error {
		lapsed, seen, err = l.Ledger.LapseDue(ctx, token, n)
		return err
	})
	return lapsed, seen, err
}
