package retention

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
	"seckill/migrations"
)

// A sale that is over and owes nothing goes with all that is its own; its figures stay, and nothing else changes.
func TestPurge(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		r := newRig(l)
		id := r.sold(t)
		want := r.sums(t, id)
		if len(r.left(t, id)) < 10 || want.Money.Received == 0 || want.Money.Lost != 700 {
			t.Fatalf("the sale is poor: %v, %+v", r.left(t, id), want)
		}
		sale := r.Sale(t, id)
		r.Exec(t, "INSERT INTO tb_event_stream (id, cursor_key, gone, create_time) VALUES (1, 'key', 0, ?)", before())
		last := r.Number(t, "SELECT MAX(number) FROM tb_webhook_event")
		done, err := r.purger.Purge(t.Context(), r.candidate(t, id), 0, by(), Purged{}, always)
		if err != nil || !done.Done || done.Orders != 12 || len(done.Owed) > 0 {
			t.Fatalf("%+v, %v", done, err)
		}
		if left := r.left(t, id); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if gone := r.Number(t, "SELECT gone FROM tb_event_stream"); gone != last || gone == 0 {
			t.Errorf("events up to %d are said to be gone, want %d", gone, last)
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

// owes is a debt of a sale, of one of its orders or of a place on its waiting list.
type owes struct {
	why Reason
	set func(t *testing.T, r *rig, id, orderID int64)

	ofPlace bool
}

// stays returns how many orders stay for it.
func (o owes) stays() int64 {
	if o.why == Place || o.ofPlace {
		return 0
	}
	return 1
}

// What is owed keeps a sale whole, and is named.
func TestPurgeRefuses(t *testing.T) {
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
	cases := map[string]owes{
		"unpaid":    {why: Undecided, set: update("UPDATE tb_voucher_order SET status = 1 WHERE id = ?")},
		"refunding": {why: Undecided, set: update("UPDATE tb_voucher_order SET status = 5 WHERE id = ?")},
		"late":      {why: Payment, set: update("UPDATE tb_payment SET state = 3 WHERE order_id = ?")},
		"stuck": {why: Payment, set: update("UPDATE tb_payment SET state = 6, " +
			"stuck_time = create_time WHERE order_id = ?")},
		"processing": {why: Payment, set: update("UPDATE tb_payment SET state = 1, progress = 1 WHERE order_id = ?")},
		"cancelling": {why: Payment, set: update("INSERT INTO tb_payment_cancel (payment_id, create_time) " +
			"SELECT id, create_time FROM tb_payment WHERE order_id = ?")},
		"dispute": {why: Dispute, set: update("UPDATE tb_payment SET dispute = 1, disputed = 5 WHERE order_id = ?")},
		"asked":   {why: Refund, set: refund(1)},
		"pending": {why: Refund, set: refund(2)},
		"failed":  {why: Refund, set: refund(4)},
		"coupon": {why: Coupon, set: func(t *testing.T, r *rig, id, orderID int64) {
			t.Helper()
			r.Exec(t, "UPDATE tb_voucher SET redeemable = 1 WHERE id = ?", id)
			r.Force(t, order.Redeemed, r.paid(t, id, orderID)...)
		}},
		"reservation": {why: Reserved, set: func(t *testing.T, r *rig, id, orderID int64) {
			t.Helper()
			r.Exec(t, "UPDATE tb_voucher SET redeemable = 1 WHERE id = ?", id)
			r.Force(t, order.Redeemed, r.paid(t, id, orderID)...)
			r.Exec(t, "INSERT INTO tb_coupon (order_id, code, voucher_id, shop_id, reserved_until, create_time) "+
				"VALUES (?, 'BBCDEFGHJKMNPQRS', ?, 1, ?, ?)", orderID, id,
				ledgertest.Stored(ledgertest.RecordedAt.Add(time.Hour)), ledgertest.Stored(ledgertest.RecordedAt))
		}},
		"event": {why: Event, set: func(t *testing.T, r *rig, _, orderID int64) {
			t.Helper()
			event(t, r, 0, order.SubjectOfOrder(orderID))
		}},
		"event that is tried again": {why: Event, set: func(t *testing.T, r *rig, _, orderID int64) {
			t.Helper()
			event(t, r, 0, order.SubjectOfOrder(orderID))
			r.Exec(t, "UPDATE tb_webhook_endpoint SET next_number = 71")
			r.Exec(t, "INSERT INTO tb_webhook_retry (endpoint_id, subject, number, attempts, failure, due_time) "+
				"VALUES (9, ?, 70, 1, '{}', ?)", string(order.SubjectOfOrder(orderID)),
				ledgertest.Stored(ledgertest.RecordedAt))
		}},
		"event that is replayed": {why: Event, set: func(t *testing.T, r *rig, _, orderID int64) {
			t.Helper()
			event(t, r, 1, order.SubjectOfOrder(orderID))
			r.Exec(t, "UPDATE tb_webhook_endpoint SET next_number = 80, replay_next = 70, replay_end = 71")
		}},
		"event without a number": {why: Event, set: func(t *testing.T, r *rig, _, orderID int64) {
			t.Helper()
			event(t, r, 0, order.SubjectOfOrder(orderID))
			r.Exec(t, "UPDATE tb_webhook_event SET number = NULL WHERE id = 70")
		}},
		"event of a place": {why: Event, ofPlace: true, set: func(t *testing.T, r *rig, id, _ int64) {
			t.Helper()
			event(t, r, 1, order.SubjectOfPlace(order.PlaceID{VoucherID: id, Position: 1}))
		}},
		"place": {why: Place, set: func(t *testing.T, r *rig, id, _ int64) {
			t.Helper()
			r.place(t, id, 2, 1)
		}},
		"not retired": {why: NotRetired, set: func(t *testing.T, r *rig, id, _ int64) {
			t.Helper()
			r.Exec(t, "UPDATE tb_seckill_voucher SET retired = 0 WHERE voucher_id = ?", id)
		}},
	}
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		r := newRig(l)
		for name, c := range cases {
			refuses(t, r, name, c)
		}
		r.retention.fewOrders = 0 // events are found the other way
		for name, c := range cases {
			if c.why == Event {
				refuses(t, r, name+", of many orders", c)
			}
		}
	})
}

