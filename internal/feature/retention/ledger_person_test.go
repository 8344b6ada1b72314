package retention

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"seckill/internal/order"
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
	r.Exec(t, "INSERT INTO tb_unpaid (user_id, expired, last_time, number) VALUES (?, 1, ?, 1)", forgotten, stored)
	r.Exec(t, "INSERT INTO tb_request (caller, request_key, route, body_digest, made, create_time) "+
		"VALUES (?, 'k', 'r', 'x', '1', ?)", forgotten, stored)
	limited := r.Limited(t, 2)
	r.Exec(t, "INSERT INTO tb_limited_buyer (voucher_id, user_id, writes) VALUES (?, ?, 1)", limited, forgotten)
	return id, orderID
}

// named returns the tables that name the user.
func (r *rig) named(t *testing.T) (tables []string) {
	t.Helper()
	for _, where := range []string{
		"tb_voucher_order WHERE user_id = ?", "tb_payment WHERE user_id = ?", "tb_voucher_operation WHERE user_id = ?",
		"tb_place WHERE user_id = ?", "tb_limited_buyer WHERE user_id = ?", "tb_request WHERE caller = ?",
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
			"request",
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
		f, err := Forget(t.Context(), r.retention, forgotten, by())
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
		if f, err := Forget(t.Context(), r.retention, forgotten, by()); err != nil || f != (Forgotten{}) {
			t.Errorf("again: %+v, %v", f, err)
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
			_, err := Forget(t.Context(), r.retention, forgotten, by())
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
	})
}
