package sqlstore_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

func TestDirectSale(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, other, sale, off := l.ordinary(t), l.ordinary(t), l.seckill(t, 1), l.ordinary(t)
		l.exec(t, "UPDATE tb_voucher SET status = 2 WHERE id = ?", off)
		l.exec(t, "UPDATE tb_voucher SET pay_within = 60 WHERE id = ?", other)
		for _, test := range []struct {
			id, user, voucher int64
			key               string
			want              int64 // the order that is returned
			err               error
		}{
			{id: 101, user: 1, voucher: v, want: 101},
			{id: 102, user: 1, voucher: v, want: 102}, // any number of times
			{id: 102, user: 1, voucher: v, want: 102}, // the reply to COMMIT was lost
			{id: 102, user: 1, voucher: other, err: order.ErrKeyReused},
			{id: 102, user: 2, voucher: v, err: order.ErrConflict},
			{id: 103, user: 1, voucher: v, key: "k", want: 103},
			{id: 104, user: 1, voucher: v, key: "k", want: 103},
			{id: 105, user: 1, voucher: other, key: "k", err: order.ErrKeyReused},
			{id: 106, user: 2, voucher: other, key: "k", want: 106}, // another user's
			{id: 107, user: 1, voucher: v, key: "K", want: 107},
			{id: 108, user: 1, voucher: 4711, err: voucher.ErrNotFound},
			{id: 109, user: 1, voucher: sale, err: order.ErrSeckill},
			{id: 110, user: 1, voucher: off, err: voucher.ErrOffShelf},
		} {
			got, err := l.RecordDirectSale(t.Context(), test.id, test.user, test.voucher, test.key)
			if !errors.Is(err, test.err) || got.ID != test.want {
				t.Errorf("%+v: %+v, %v", test, got, err)
			}
		}
		want := order.Order{ID: 101, UserID: 1, VoucherID: v, Amount: 1000, Status: order.Unpaid, CreatedAt: recordedAt, PayBefore: payBefore}
		if diff := cmp.Diff(want, l.order(t, 101)); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if got := l.order(t, 106).PayBefore.Sub(recordedAt).Seconds(); got != 60 {
			t.Errorf("to be paid within %v s, want 60", got)
		}
		if n := l.number(t, "SELECT COUNT(*) FROM tb_voucher_order"); n != 5 {
			t.Errorf("%d orders, want 5", n)
		}
	})
}

// The same request twice at once buys once.
func TestDirectSaleAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.ordinary(t)
		for round := range int64(10) {
			var got [2]order.Order
			buy := func(i int64) func() error {
				return func() (err error) {
					got[i], err = l.RecordDirectSale(t.Context(), 100+2*round+i, 1, v, string(rune('a'+round)))
					return err
				}
			}
			if err := errors.Join(both(buy(0), buy(1))); err != nil || got[0].ID == 0 || got[0] != got[1] {
				t.Errorf("%v: %+v and %+v", err, got[0], got[1])
			}
		}
		if n := l.number(t, "SELECT COUNT(*) FROM tb_voucher_order"); n != 10 {
			t.Errorf("%d orders, want 10", n)
		}
	})
}