// event adds event 70, for which an endpoint of a shop waits.
func event(t *testing.T, r *rig, shop int64, subject order.Subject) {
	t.Helper()
	r.Exec(t, "INSERT INTO tb_webhook_endpoint (id, shop_id, url, secret, next_number, create_time) "+
		"VALUES (9, ?, 'x', 'x', 70, ?)", shop, ledgertest.Stored(ledgertest.RecordedAt))
	r.Exec(t, "INSERT INTO tb_webhook_event (id, number, shop_id, subject, subject_number, type, body, create_time) "+
		"VALUES (70, 70, 1, ?, 2, 'order.paid', '{}', ?)", string(subject), ledgertest.Stored(ledgertest.RecordedAt))
}

// refuses: the purge of a sale that owes something is refused; once it has begun, all goes but what owes.
func refuses(t *testing.T, r *rig, name string, c owes) {
	t.Helper()
	r.Exec(t, "DELETE FROM tb_webhook_event")
	r.Exec(t, "DELETE FROM tb_webhook_endpoint")
	r.Exec(t, "DELETE FROM tb_webhook_retry")
	r.Exec(t, "DELETE FROM tb_webhook_dead_letter")
	r.Exec(t, "DELETE FROM tb_coupon")
	r.Exec(t, "DELETE FROM tb_refund")
	id := r.sold(t)
	orderID := r.Number(t, "SELECT MAX(order_id) FROM tb_payment WHERE voucher_id = ?", id) // it is paid
	c.set(t, r, id, orderID)
	rows := r.left(t, id)
	done, err := r.purger.Purge(t.Context(), r.candidate(t, id), 0, by(), Purged{}, always)
	if err != nil || !done.Refused || done.Owed[c.why] != 1 || len(done.Owed) != 1 || done.Owed.String() == "" {
		t.Errorf("%s: %+v, %v; want %s", name, done, err, c.why)
	}
	if sale, diff := r.Sale(t, id), cmp.Diff(rows, r.left(t, id)); diff != "" || sale.Purged() {
		t.Errorf("%s: refused, and changed (-before +after):\n%s", name, diff)
	}
	if c.why == NotRetired {
		return
	}
	r.Clock.Add(int64(2 * time.Minute)) // the ledger remembers a voucher's terms for a minute
	// It comes to owe that after the purge has begun: all else goes.
	began, sums := r.candidate(t, id), r.sums(t, id)
	if err := r.retention.Begin(t.Context(), began, "", by()); err != nil {
		t.Fatal(err)
	}
	done, err = r.purger.Purge(t.Context(), r.candidate(t, id), 0, by(), Purged{}, always)
	stays := r.Number(t, "SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ?", id)
	if err != nil || done.Refused || done.Done || done.Owed[c.why] != 1 || stays != c.stays() {
		t.Errorf("%s, begun: %+v, %v, %d orders stay", name, done, err, stays)
	}
	if diff := cmp.Diff(sums, r.sums(t, id)); diff != "" {
		t.Errorf("%s, begun: the sums have changed (-before +after):\n%s", name, diff)
	}
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
		c = r.candidate(t, id)
		again := func() error { _, err := r.purger.Purge(t.Context(), c, 0, by(), Purged{}, always); return err }
		first, second := ledgertest.Both(again, again)
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
		first := r.Number(t, "SELECT MIN(id) FROM tb_voucher_order WHERE voucher_id = ?", free)
		r.Exec(t, "UPDATE tb_payment SET state = 6, stuck_time = create_time WHERE order_id = ?", first)
		done, err := r.purger.Purge(t.Context(), r.candidate(t, free), 0, by(), Purged{}, always)
		if err != nil || done.Refused || done.Orders != 1 || done.Owed[Payment] != 1 || done.Done {
			t.Errorf("one order owes something: %+v, %v", done, err)
		}
		r.Exec(t, "UPDATE tb_payment SET state = 2, stuck_time = NULL WHERE order_id = ?", first)
		if n, err := r.retention.Count(t.Context(), r.candidate(t, free)); n != 1 || err != nil {
			t.Errorf("%d orders are old, %v", n, err)
		}
		want := r.sums(t, free)
		done, err = r.purger.Purge(t.Context(), r.candidate(t, free), 0, by(), Purged{}, always)
		n := r.Number(t, "SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ?", free)
		if diff := cmp.Diff(want, r.sums(t, free)); err != nil || done.Orders != 1 || n != 1 || diff != "" {
			t.Errorf("%+v, %v, %d are left\n%s", done, err, n, diff)
		}
		done, err = r.purger.Purge(t.Context(), r.candidate(t, limited), 0, by(), Purged{}, always)
		if err != nil || !done.Refused || done.Owed[Limit] != 1 {
			t.Errorf("with a limit: %+v, %v", done, err)
		}
		r.Exec(t, "UPDATE tb_voucher SET archived = ? WHERE id = ?", ledgertest.Stored(ledgertest.RecordedAt), limited)
		done, err = r.purger.Purge(t.Context(), r.candidate(t, limited), 0, by(), Purged{}, always)
		if err != nil || done.Orders != 2 || !done.Done {
			t.Errorf("archived: %+v, %v", done, err)
		}
	})
}

