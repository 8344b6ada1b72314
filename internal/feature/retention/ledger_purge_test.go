package retention

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/figures"
	"seckill/internal/order/payment"
	"seckill/internal/order/reason"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
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
	r.Exec(t, "INSERT INTO tb_refund (id, payment_id, amount, state, origin, actor, create_time) "+
		"SELECT p.id, p.id, 1000, 3, 1, 'admin 7', p.create_time FROM tb_payment p WHERE p.order_id = ?",
		orders[4].OrderID)
	r.Exec(t, "INSERT INTO tb_coupon (order_id, code, voucher_id, shop_id, create_time) "+
		"VALUES (?, 'ABCDEFGHJKMNPQRS', ?, 1, ?)", orders[2].OrderID, id, ledgertest.Stored(ledgertest.RecordedAt))
	r.Exec(t, "INSERT INTO tb_webhook_event (id, number, shop_id, subject, subject_number, type, body, create_time) "+
		"VALUES (1, 1, 1, ?, 1, 'order.paid', '{}', ?)", string(order.SubjectOfOrder(orders[2].OrderID)),
		ledgertest.Stored(ledgertest.RecordedAt))
	r.Exec(t, "INSERT INTO tb_webhook_dead_letter (endpoint_id, number, attempts, failure, create_time) "+
		"VALUES (5, 1, 3, '{}', ?)", ledgertest.Stored(ledgertest.RecordedAt))
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
	payments, err := r.PaymentsAfter(t.Context(), payment.Filter{VoucherID: voucherID}, payment.Payment{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range payments {
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
		"tb_order_event": "1 = 1", "tb_refund": "1 = 1", "tb_payment_cancel": "1 = 1", "tb_webhook_event": "1 = 1",
		"tb_webhook_dead_letter": "1 = 1", "tb_webhook_retry": "1 = 1",
	} {
		if n := of(table, where); n > 0 {
			left[table] = n
		}
	}
	return left
}

// A sale that is over and owes nothing goes with all that is its own; its figures stay, and nothing else changes.
func TestPurge(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		r := newRig(l)
		id := r.sold(t)
		want := r.sums(t, id)
		if len(r.left(t, id)) < 9 || want.Money.Received == 0 || want.Money.Lost != 700 {
			t.Fatalf("the sale is poor: %v, %+v", r.left(t, id), want)
		}
		sale := r.Sale(t, id)
		done, err := r.purger.Purge(t.Context(), r.candidate(t, id), 0, by(), always)
		if err != nil || !done.Done || done.Orders != 12 || len(done.Owed) > 0 {
			t.Fatalf("%+v, %v", done, err)
		}
		if left := r.left(t, id); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if diff := cmp.Diff(want, r.sums(t, id)); diff != "" {
			t.Errorf("the sums have changed (-before +after):\n%s", diff)
		}
		now := r.Sale(t, id)
		if !now.Purged() || sale.Purged() || now.Stock != sale.Stock || now.Issued != sale.Issued {
			t.Errorf("the sale is %+v, was %+v", now, sale)
		}
		day := r.Number(t, "SELECT received * 1000000 + refunded * 1000 + lost FROM tb_purge_day "+
			"WHERE voucher_id = ?", id)
		if day != want.Money.Received*1000000+want.Money.Refunded()*1000+want.Money.Lost {
			t.Errorf("the day has %d of %+v", day, want.Money)
		}
		entries, err := r.Entries(t.Context(), voucher.AuditFilter{VoucherID: id}, 1<<40, 1)
		if err != nil || len(entries) != 1 || entries[0].Action != voucher.Purged || entries[0].ShopID != 1 {
			t.Errorf("the audit trail: %+v, %v", entries, err)
		}
		again, err := r.retention.Candidates(t.Context(), before(), 0, 100)
		if err != nil || len(again) > 0 {
			t.Errorf("candidates afterwards: %+v, %v", again, err)
		}
		r.refusesLate(t, id)
	})
}

