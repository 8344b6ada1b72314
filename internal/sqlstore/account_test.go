package sqlstore_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Four of ten units are sold, one of those is given back by operation 1. Operation 2 adds five units, 3 takes two, 4 takes
// one, and other sales have orders and operations of their own.
func TestAccount(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		other := l.seckill(t, 10)
		l.moved(t, l.recorded(t, other, 2)[0], order.Cancel)
		l.restock(t, other, 3, "other")

		v := l.seckill(t, 10)
		l.moved(t, l.recorded(t, v, 4)[0], order.Cancel)
		l.restock(t, v, 5, "give")
		l.restock(t, v, -2, "take")
		l.restock(t, v, -1, "take more")
		check := func(when string, applied int64, want order.Account) {
			t.Helper()
			sale := l.sale(t, v)
			want.Mark, want.Operation, want.Live = order.Mark{Epoch: sale.Epoch, Sequence: sale.Sequence}, 4, 3
			got, err := l.Account(t.Context(), v, applied)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, applied up to %d (-want +got):\n%s", when, applied, diff)
			}
		}
		given := order.Account{Stock: 12, Issued: 15, Pending: 4}
		for applied, add := range []order.Account{{Ahead: 5}, {Ahead: 5}, {}, {Open: 1}, {Open: 2}} {
			want := given
			want.Ahead, want.Open = add.Ahead, add.Open
			check("all pending", int64(applied), want)
		}
		if err := l.Settled(t.Context(), v, results(l.pending(t, v)[:3], true)); err != nil {
			t.Fatal(err)
		}
		taken := order.Account{Stock: 10, Issued: 13, Pending: 1}
		for applied, add := range []order.Account{{Ahead: 3}, {Ahead: 3}, {Ahead: -2}, {}, {Open: 1}} {
			want := taken
			want.Ahead, want.Open = add.Ahead, add.Open
			check("three settled", int64(applied), want)
		}
		for _, id := range []int64{l.ordinary(t), 4711} {
			if _, err := l.Account(t.Context(), id, 0); !errors.Is(err, voucher.ErrNotSeckill) {
				t.Errorf("no sale: %v", err)
			}
		}
	})
}