// Only what is old of an ordinary voucher counts: young orders make it no candidate and no debt, stay among old ones,
// and end no purge. One that has died before its end is a candidate until it is ended.
func TestPurgeOrdinaryByAge(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		r := newRig(l)
		id := r.Ordinary(t)
		var ids []int64
		for user := range int64(4) {
			c := r.Bought(t, id, user+1)
			r.Receives(t, r.Pays(t, c))
			ids = append(ids, c.OrderID)
		}
		slices.Sort(ids)
		age := func(at time.Time, ids ...int64) {
			for _, id := range ids {
				r.Exec(t, "UPDATE tb_voucher_order SET create_time = ? WHERE id = ?", ledgertest.Stored(at), id)
			}
		}
		young, old := before().Add(time.Second), before().Add(-time.Minute)
		age(young, ids...)
		if all, err := r.retention.Candidates(t.Context(), before(), 0, 100); err != nil || len(all) > 0 {
			t.Errorf("all orders are young: %+v, %v", all, err)
		}
		age(old, ids[0], ids[2], ids[3]) // ids of several instances are not quite in the order of time
		r.Exec(t, "UPDATE tb_payment SET state = 6, stuck_time = create_time WHERE order_id = ?", ids[1])
		event(t, r, 1, order.SubjectOfOrder(ids[1]))
		c := r.candidate(t, id)
		for _, few := range []int{fewOrders, 0} {
			r.retention.fewOrders = few
			if owed, err := r.retention.Debts(t.Context(), c); err != nil || len(owed) > 0 {
				t.Errorf("the young one owes something: %v, %v", owed, err)
			}
		}
		n, err := r.retention.Count(t.Context(), c)
		if err != nil || n != 3 {
			t.Errorf("%d are old, %v", n, err)
		}
		purger := *r.purger
		purger.Ledger = inSteps{r.retention, 2}
		done, err := purger.Purge(t.Context(), c, 0, by(), Purged{}, always)
		if err != nil || done.Orders != 3 || len(done.Owed) > 0 || r.ReadOrder(t, ids[1]).ID != ids[1] {
			t.Errorf("%+v, %v", done, err)
		}
		r.Exec(t, "UPDATE tb_purge SET end_time = NULL")
		done, err = r.purger.Purge(t.Context(), r.candidate(t, id), 0, by(), Purged{}, always)
		if ended := r.Number(t, "SELECT COUNT(*) FROM tb_purge WHERE end_time IS NOT NULL"); err != nil || ended != 1 {
			t.Errorf("continued: %+v, %v, %d ended", done, err, ended)
		}
	})
}

