package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// buying is the request for a voucher with a key; "" is none.
func buying(user, voucherID int64, key string) idempotency.Key {
	return idempotency.Key{Caller: user, Name: key, Route: fmt.Sprint("POST /voucher/buy/", voucherID)}
}

// keyed is some request with a key.
func keyed(user int64, key string) idempotency.Key {
	return idempotency.Key{Caller: user, Name: key, Route: "POST /voucher"}
}

func TestDirectSale(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, other, sale, off := l.Ordinary(t), l.Ordinary(t), l.Seckill(t, 1), l.Ordinary(t)
		offSale, rehearsal := l.Seckill(t, 1), l.Seckill(t, 1)
		l.Exec(t, "UPDATE tb_voucher SET status = 2 WHERE id IN (?, ?)", off, offSale)
		l.Exec(t, "UPDATE tb_voucher SET shop_id = ? WHERE id = ?", voucher.RehearsalShop, rehearsal)
		l.Exec(t, "UPDATE tb_voucher SET pay_within = 60 WHERE id = ?", other)
		for _, test := range []struct {
			id, user, voucher int64
			key               string
			want              int64 // the order that is returned
			err               error
		}{
			{id: 101, user: 1, voucher: v, want: 101},
			{id: 102, user: 1, voucher: v, want: 102}, // any number of times
			{id: 102, user: 1, voucher: v, want: 102}, // the reply to COMMIT was lost
			{id: 102, user: 1, voucher: other, err: order.ErrConflict},
			{id: 102, user: 2, voucher: v, err: order.ErrConflict},
			{id: 103, user: 1, voucher: v, key: "k", want: 103},
			{id: 104, user: 1, voucher: v, key: "k", want: 103},
			{id: 105, user: 1, voucher: other, key: "k", err: idempotency.ErrReused},
			{id: 106, user: 2, voucher: other, key: "k", want: 106}, // another user's
			{id: 107, user: 1, voucher: v, key: "K", want: 107},
			{id: 108, user: 1, voucher: 4711, err: voucher.ErrNotFound},
			{id: 109, user: 1, voucher: sale, err: order.ErrSeckill},
			{id: 110, user: 1, voucher: off, err: voucher.ErrOffShelf},
			{id: 111, user: 1, voucher: offSale, err: voucher.ErrOffShelf},
			{id: 112, user: 1, voucher: rehearsal, err: voucher.ErrNotFound},
		} {
			got, err := l.RecordDirectSale(t.Context(), test.id, test.user, test.voucher,
				buying(test.user, test.voucher, test.key))
			if !errors.Is(err, test.err) || got.ID != test.want {
				t.Errorf("%+v: %+v, %v", test, got, err)
			}
		}
		want := order.Order{
			ID: 101, UserID: 1, VoucherID: v, Amount: 1000, Status: order.Unpaid,
			CreatedAt: ledgertest.RecordedAt, PayBefore: ledgertest.PayBefore,
		}
		if diff := cmp.Diff(want, l.ReadOrder(t, 101)); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if got := l.ReadOrder(t, 106).PayBefore.Sub(ledgertest.RecordedAt).Seconds(); got != 60 {
			t.Errorf("to be paid within %v s, want 60", got)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_voucher_order"); n != 5 {
			t.Errorf("%d orders, want 5", n)
		}
	})
}

// replaced is an order of the limited voucher whose user has bought another one, as if it had been cancelled then.
func (l ledger) replaced(tb testing.TB, voucherID, user int64) order.Claim {
	tb.Helper()
	c := l.Bought(tb, voucherID, user)
	l.Force(tb, order.Cancelled, c.OrderID)
	l.Bought(tb, voucherID, user)
	l.Force(tb, order.Unpaid, c.OrderID)
	return c
}

