package retention

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/feature"
	"seckill/internal/order"
	"seckill/internal/order/reason"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

const forgotten = 3 // a user with an order, a payment, a coupon and an event

// person makes user 3 of a sale that is over somebody with rows in every table about people.
func (r *rig) person(t *testing.T) (saleID, orderID int64) {
	t.Helper()
	id := r.sold(t)
	o, err := r.OrdersAfter(t.Context(), id, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range o {
		if o.UserID == forgotten {
			orderID = o.ID
		}
	}
	stored := ledgertest.Stored(ledgertest.RecordedAt)
	r.Exec(t, "UPDATE tb_webhook_event SET body = ?",
		fmt.Sprintf(`{"data":{"userId":%d,"a":{"userId":%d},"b":{"userId":%d7}}}`, forgotten, forgotten, forgotten))
	r.Exec(t, "UPDATE tb_place SET user_id = ?", forgotten)
	r.Exec(t, "INSERT INTO tb_account (id, issuer, subject, create_time) VALUES (?, 0, 'carol', ?)", forgotten, stored)
	r.Exec(t, "INSERT INTO tb_refusal (voucher_id, user_id, run, refused_ms, within_ms, code, create_time) "+
		"VALUES (?, ?, 1, 1, 1, 'SOLD_OUT', ?)", id, forgotten, stored)
	r.Exec(t, "INSERT INTO tb_draw_entry (voucher_id, number, user_id, entry, hash) VALUES (?, 1, ?, 7, 'h')", id,
		forgotten)
	r.Exec(t, "INSERT INTO tb_unpaid (user_id, expired, last_time, number) VALUES (?, 1, ?, 1)", forgotten, stored)
	r.Exec(t, "INSERT INTO tb_request (caller, request_key, route, body_digest, made, create_time) "+
		"VALUES (?, 'k', 'r', 'x', '1', ?)", forgotten, stored)
	limited := r.Limited(t, 2)
	r.Exec(t, "INSERT INTO tb_limited_buyer (voucher_id, user_id, writes) VALUES (?, ?, 1)", limited, forgotten)
	unlimited := r.Ordinary(t) // its limit is gone
	r.Exec(t, "INSERT INTO tb_limited_buyer (voucher_id, user_id, writes) VALUES (?, ?, 1)", unlimited, forgotten)
	return id, orderID
}

// named returns the tables that name the user.
func (r *rig) named(t *testing.T) (tables []string) {
	t.Helper()
	for _, where := range []string{
		"tb_voucher_order WHERE user_id = ?", "tb_payment WHERE user_id = ?", "tb_voucher_operation WHERE user_id = ?",
		"tb_place WHERE user_id = ?", "tb_refusal WHERE user_id = ?", "tb_draw_entry WHERE user_id = ?",
		"tb_limited_buyer WHERE user_id = ?", "tb_request WHERE caller = ?",
		"tb_unpaid WHERE user_id = ?", "tb_account WHERE id = ?", "tb_forgotten WHERE user_id = ?",
		"tb_webhook_event WHERE body LIKE '%\"userId\":3,%' AND 0 < ?",
		"tb_webhook_event WHERE body LIKE '%\"userId\":3}%' AND 0 < ?",
		"tb_coupon WHERE 0 < ?",
		"tb_audit WHERE changes LIKE '%\"user\"%\"3\"%' AND 0 < ?",
	} {
		if r.Number(t, "SELECT COUNT(*) FROM "+where, forgotten) > 0 {
			tables = append(tables, where)
		}
	}
	return tables
}

// A person's rows become nobody's, wherever they are; repeated and interrupted it comes to the same end.
func TestForget(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		r := newRig(l)
		id, orderID := r.person(t)
		e, err := r.retention.Export(t.Context(), forgotten, by())
		for _, table := range []string{
			"voucher_order", "payment", "account", "coupon", "webhook_event", "order_event", "place", "unpaid",
			"request", "limited_buyer",
		} {
			if len(e.Tables[table]) == 0 || err != nil {
				t.Fatalf("the export has no %s: %+v, %v", table, e.Tables, err)
			}
		}
		if n := len(r.named(t)); n < 10 {
			t.Fatalf("the person is in %v only", r.named(t))
		}
		want := r.sums(t, id)
		pseudonym, err := r.retention.BeginForgetting(t.Context(), forgotten, by()) // and the process dies
		if err != nil || pseudonym < voucher.FirstForgotten || pseudonym > voucher.MaxID {
			t.Fatal(pseudonym, err)
		}
		if n := r.Number(t, "SELECT COUNT(*) FROM tb_session_void WHERE first_user = ? AND last_user = ?", forgotten,
			forgotten); n != 1 {
			t.Errorf("%d rows make tokens void", n)
		}
		// The rows of an earlier try, or of a restored backup, are in nobody's way.
		r.Exec(t, "INSERT INTO tb_limited_buyer (voucher_id, user_id, writes) "+
			"SELECT voucher_id, ?, 1 FROM tb_limited_buyer", pseudonym)
		f, err := Forget(t.Context(), r.retention, forgotten, by(), atOnce)
		if err != nil || f.Orders != 1 || f.Places != 1 {
			t.Fatalf("%+v, %v", f, err)
		}
		if left := r.named(t); len(left) > 0 {
			t.Errorf("the person is still in:\n%s", strings.Join(left, "\n"))
		}
		if o := r.ReadOrder(t, orderID); o.UserID != pseudonym || r.sums(t, id) != want {
			t.Errorf("the order is user %d's, want %d; sums %+v, want %+v", o.UserID, pseudonym, r.sums(t, id), want)
		}
		entries, err := r.Entries(t.Context(), voucher.AuditFilter{}, 1<<40, 100)
		n := 0
		for _, e := range entries {
			if e.Action == voucher.Forgotten {
				n++
			}
			for _, c := range e.Changes {
				if c.To == "3" && c.Field == "user" {
					t.Errorf("the audit trail names the person: %+v", e)
				}
			}
		}
		if err != nil || n != 1 {
			t.Errorf("%d entries, %v", n, err)
		}
		if f, err := Forget(t.Context(), r.retention, forgotten, by(), atOnce); err != nil || f != (Forgotten{}) {
			t.Errorf("again: %+v, %v", f, err)
		}
	})
}