// Each rule is carried out by something: a part of the purge, or the children of orders and places.
func TestEveryRuleOfAPurgeIsCarriedOut(t *testing.T) {
	t.Parallel()
	parts := map[string]bool{
		"tb_voucher_operation": true, "tb_place": true, "tb_refusal": true,
		"tb_draw_entry": true,
	}
	for _, table := range migrations.Tables() {
		if table.Purge.By == migrations.ByUser || table.Purge.By == migrations.BySale && !parts[table.Name] {
			t.Errorf("nothing deletes the rows of %s", table.Name)
		}
	}
}

// A purge locks the row that says which events are gone after the events, as those do that delete old ones: neither
// waits for the other while it holds what the other needs.
func TestPurgeLocksTheStreamLast(t *testing.T) {
	t.Parallel()
	r := newRig(ledgertest.OpenMySQL(t, ledgertest.MigratedMySQL(t)))
	id := r.sold(t)
	r.Exec(t, "INSERT INTO tb_event_stream (id, cursor_key, gone, create_time) VALUES (1, 'key', 0, ?)", before())
	held, err := r.Raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Rollback() }() // unless it is committed
	if _, err := held.ExecContext(t.Context(), "UPDATE tb_webhook_event SET type = type"); err != nil {
		t.Fatal(err)
	}
	c, done := r.candidate(t, id), make(chan error, 1)
	go func() {
		_, err := r.purger.Purge(t.Context(), c, 0, by(), Purged{}, always)
		done <- err
	}()
	r.AwaitLockWait(t)
	const stream = "SELECT id FROM tb_event_stream FOR UPDATE NOWAIT"
	if _, err := held.ExecContext(t.Context(), stream); err != nil {
		t.Errorf("the purge waits for an event and holds the stream: %v", err)
	}
	if err := held.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
