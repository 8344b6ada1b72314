package life

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"seckill/internal/feature/waitlist"
	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// modeOver is the mode of a sale in Redis that was called off. It is repeated here on purpose: other versions read it.
const modeOver = "over"

// callOffs is what is known of a sale that may be called off.
type callOffs struct {
	asked  bool // it was sent, answered or not
	known  bool // the ledger has it
	closed bool // Redis has it
}

// callOff calls the sale off, sometimes for the second time.
func (m *model) callOff(t *rapid.T) {
	if rapid.Bool().Draw(t, "goes on") {
		t.Skip("it goes on")
	}
	if rapid.IntRange(0, 1).Draw(t, "fault") == 0 {
		m.injectOne(t, "call off", "apply", "complete operations", "unwind")
	}
	m.w.off.asked = true
	err := m.w.callOff(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"))
	if _, again := errors.AsType[*idempotency.RepeatedError](err); err != nil && !again {
		m.w.expected(t, err)
		return
	}
	if !m.w.view(t).sale.calledOff {
		t.Fatal("calling off was answered, and the ledger does not have it")
	}
}

// unwind takes a turn of the unwinder, which dies now and then.
func (m *model) unwind(t *rapid.T) {
	if !m.w.off.known {
		t.Skip("the sale was not called off")
	}
	if rapid.IntRange(0, 1).Draw(t, "fault") == 0 {
		m.injectOne(t, "unwind", "send back", "refunded")
	}
	m.w.unwind(t, rapid.IntRange(1, 3).Draw(t, "orders"))
}

// noticeCallOff must hold at every moment: a call-off was asked for, nothing undoes it in either store, and the sale is
// to be unwound as long as it is so.
func (m *model) noticeCallOff(t *rapid.T, v view) {
	off := &m.w.off
	switch {
	case v.sale.calledOff && !off.asked:
		t.Fatal("the sale is called off, and nobody asked for it")
	case off.known && !v.sale.calledOff:
		t.Fatal("the sale was called off, and is not any more")
	case off.closed && v.mode != modeOver && v.mode != "rebuild":
		t.Fatalf("the sale was called off, and Redis has it %s", m.w.inRedis())
	}
	off.known = v.sale.calledOff
	off.closed = off.closed || v.mode == modeOver
}

// callOffAddsUp checks, once all is quiescent, that a sale that was called off is unwound: its stock is withdrawn, with
// all units that no live order has, and live are only those orders that are left to staff; and that the report, the
// audit trail, the operations and the webhooks tell one call-off.
func (m *model) callOffAddsUp(t *rapid.T, v view) {
	w := m.w
	u, err := w.stores.sql.Unwinding(w.ctx, w.voucher)
	w.must(t, err)
	once := int64(0)
	if v.sale.calledOff {
		once = 1
	}
	told, number := w.callOffTold(t)
	ops := w.count("SELECT COUNT(*) FROM tb_voucher_operation WHERE voucher_id = ? AND kind = ?", w.voucher,
		operation.CallingOff)
	entries := w.count("SELECT COUNT(*) FROM tb_audit WHERE voucher_id = ? AND action = ?", w.voucher,
		voucher.CalledOff)
	if told != once || ops != once || entries != once || u.CalledOff.IsZero() == v.sale.calledOff {
		t.Fatalf("called off: %t; webhooks are told %d times, %d operations, %d audit entries, reported %s",
			v.sale.calledOff, told, ops, entries, u.CalledOff)
	}
	if !v.sale.calledOff {
		return
	}
	if op := w.count("SELECT number FROM tb_voucher_operation WHERE voucher_id = ? AND kind = ?", w.voucher,
		operation.CallingOff); op > number {
		t.Fatalf("webhooks are told of the call-off by number %d, below that of its operation, %d", number, op)
	}
	if u.Pending() || u.Withdrawn != v.sale.stock || u.Kept+v.sale.kept != 0 || u.Issued != v.sale.issued ||
		u.Withdrawn+v.live() != u.Issued || v.mode != modeOver {
		t.Fatalf("called off and quiescent: the report says %+v, the ledger %+v with %d live, Redis %s", u, v.sale,
			v.live(), w.inRedis())
	}
	m.fatesAddUp(t, v, u)
	for _, p := range v.places {
		if p.state.Open() {
			t.Fatalf("the sale is called off, and the place %+v is open", p)
		}
	}
}

// fatesAddUp checks that the report has each order once, and that staff are shown each order that is live, or whose
// refund is stuck.
func (m *model) fatesAddUp(t *rapid.T, v view, u order.Unwinding) {
	want, live := map[order.Fate]int64{}, []int64{}
	forStaff := []order.Fate{order.FateFree, order.FateStuck, order.FateRedeemed, order.FateLapsed}
	for _, o := range v.orders {
		fate := order.Fate(o.status.String())
		if o.status == order.Paid && m.w.price == 0 {
			fate = order.FateFree
		}
		if o.status == order.Refunding && v.hasStuck(o.id) {
			fate = order.FateStuck
		}
		if o.status.Live() && !slices.Contains(forStaff, fate) {
			t.Fatalf("the sale is unwound, and order %d is %s", o.id, o.status)
		}
		if o.status.Live() || v.hasStuck(o.id) {
			live = append(live, o.id)
		}
		want[fate] += o.units
	}
	for _, tallies := range []map[order.Fate]order.Tally{u.Orders, u.Before} {
		for fate, tally := range tallies {
			want[fate] -= tally.Units
		}
	}
	for fate, n := range want {
		if n != 0 {
			t.Fatalf("the report lacks %d units that are %s: %+v", n, fate, u)
		}
	}
	left, err := m.w.stores.sql.LeftToStaff(m.w.ctx, m.w.voucher, math.MaxInt64, 1000)
	m.w.must(t, err)
	shown := make([]int64, len(left))
	for i, l := range left {
		shown[i] = l.Order.ID
	}
	slices.Sort(live)
	slices.Sort(shown)
	if !slices.Equal(live, shown) {
		t.Fatalf("left to staff are %v, live or stuck are %v", shown, live)
	}
}

// closedTo fails the test if somebody got a unit, or a place, of a sale whose call-off Redis had applied before.
func (m *model) closedTo(t *rapid.T, what string, closed bool, err error) {
	if closed && err == nil {
		t.Fatalf("the sale is closed, and %s succeeded; it is %s", what, m.w.inRedis())
	}
}

// invitedAt reports whether the user has an invitation, as far as a sale that was called off is concerned.
func (m *model) invitedAt(t *rapid.T, user int64) bool {
	return m.w.off.known && slices.ContainsFunc(m.w.places(t), func(p placeRow) bool {
		return p.user == user && p.state == waitlist.Invited
	})
}

// logCallOffs says how much of all histories was called off, and done by staff.
func (e *env) logCallOffs(t *testing.T) {
	t.Helper()
	rows, err := e.db.QueryContext(t.Context(), "SELECT action, COUNT(*) FROM tb_audit GROUP BY action UNION "+
		"SELECT CONCAT('unwound to ', status), COUNT(*) FROM tb_order_event WHERE actor = 'unwinder' GROUP BY status")
	must(t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var what string
		var n int64
		must(t, rows.Scan(&what, &n))
		t.Logf("%d %s", n, what)
	}
	must(t, rows.Err())
}

func (w *world) callOff(key string) error {
	ctx, cancel := w.withTimeout()
	defer cancel()
	by := admin
	by.Key = w.key("POST /call-off", key)
	_, _, err := w.alive().vouchers.CallOff(ctx, by, w.voucher, "the price was wrong")
	return err
}

// key returns an idempotency key of this world alone.
func (w *world) key(route, name string) idempotency.Key {
	return idempotency.Key{
		Caller: admin.AdminID, Name: fmt.Sprintf("%s of %d", name, w.voucher), Route: route,
		Body: idempotency.Digest([]byte(name)),
	}
}

// unwind does what a turn of the unwinder does with this sale, and reports whether there may be more to do.
func (w *world) unwind(t *rapid.T, n int) (more bool) {
	sales, err := w.stores.sql.SalesToUnwind(w.ctx)
	w.must(t, err)
	if !slices.Contains(sales, w.voucher) {
		return false
	}
	ctx, cancel := w.withTimeout()
	defer cancel()
	w.token++
	p := w.alive()
	orders, last, err := p.ledger.Unwind(ctx, w.token, w.voucher, 0, n)
	if len(orders) > 0 {
		p.outbox.RequestFlush(w.voucher)
	}
	return err != nil || last > 0
}

// unwindAll takes turns of the unwinder until it finds nothing.
func (w *world) unwindAll(t *rapid.T) {
	for more, tries := true, 0; more && tries < 100 && !w.process.faults.isDead(); tries++ {
		more = w.unwind(t, 10)
	}
}

// toUnwind counts the orders of a sale that was called off that are not unwound.
func (w *world) toUnwind() int64 {
	return w.count("SELECT COUNT(*) FROM tb_voucher_order o JOIN tb_seckill_voucher s ON s.voucher_id = o.voucher_id "+
		"WHERE o.voucher_id = ? AND s.called_off IS NOT NULL AND (o.status = 1 OR o.status = 2 AND o.amount > 0)",
		w.voucher)
}

// callOffTold returns how many events tell that the sale was called off, and their number.
func (w *world) callOffTold(t *rapid.T) (events, number int64) {
	w.each(t, func(rows *sql.Rows) error { return rows.Scan(&events, &number) },
		"SELECT COUNT(*), COALESCE(MAX(subject_number), 0) FROM tb_webhook_event WHERE type = 'sale.called_off' AND "+
			"subject = CONCAT('sale-', ?)")
	return events, number
}

// CallOff implements voucher.Changes.
func (l ledger) CallOff(ctx context.Context, id int64, by voucher.Author, why string) (v voucher.Voucher, err error) {
	err = l.faults.call("call off", func() error {
		v, err = l.Whole.CallOff(ctx, id, by, why)
		return err
	})
	return v, err
}

func (l ledger) Unwind(
	ctx context.Context, token, voucherID, above int64, n int,
) (unwound []order.Order, last int64, err error) {
	err = l.faults.call("unwind", func() error {
		unwound, last, err = l.Whole.Unwind(ctx, token, voucherID, above, n)
		return err
	})
	return unwound, last, err
}

// sendingBack is the provider as one process reaches it.
type sendingBack struct {
	*provider
	faults *faults
}

// Refund implements service.Provider.
func (p sendingBack) Refund(
	ctx context.Context, paid payment.Payment, r payment.Refund,
) (o payment.Outcome, err error) {
	err = p.faults.call("send back", func() error {
		o, err = p.provider.Refund(ctx, paid, r)
		return err
	})
	return o, err
}