// refusesLate: whatever is left elsewhere of a purged sale is of an unknown voucher, and nothing opens it.
func (r *rig) refusesLate(t *testing.T, id int64) {
	t.Helper()
	sale := r.Sale(t, id)
	late := ledgertest.Claims(id, 500, 3)
	late[1].Epoch, late[2].Epoch = 0, sale.Epoch // of unknown origin; of the epoch that nobody has sold in
	for _, c := range late[:2] {
		if err := r.Insert(t.Context(), []order.Claim{c}); !errors.Is(err, order.ErrConflict) {
			t.Errorf("a late claim of epoch %d: %v", c.Epoch, err)
		}
	}
	for _, c := range late {
		admitted := order.LedgerSale{Epoch: sale.Epoch, FirstEpoch: sale.FirstEpoch}.Admitted(c)
		if admitted {
			t.Errorf("a claim of epoch %d counts as admitted", c.Epoch)
		}
	}
	if err := r.Settle(t.Context(), late, ledgertest.DecideAll(late, order.Fail, reason.UnknownVoucher)); err != nil {
		t.Error(err)
	}
	if _, err := r.RaiseEpoch(t.Context(), id, 0, order.SaleView{}); !errors.Is(err, voucher.ErrNotSeckill) {
		t.Errorf("raising the epoch: %v", err)
	}
	want := r.sums(t, id) // the failed claims are rows, and the next purge takes them, too
	done, err := r.purger.Purge(t.Context(), r.candidate(t, id), 0, by(), always)
	if diff := cmp.Diff(want, r.sums(t, id)); err != nil || done.Orders != 3 || !done.Done || diff != "" {
		t.Errorf("purging again: %+v, %v\n%s", done, err, diff)
	}
}

