package retention

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/figures"
	"seckill/internal/order/payment"
	"seckill/internal/testkit/ledgertest"
	"seckill/migrations"
)

// rig is a ledger with a purger.
type rig struct {
	ledgertest.Ledger

	retention *Ledger
	purger    *Purger
}

func newRig(l ledgertest.Ledger) *rig {
	r := &rig{Ledger: l, retention: NewLedger(l.DB(), l.Features)}
	r.purger = &Purger{
		Ledger:   r.retention,
		Answers:  r.retention.answers,
		Waitlist: func(context.Context, int64) (string, error) { return `{"joined":3}`, nil },
	}
	return r
}

func before() time.Time { return ledgertest.RecordedAt.Add(time.Hour) }

func by() Trail { return Trail{By: "ann", Why: "two years are over"} }

func always() bool { return true }

// candidate returns what is to be purged of a voucher.
func (r *rig) candidate(t *testing.T, voucherID int64) Candidate {
	t.Helper()
	all, err := r.retention.Candidates(t.Context(), before(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.VoucherID == voucherID {
			return c
		}
	}
	t.Fatalf("voucher %d is not among %+v", voucherID, all)
	return Candidate{}
}

// sold makes a retired sale with orders in all states that owe nothing: redeemed, lapsed, cancelled, refunded, failed.
func (r *rig) sold(t *testing.T) int64 {
	t.Helper()
	id := r.Seckill(t, 100)
	orders := r.NewOrders(t, id, 12)
	for _, c := range orders[:6] {
		r.Receives(t, r.Pays(t, c))
	}
	for _, c := range orders[6:8] {
		r.Transitioned(t, c, order.Cancel)
	}
	r.ApplyAll(t, id)
	r.Exec(t, "UPDATE tb_payment SET return_time = receive_time, returned = 300 WHERE order_id = ?", orders[0].OrderID)
	r.Exec(t, "UPDATE tb_payment SET return_time = receive_time, dispute = 3, disputed = 700, "+
		"dispute_time = receive_time, lost_time = receive_time WHERE order_id = ?", orders[1].OrderID)
	r.Force(t, order.Redeemed, orders[2].OrderID)
	r.Force(t, order.Lapsed, orders[3].OrderID)
	r.Force(t, order.Refunded, orders[4].OrderID)
	r.Force(t, order.Failed, orders[8].OrderID, orders[9].OrderID, orders[10].OrderID, orders[11].OrderID)
	r.Exec(t, "UPDATE tb_seckill_voucher SET stock = stock + 5 WHERE voucher_id = ?", id) // of the last two steps
	r.Exec(t, "INSERT INTO tb_refund (id, payment_id, amount, state, origin, actor, create_time) "+
		"SELECT 'all', p.id, 1000, 3, 1, 'admin 7', p.create_time FROM tb_payment p WHERE p.order_id = ?",
		orders[4].OrderID)
	r.Exec(t, "INSERT INTO tb_coupon (order_id, code, voucher_id, shop_id, create_time) "+
		"VALUES (?, 'ABCDEFGHJKMNPQRS', ?, 1, ?)", orders[2].OrderID, id, ledgertest.Stored(ledgertest.RecordedAt))
	r.Exec(t, "INSERT INTO tb_webhook_event (id, number, shop_id, subject, subject_number, type, body, create_time) "+
		"VALUES (1, 1, 1, ?, 1, 'order.paid', '{}', ?)", string(order.SubjectOfOrder(orders[2].OrderID)),
		ledgertest.Stored(ledgertest.RecordedAt))
	r.Exec(t, "INSERT INTO tb_webhook_dead_letter (endpoint_id, number, attempts, failure, create_time) "+
		"VALUES (5, 1, 3, '{}', ?)", ledgertest.Stored(ledgertest.RecordedAt))
	r.Exec(t, "INSERT INTO tb_webhook_retry (endpoint_id, subject, number, attempts, failure, due_time) "+
		"VALUES (5, ?, 1, 3, '{}', ?)", string(order.SubjectOfOrder(orders[2].OrderID)),
		ledgertest.Stored(ledgertest.RecordedAt)) // of an endpoint that is gone
	for user := range 3 {
		r.Exec(t, "INSERT INTO tb_refusal (voucher_id, user_id, run, refused_ms, within_ms, code, create_time) "+
			"VALUES (?, ?, 1, 1, 1, 'SOLD_OUT', ?)", id, 500+user, ledgertest.Stored(ledgertest.RecordedAt))
		r.Exec(t, "INSERT INTO tb_draw_entry (voucher_id, number, user_id, entry, hash) VALUES (?, 1, ?, ?, ?)", id,
			500+user, user, fmt.Sprint("hash ", user))
	}
	r.place(t, id, 1, 7) // missed
	r.RetireSale(t, id)
	return id
}

// place puts user 900 on the sale's waiting list.
func (r *rig) place(t *testing.T, voucherID, position, state int64) {
	t.Helper()
	r.Exec(t, "INSERT INTO tb_place (voucher_id, position, user_id, state, create_time) VALUES (?, ?, ?, ?, ?)",
		voucherID, position, 900+position, state, ledgertest.Stored(ledgertest.RecordedAt))
}

// sums adds up what is there of a voucher and what was purged, as a report does.
func (r *rig) sums(t *testing.T, voucherID int64) figures.Orders {
	t.Helper()
	var sums figures.Orders
	orders, err := r.OrdersAfter(t.Context(), voucherID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range orders {
		sums = sums.WithOrder(o)
	}
	for _, p := range r.payments(t, voucherID) {
		sums = sums.WithPayment(p)
	}
	var row purgeRow
	if err := r.DB().Read(t.Context()).Where("voucher_id = ?", voucherID).Find(&row).Error; err != nil {
		t.Fatal(err)
	}
	if row.VoucherID == 0 {
		return sums
	}
	var gone figures.Orders
	if err := json.Unmarshal([]byte(row.Figures), &gone); err != nil {
		t.Fatal(err)
	}
	return sums.Plus(gone)
}

func (r *rig) payments(t *testing.T, voucherID int64) []payment.Payment {
	t.Helper()
	all, err := r.PaymentsAfter(t.Context(), payment.Filter{VoucherID: voucherID}, payment.Payment{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// rows returns how many rows each table has.
func (r *rig) rows(t *testing.T) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for _, table := range migrations.Tables() {
		all[table.Name] = r.Number(t, "SELECT COUNT(*) FROM "+table.Name)
	}
	return all
}

// left returns how many rows name the voucher, one of its orders or something of these, by table.
func (r *rig) left(t *testing.T, voucherID int64) map[string]int64 {
	t.Helper()
	of := func(table, where string) int64 {
		where = strings.ReplaceAll(where, "?", fmt.Sprint(voucherID))
		return r.Number(t, "SELECT COUNT(*) FROM "+table+" WHERE "+where)
	}
	left := map[string]int64{}
	for table, where := range map[string]string{
		"tb_voucher_order": "voucher_id = ?", "tb_payment": "voucher_id = ?", "tb_coupon": "voucher_id = ?",
		"tb_place": "voucher_id = ?", "tb_voucher_operation": "voucher_id = ? AND order_id IS NOT NULL",
		"tb_refusal": "voucher_id = ?", "tb_draw_entry": "voucher_id = ?", "tb_order_event": "1 = 1",
		"tb_refund": "1 = 1", "tb_payment_cancel": "1 = 1", "tb_webhook_event": "1 = 1",
		"tb_webhook_dead_letter": "1 = 1", "tb_webhook_retry": "1 = 1",
	} {
		if n := of(table, where); n > 0 {
			left[table] = n
		}
	}
	return left
}

// paid returns the paid orders of a voucher but one.
func (r *rig) paid(t *testing.T, voucherID, but int64) (ids []int64) {
	t.Helper()
	orders, err := r.OrdersAfter(t.Context(), voucherID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range orders {
		if o.Status == order.Paid && o.ID != but {
			ids = append(ids, o.ID)
		}
	}
	return ids
}
