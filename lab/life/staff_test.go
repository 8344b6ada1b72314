package life

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"seckill/internal/feature/redemption"
	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/reason"
)

// staff has staff act on an order, once for its key: if the answer is lost, the request is repeated until one comes.
func (m *model) staff(t *rapid.T) {
	id, _ := m.anOrder(t)
	verb := rapid.SampledFrom([]string{"cancel", "refund", "extend", "extend", "unredeem", "unredeem"}).Draw(t, "verb")
	if rapid.IntRange(0, 2).Draw(t, "fault") == 0 {
		m.injectOne(t, "staff", "apply")
	}
	m.next++
	by := admin
	by.Key = m.w.key("POST /staff/"+verb, fmt.Sprintf("staff %d", m.next))
	act := order.StaffAct{OrderID: id, By: by, Why: "they asked"}
	before, known := m.w.coupon(t, id), m.w.off.known
	until := time.Now().Add(time.Duration(48+m.next) * time.Hour).Truncate(time.Second)
	err := m.w.staff(verb, act, until)
	for end := time.Now().Add(quiesceTimeout); unknownOutcome(err) && time.Now().Before(end); {
		m.w.alive().faults.clear()
		m.w.calm = true
		err = m.w.staff(verb, act, until)
		m.w.calm = false
	}
	_, again := errors.AsType[*idempotency.RepeatedError](err)
	switch {
	case err != nil && !again:
		if !errors.Is(err, redemption.ErrNotFound) && !errors.Is(err, redemption.ErrNotLater) &&
			!errors.Is(err, redemption.ErrReserved) {
			m.w.expectedOrState(t, err)
		}
	case verb == "unredeem":
		delete(m.coupons.redeemed, id)
		if m.coupons.undone[id] == nil {
			m.coupons.undone[id] = map[redeemer]bool{}
		}
		m.coupons.undone[id][redeemer{before.RedeemedBy, before.RedeemKey}] = true
	case verb == "extend" && !known:
		if c := m.w.coupon(t, id); !c.ValidUntil.Equal(until) {
			t.Fatalf("order %d was extended until %s and is valid until %s", id, until, c.ValidUntil)
		}
	}
}

// unknownOutcome reports whether an act may or may not have been done.
func unknownOutcome(err error) bool {
	for _, e := range []error{errInjected, errDead, order.ErrUnavailable, context.DeadlineExceeded} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func (w *world) staff(verb string, act order.StaffAct, until time.Time) (err error) {
	ctx, cancel := w.withTimeout()
	defer cancel()
	p := w.alive()
	switch verb {
	case "cancel":
		_, err = p.orders.CancelForStaff(ctx, act)
	case "refund":
		_, err = p.payments.RefundForStaff(ctx, act)
	case "extend":
		_, err = p.staff.Extend(ctx, act, until)
	default:
		_, err = p.staff.Unredeem(ctx, act)
	}
	return err
}

// step is one change of an order, as its history has it.
type step struct {
	from order.Status
	kind string // the type of its event
}

// restarts reports whether the step makes a coupon valid again that was redeemed or has lapsed.
func (s step) restarts() bool {
	return s.kind == "order.restored" || s.kind == "order.extended" && s.from == order.Lapsed
}

// ends reports whether the step takes an order out of the state paid.
func (s step) ends() bool {
	return s.kind == "order.redeemed" || s.kind == "order.lapsed" || s.kind == "order.refunding"
}

// steps returns the changes in each order's history. The history also says what changed nothing: a till's reservations,
// and what became of late money. Being recorded is in the history of those only that came of a waiting list.
func (w *world) steps(t *rapid.T) map[int64][]step {
	steps, last := map[int64][]step{}, map[int64]order.Status{}
	w.each(t, func(rows *sql.Rows) error {
		var id int64
		var status order.Status
		var why string
		err := rows.Scan(&id, &status, &why)
		if last[id] == 0 {
			last[id], steps[id] = order.Unpaid, []step{{kind: "order.unpaid"}}
		}
		s := step{from: last[id], kind: "order." + status.String()}
		if kind := news(why); kind != "" {
			steps[id] = append(steps[id], step{from: last[id], kind: kind})
		}
		switch {
		case strings.HasPrefix(why, string(reason.Extended)):
			s.kind = "order.extended"
		case why == string(reason.Unredeemed):
			s.kind = "order.restored"
		case status == last[id]:
			if why == string(reason.CalledOffSale) { // money came after that
				steps[id] = append(steps[id], step{from: last[id], kind: "payment.received"})
			}
			return err
		}
		steps[id], last[id] = append(steps[id], s), status
		return err
	}, "SELECT order_id, status, why FROM tb_order_event WHERE order_id IN "+
		"(SELECT id FROM tb_voucher_order WHERE voucher_id = ?) ORDER BY id")
	return steps
}

// CancelForStaff implements service.OrderLedger.
func (l ledger) CancelForStaff(ctx context.Context, act order.StaffAct) (o order.Order, err error) {
	err = l.faults.call("staff", func() error {
		o, err = l.Whole.CancelForStaff(ctx, act)
		return err
	})
	return o, err
}

// RefundForStaff implements service.PaymentLedger.
func (l ledger) RefundForStaff(ctx context.Context, act order.StaffAct) (o order.Order, err error) {
	err = l.faults.call("staff", func() error {
		o, err = l.Whole.RefundForStaff(ctx, act)
		return err
	})
	return o, err
}

// Extend implements redemption.StaffLedger.
func (l faultyCoupons) Extend(
	ctx context.Context, act order.StaffAct, until time.Time,
) (c redemption.Coupon, err error) {
	err = l.faults.call("staff", func() error {
		c, err = l.Ledger.Extend(ctx, act, until)
		return err
	})
	return c, err
}

// Unredeem implements redemption.StaffLedger.
func (l faultyCoupons) Unredeem(ctx context.Context, act order.StaffAct) (c redemption.Coupon, err error) {
	err = l.faults.call("staff", func() error {
		c, err = l.Ledger.Unredeem(ctx, act)
		return err
	})
	return c, err
}