// What is owed keeps a sale whole, and is named.
func TestPurgeRefuses(t *testing.T) {
	type owes struct {
		why Reason
		set func(t *testing.T, r *rig, id, orderID int64)
	}
	update := func(statement string) func(t *testing.T, r *rig, id, orderID int64) {
		return func(t *testing.T, r *rig, _, orderID int64) {
			t.Helper()
			r.Exec(t, statement, orderID)
		}
	}
	refund := func(state int) func(t *testing.T, r *rig, id, orderID int64) {
		return update(fmt.Sprintf("INSERT INTO tb_refund (id, payment_id, amount, state, origin, actor, create_time) "+
			"SELECT 'x', id, 1, %d, 2, 'a', create_time FROM tb_payment WHERE order_id = ?", state))
	}
	event := func(t *testing.T, r *rig, shop int64, subject order.Subject) {
		t.Helper()
		r.Exec(t, "INSERT INTO tb_webhook_endpoint (id, shop_id, url, secret, next_number, create_time) "+
			"VALUES (9, ?, 'x', 'x', 70, ?)", shop, ledgertest.Stored(ledgertest.RecordedAt))
		r.Exec(t, "INSERT INTO tb_webhook_event (id, number, shop_id, subject, subject_number, type, body, "+
			"create_time) VALUES (70, 70, 1, ?, 2, 'order.paid', '{}', ?)", string(subject),
			ledgertest.Stored(ledgertest.RecordedAt))
	}
	cases := map[string]owes{
		"unpaid":     {Undecided, update("UPDATE tb_voucher_order SET status = 1 WHERE id = ?")},
		"refunding":  {Undecided, update("UPDATE tb_voucher_order SET status = 5 WHERE id = ?")},
		"late":       {Payment, update("UPDATE tb_payment SET state = 3 WHERE order_id = ?")},
		"stuck":      {Payment, update("UPDATE tb_payment SET state = 6, stuck_time = create_time WHERE order_id = ?")},
		"processing": {Payment, update("UPDATE tb_payment SET state = 1, progress = 1 WHERE order_id = ?")},
		"cancelling": {Payment, update("INSERT INTO tb_payment_cancel (payment_id, create_time) " +
			"SELECT id, create_time FROM tb_payment WHERE order_id = ?")},
		"dispute": {Dispute, update("UPDATE tb_payment SET dispute = 1, disputed = 5 WHERE order_id = ?")},
		"asked":   {Refund, refund(1)},
		"pending": {Refund, refund(2)},
		"failed":  {Refund, refund(4)},
		"coupon": {Coupon, func(t *testing.T, r *rig, id, orderID int64) {
			t.Helper()
			r.Exec(t, "UPDATE tb_voucher SET redeemable = 1 WHERE id = ?", id)
			r.Force(t, order.Redeemed, r.paid(t, id, orderID)...)
		}},
		"reservation": {Reserved, func(t *testing.T, r *rig, id, orderID int64) {
			t.Helper()
			r.Exec(t, "UPDATE tb_voucher SET redeemable = 1 WHERE id = ?", id)
			r.Force(t, order.Redeemed, r.paid(t, id, orderID)...)
			r.Exec(t, "INSERT INTO tb_coupon (order_id, code, voucher_id, shop_id, reserved_until, create_time) "+
				"VALUES (?, 'BBCDEFGHJKMNPQRS', ?, 1, ?, ?)", orderID, id,
				ledgertest.Stored(ledgertest.RecordedAt.Add(time.Hour)), ledgertest.Stored(ledgertest.RecordedAt))
		}},
		"event": {Event, func(t *testing.T, r *rig, _, orderID int64) {
			t.Helper()
			event(t, r, 0, order.SubjectOfOrder(orderID))
		}},
		"event of a place": {Event, func(t *testing.T, r *rig, id, _ int64) {
			t.Helper()
			event(t, r, 1, order.SubjectOfPlace(order.PlaceID{VoucherID: id, Position: 1}))
		}},
		"place": {Place, func(t *testing.T, r *rig, id, _ int64) {
			t.Helper()
			r.place(t, id, 2, 1)
		}},
		"not retired": {NotRetired, func(t *testing.T, r *rig, id, _ int64) {
			t.Helper()
			r.Exec(t, "UPDATE tb_seckill_voucher SET retired = 0 WHERE voucher_id = ?", id)
		}},
	}
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		r := newRig(l)
		for name, c := range cases {
			r.Exec(t, "DELETE FROM tb_webhook_event")
			r.Exec(t, "DELETE FROM tb_webhook_endpoint")
			r.Exec(t, "DELETE FROM tb_webhook_dead_letter")
			r.Exec(t, "DELETE FROM tb_coupon")
			r.Exec(t, "DELETE FROM tb_refund")
			id := r.sold(t)
			orderID := r.Number(t, "SELECT MAX(order_id) FROM tb_payment WHERE voucher_id = ?", id) // it is paid
			c.set(t, r, id, orderID)
			rows := r.left(t, id)
			done, err := r.purger.Purge(t.Context(), r.candidate(t, id), 0, by(), always)
			if err != nil || !done.Refused || done.Owed[c.why] != 1 || len(done.Owed) != 1 || done.Owed.String() == "" {
				t.Errorf("%s: %+v, %v; want %s", name, done, err, c.why)
			}
			if diff := cmp.Diff(rows, r.left(t, id)); diff != "" || r.Sale(t, id).Purged() {
				t.Errorf("%s: refused, and changed (-before +after):\n%s", name, diff)
			}
			if c.why == NotRetired {
				continue
			}
			r.Clock.Add(int64(2 * time.Minute)) // the ledger remembers a voucher's terms for a minute
			// It comes to owe that after the purge has begun: all else goes.
			began := r.candidate(t, id)
			if err := r.retention.Begin(t.Context(), began, "", by()); err != nil {
				t.Fatal(err)
			}
			done, err = r.purger.Purge(t.Context(), r.candidate(t, id), 0, by(), always)
			stays := r.Number(t, "SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ?", id)
			if err != nil || done.Refused || done.Done || done.Owed[c.why] != 1 || stays > 1 {
				t.Errorf("%s, begun: %+v, %v, %d orders stay", name, done, err, stays)
			}
		}
	})
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

