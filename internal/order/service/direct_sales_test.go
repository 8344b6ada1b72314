package service

import (
	"context"
	"errors"
	"testing"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

// noIDs hands out no ids.
type noIDs struct{}

func (noIDs) Next(context.Context) (int64, error) { return 0, ordertest.ErrAway }

func TestBuyDirectly(t *testing.T) {
	t.Parallel()
	limit := &order.LimitError{PerUser: 2}
	for name, tc := range map[string]struct{ err, want error }{
		"bought":                      {},
		"no such voucher":             {err: voucher.ErrNotFound, want: voucher.ErrNotFound},
		"off the shelf":               {err: voucher.ErrOffShelf, want: voucher.ErrOffShelf},
		"it has a sale":               {err: order.ErrSeckill, want: order.ErrSeckill},
		"the key is another order's":  {err: idempotency.ErrReused, want: idempotency.ErrReused},
		"the user is at the limit":    {err: limit, want: limit},
		"the ledger was not asked":    {err: order.ErrUnavailable, want: order.ErrUnavailable},
		"the ledger's answer is lost": {err: ordertest.ErrAway, want: order.ErrUnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ledger := &fakeLedger{directErr: tc.err}
			o, err := NewDirectSales(ledger, &ordertest.FakeIDs{Last: 99}).Buy(t.Context(), 2, ordertest.VoucherB,
				idempotency.Key{Name: "k"})
			if !errors.Is(err, tc.want) || tc.want != nil && o != (order.Order{}) {
				t.Errorf("%+v, %v; want %v", o, err, tc.want)
			}
			if tc.want == nil &&
				(o != order.Order{ID: 100, UserID: 2, VoucherID: ordertest.VoucherB, Status: order.Unpaid} ||
					ledger.directKey.Name != "k") {
				t.Errorf("recorded %+v with the key %+v", o, ledger.directKey)
			}
			if errors.Is(err, order.ErrUnavailable) != errors.Is(tc.want, order.ErrUnavailable) {
				t.Errorf("%v says that nothing was bought", err)
			}
		})
	}
	ledger := &fakeLedger{}
	if _, err := NewDirectSales(ledger, noIDs{}).Buy(t.Context(), 2, ordertest.VoucherB,
		idempotency.Key{}); !errors.Is(err, order.ErrUnavailable) || ledger.direct != (order.Order{}) {
		t.Errorf("without an id: %v, recorded %+v", err, ledger.direct)
	}
}
