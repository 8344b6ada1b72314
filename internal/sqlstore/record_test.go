package sqlstore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
)

func TestInsert(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.seckill(t, 2000)
		cs := claims(v, 1, 1203) // more than two statements
		insert(t, l, cs)

		got, err := l.Order(t.Context(), cs[1000].OrderID)
		if err != nil {
			t.Fatal(err)
		}
		want := order.Order{
			ID: cs[1000].OrderID, UserID: 1001, VoucherID: v, Amount: 1000, Status: order.Unpaid, CreatedAt: recordedAt,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		sale := l.sale(t, v)
		if sale.Stock != 797 || sale.Sequence != 1203 || sale.Epoch != 1 {
			t.Errorf("sale = %+v, want stock 797, sequence 1203, epoch 1", sale)
		}
		l.conserved(t, v)
	})
}