// An interrupted purge goes on, and every transaction leaves the sums as they were. Two at once share the work.
func TestPurgeGoesOn(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		r := newRig(l)
		id := r.sold(t)
		want, c := r.sums(t, id), r.candidate(t, id)
		if err := r.retention.Begin(t.Context(), c, "", by()); err != nil {
			t.Fatal(err)
		}
		for at, done := (Cursor{}), false; !done; { // each call is a process that dies after it
			batch, err := r.retention.Delete(t.Context(), c, 0, at, 5)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, r.sums(t, id)); diff != "" {
				t.Fatalf("at %+v (-want +got):\n%s", at, diff)
			}
			if batch.Orders > 0 && at.Part == ordersPart && at.After > 0 {
				break
			}
			at, done = batch.Next, batch.Done
		}
		first, second := ledgertest.Both(
			func() error { _, err := r.purger.Purge(t.Context(), r.candidate(t, id), 0, by(), always); return err },
			func() error { _, err := r.purger.Purge(t.Context(), r.candidate(t, id), 0, by(), always); return err })
		if first != nil || second != nil {
			t.Fatal(first, second)
		}
		if diff := cmp.Diff(want, r.sums(t, id)); diff != "" || len(r.left(t, id)) > 0 {
			t.Errorf("left %v; the sums (-want +got):\n%s", r.left(t, id), diff)
		}
		n := r.Number(t, "SELECT COUNT(*) FROM tb_audit WHERE action = 'purge'")
		ended := r.Number(t, "SELECT COUNT(*) FROM tb_purge WHERE end_time IS NOT NULL AND orders = 12")
		if n != 1 || ended != 1 {
			t.Errorf("%d entries, %d ended", n, ended)
		}
	})
}

// Orders of an ordinary voucher go by their own age; those of one with a limit only once it is archived.
func TestPurgeOrdinary(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		r := newRig(l)
		free, limited := r.Ordinary(t), r.Limited(t, 2)
		for _, id := range []int64{free, limited} {
			for user := range int64(3) {
				c := r.Bought(t, id, user+1)
				r.Receives(t, r.Pays(t, c))
				if user == 2 {
					r.Exec(t, "UPDATE tb_voucher_order SET create_time = ? WHERE id = ?",
						ledgertest.Stored(before().Add(time.Second)), c.OrderID)
				}
			}
		}
		want := r.sums(t, free)
		done, err := r.purger.Purge(t.Context(), r.candidate(t, free), 0, by(), always)
		n := r.Number(t, "SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ?", free)
		if diff := cmp.Diff(want, r.sums(t, free)); err != nil || done.Orders != 2 || n != 1 || diff != "" {
			t.Errorf("%+v, %v, %d are left\n%s", done, err, n, diff)
		}
		done, err = r.purger.Purge(t.Context(), r.candidate(t, limited), 0, by(), always)
		if err != nil || !done.Refused || done.Owed[Limit] != 1 {
			t.Errorf("with a limit: %+v, %v", done, err)
		}
		r.Exec(t, "UPDATE tb_voucher SET archived = ? WHERE id = ?", ledgertest.Stored(ledgertest.RecordedAt), limited)
		done, err = r.purger.Purge(t.Context(), r.candidate(t, limited), 0, by(), always)
		if err != nil || done.Orders != 2 || !done.Done {
			t.Errorf("archived: %+v, %v", done, err)
		}
	})
}

// Each rule is carried out by something: a part of the purge, or the children of orders and places.
func TestEveryRuleOfAPurgeIsCarriedOut(t *testing.T) {
	t.Parallel()
	parts := map[string]bool{"tb_voucher_operation": true, "tb_place": true}
	for _, table := range migrations.Tables() {
		if table.Purge.By == migrations.ByUser || table.Purge.By == migrations.BySale && !parts[table.Name] {
			t.Errorf("nothing deletes the rows of %s", table.Name)
		}
	}
}