// Another number is drawn if somebody has the first.
func TestPseudonymsDiffer(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		r := newRig(l)
		numbers := []int64{voucher.FirstForgotten, voucher.FirstForgotten, voucher.FirstForgotten + 1}
		r.retention.draw = func() (int64, error) {
			next := numbers[0]
			numbers = numbers[1:]
			return next, nil
		}
		for i, user := range []int64{5, 6} {
			got, err := r.retention.BeginForgetting(t.Context(), user, by())
			if err != nil || got != voucher.FirstForgotten+int64(i) {
				t.Errorf("user %d: %d, %v", user, got, err)
			}
		}
		if n := r.Number(t, "SELECT COUNT(*) FROM tb_audit WHERE action = ?", string(voucher.Forgotten)); n != 2 {
			t.Errorf("%d entries", n)
		}
	})
}

// Nobody is forgotten while a sale of theirs is not retired, or something is owed; nothing is changed then.
func TestForgetRefuses(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		r := newRig(l)
		_, orderID := r.person(t)
		named := len(r.named(t))
		for why, set := range map[Reason][2]string{
			NotRetired: {
				"UPDATE tb_seckill_voucher SET retired = 0 WHERE 0 < ?",
				"UPDATE tb_seckill_voucher SET retired = 1 WHERE 0 < ?",
			},
			Undecided: {
				"UPDATE tb_voucher_order SET status = 5 WHERE id = ?",
				"UPDATE tb_voucher_order SET status = 3 WHERE id = ?",
			},
			Payment: {
				"UPDATE tb_payment SET state = 3 WHERE order_id = ?",
				"UPDATE tb_payment SET state = 2 WHERE order_id = ?",
			},
			Dispute: {
				"UPDATE tb_payment SET dispute = 1 WHERE order_id = ?",
				"UPDATE tb_payment SET dispute = 0 WHERE order_id = ?",
			},
		} {
			r.Exec(t, set[0], orderID)
			_, err := Forget(t.Context(), r.retention, forgotten, by(), atOnce)
			owed, is := errors.AsType[*OwedError](err)
			if !is || owed.Owed[why] != 1 {
				t.Errorf("%s: %v", why, err)
			}
			if n := len(r.named(t)); n != named || r.Number(t, "SELECT COUNT(*) FROM tb_forgotten") != 0 {
				t.Errorf("%s: refused, and the person is in %d of %d", why, n, named)
			}
			r.Exec(t, set[1], orderID)
		}
		if o := r.ReadOrder(t, orderID); o.Status != order.Redeemed {
			t.Errorf("the order is %s", o.Status)
		}
		sale := r.Seckill(t, 5) // in which the person has no order
		r.Exec(t, "INSERT INTO tb_place (voucher_id, position, user_id, state, create_time) VALUES (?, 1, ?, 7, ?)",
			sale, forgotten, ledgertest.Stored(ledgertest.RecordedAt))
		_, err := Forget(t.Context(), r.retention, forgotten, by(), atOnce)
		if owed, is := errors.AsType[*OwedError](err); !is || owed.Owed[NotRetired] != 1 {
			t.Errorf("a place on the list of a sale that is not retired: %v", err)
		}
	})
}

// atOnce does not wait.
func atOnce(context.Context) error { return nil }