// A user has as many live orders as a voucher allows, whatever became of others; a repeated request hears of its order.
func TestLimitedDirectSale(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, other := l.Limited(t, 2), l.Limited(t, 1)
		buy := func(user, id, voucherID int64, key string) string {
			t.Helper()
			o, err := l.RecordDirectSale(t.Context(), id, user, voucherID, buying(user, voucherID, key))
			if limit, reached := errors.AsType[*order.LimitError](err); reached {
				return fmt.Sprintf("limit %d", limit.PerUser)
			}
			if err != nil {
				t.Errorf("%d of user %d: %v", id, user, err)
			}
			return fmt.Sprint(o.ID)
		}
		for _, step := range []struct {
			user, id, voucher int64
			key, want         string
		}{
			{1, 101, v, "a", "101"},
			{1, 102, v, "", "102"},
			{1, 103, v, "b", "limit 2"},
			{1, 104, v, "a", "101"},
			{1, 102, v, "", "102"}, // the reply to COMMIT was lost
			{2, 105, v, "a", "105"},
			{1, 106, other, "c", "106"},
			{1, 107, other, "b", "limit 1"}, // a refusal keeps no key
		} {
			if got := buy(step.user, step.id, step.voucher, step.key); got != step.want {
				t.Errorf("%+v: %s", step, got)
			}
		}
		for status := order.Unpaid; status <= order.Lapsed; status++ {
			l.Force(t, status, 101)
			id := 200 + int64(status)
			if status.Live() {
				if got := buy(1, id, v, ""); got != "limit 2" {
					t.Errorf("beside an order that is %s: %s", status, got)
				}
				continue
			}
			if got := buy(1, id, v, ""); got != fmt.Sprint(id) {
				t.Errorf("beside an order that is %s: %s", status, got)
			}
			l.Force(t, order.Cancelled, id)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_limited_buyer"); n != 3 {
			t.Errorf("%d rows of limited buyers, want 3", n)
		}
	})
}

// 64 requests of one user, some given up half way and sent again, buy exactly as many as they may. Nothing but the
// database is between them, as at different instances.
func TestLimitedDirectSaleRace(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		const limit, requests = 3, 64
		v := l.Limited(t, limit)
		bought := make([]atomic.Int64, requests)
		var group sync.WaitGroup
		for i := range requests {
			group.Go(func() {
				key := fmt.Sprint(i)
				if i%4 == 0 { // its first try may end anywhere
					short, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
					_, _ = l.RecordDirectSale(short, int64(1000+i), 7, v, buying(7, v, key))
					cancel()
				}
				patience, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				for {
					o, err := l.RecordDirectSale(patience, int64(2000+i), 7, v, buying(7, v, key))
					_, reached := errors.AsType[*order.LimitError](err)
					switch {
					case err == nil:
						bought[i].Store(o.ID)
						return
					case reached:
						return
					case patience.Err() != nil:
						t.Errorf("request %d: %v", i, err)
						return
					}
				}
			})
		}
		group.Wait()
		said := 0
		for i := range bought {
			if id := bought[i].Load(); id != 0 {
				said++
				o, err := l.RecordDirectSale(t.Context(), 5000, 7, v, buying(7, v, fmt.Sprint(i)))
				if err != nil || o.ID != id {
					t.Errorf("request %d again: %+v, %v; before it bought %d", i, o, err, id)
				}
			}
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_voucher_order"); n != limit || said != limit {
			t.Errorf("%d orders, %d callers know of one; want %d", n, said, limit)
		}
	})
}

// The same request twice at once buys once, also where it is the only one that its user may have.
func TestDirectSaleAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		free := l.Ordinary(t)
		for round := range int64(10) {
			v := free
			if round%2 == 0 {
				v = l.Limited(t, 1)
			}
			var got [2]order.Order
			buy := func(i int64) func() error {
				return func() (err error) {
					got[i], err = l.RecordDirectSale(t.Context(), 100+2*round+i, 1, v,
						buying(1, v, string(rune('a'+round))))
					return err
				}
			}
			if err := errors.Join(ledgertest.Both(buy(0), buy(1))); err != nil || got[0].ID == 0 || got[0] != got[1] {
				t.Errorf("%v: %+v and %+v", err, got[0], got[1])
			}
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_voucher_order"); n != 10 {
			t.Errorf("%d orders, want 10", n)
		}
	})
}