// What a person has bought before all instances knew that their tokens are void is treated as what they had before: it
// refuses while it owes something, and is rewritten after.
func TestForgetLooksAgain(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		r := newRig(l)
		r.person(t)
		sale := r.Seckill(t, 10)
		late := ledgertest.Claims(sale, forgotten, 1)
		var pseudonym int64
		buys := func(ctx context.Context) error { return r.Insert(ctx, late) }
		_, err := Forget(t.Context(), r.retention, forgotten, by(), buys)
		owed, is := errors.AsType[*OwedError](err)
		if !is || owed.Owed[NotRetired] != 1 || owed.Owed[Undecided] != 1 ||
			r.ReadOrder(t, late[0].OrderID).UserID != forgotten {
			t.Fatalf("bought since it began: %v, user %d's", err, r.ReadOrder(t, late[0].OrderID).UserID)
		}
		pseudonym = r.Number(t, "SELECT pseudonym FROM tb_forgotten WHERE user_id = ?", forgotten)
		if done, err := r.retention.EndForgetting(t.Context(), forgotten, pseudonym); done || err != nil ||
			r.Number(t, "SELECT COUNT(*) FROM tb_forgotten WHERE user_id = ?", forgotten) != 1 {
			t.Errorf("ended before all is rewritten: %t, %v", done, err)
		}
		r.Transitioned(t, late[0], order.Cancel)
		r.ApplyAll(t, sale)
		r.RetireSale(t, sale)
		f, err := Forget(t.Context(), lateBuyer{r, t, sale}, forgotten, by(), atOnce)
		if err != nil || f.Orders != 3 || f.Places != 2 || len(r.named(t)) > 0 {
			t.Errorf("%+v, %v, still in %v", f, err, r.named(t))
		}
	})
}

// lateBuyer is a ledger that records a failed order of the person after the last was rewritten, once, and then a missed
// place on the waiting list.
type lateBuyer struct {
	*rig

	t    *testing.T
	sale int64
}

func (b lateBuyer) BeginForgetting(ctx context.Context, user int64, by Trail) (int64, error) {
	return b.retention.BeginForgetting(ctx, user, by)
}

func (b lateBuyer) Rewrite(ctx context.Context, user, pseudonym int64, n int) (Forgotten, bool, error) {
	return b.retention.Rewrite(ctx, user, pseudonym, n)
}

func (b lateBuyer) EndForgetting(ctx context.Context, user, pseudonym int64) (bool, error) {
	b.t.Helper()
	orders := b.Number(b.t, "SELECT COUNT(*) FROM tb_voucher_order WHERE user_id = ?", pseudonym)
	places := b.Number(b.t, "SELECT COUNT(*) FROM tb_place WHERE user_id = ?", pseudonym)
	switch {
	case orders == 3 && places == 1:
		b.Exec(b.t, "INSERT INTO tb_place (voucher_id, position, user_id, state, create_time) VALUES (?, 1, ?, 7, ?)",
			b.sale, user, ledgertest.Stored(ledgertest.RecordedAt))
	case orders == 2:
		late := order.Claim{OrderID: 1 << 50, UserID: user, VoucherID: b.sale, Epoch: 1, Quantity: 1}
		if err := b.Settle(ctx, []order.Claim{late},
			ledgertest.DecideAll([]order.Claim{late}, order.Fail, reason.NoStock)); err != nil {
			b.t.Error(err)
		}
	}
	return b.retention.EndForgetting(ctx, user, pseudonym)
}

// The service forgets only once what Redis has queued has its rows, and where that cannot be read, it changes no row.
func TestForgetAsksRedis(t *testing.T) {
	t.Parallel()
	r := newRig(ledgertest.OpenMySQL(t, ledgertest.MigratedMySQL(t)))
	_, orderID := r.person(t)
	failing := true
	service := serviceOf(r.retention, feature.Core{
		SwitchOn: func(context.Context, string) error { return nil },
		Redis: feature.Redis{Oldest: func(context.Context) (time.Duration, error) {
			if failing {
				return 0, order.ErrUnavailable
			}
			return 0, nil
		}},
	})
	if _, err := service.Forget(t.Context(), forgotten, by()); !errors.Is(err, order.ErrUnavailable) ||
		r.ReadOrder(t, orderID).UserID != forgotten {
		t.Errorf("without Redis: %v, the order is user %d's", err, r.ReadOrder(t, orderID).UserID)
	}
	failing = false
	if f, err := service.Forget(t.Context(), forgotten, by()); err != nil || f.Orders != 1 || len(r.named(t)) > 0 {
		t.Errorf("%+v, %v, still in %v", f, err, r.named(t))
	}
}

// Forgetting waits until instances know that the tokens are void and all that they have accepted has its rows, and not
// for what others buy after.
func TestRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		accepted := start.Add(time.Second) // by the person
		waits := func(context.Context) (time.Duration, error) {
			if at := time.Since(start); at < 6*time.Second {
				return time.Since(accepted), nil
			}
			return time.Second, nil // those of others
		}
		if err := recorded(t.Context(), waits); err != nil || time.Since(start) < 6*time.Second ||
			time.Since(start) > 7*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		stuck := func(context.Context) (time.Duration, error) { return time.Hour, nil }
		if err := recorded(t.Context(), stuck); !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("with orders that have no rows: %v", err)
		}
		start = time.Now()
		if err := recorded(t.Context(), nil); err != nil || time.Since(start) != voidKnown {
			t.Errorf("without Redis: %v after %s", err, time.Since(start))
		}
	})
}
