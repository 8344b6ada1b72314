package order

import (
	"context"
	"errors"
	"testing"

	"seckill/internal/voucher"
)

// fakeOpenSales remembers one purchase, or fails.
type fakeOpenSales struct {
	err    error
	placed Order
	key    string
}

func (f *fakeOpenSales) Place(_ context.Context, id, userID, voucherID int64, key string) (Order, error) {
	f.placed, f.key = Order{ID: id, UserID: userID, VoucherID: voucherID, Status: Unpaid}, key
	if f.err != nil {
		return Order{}, f.err
	}
	return f.placed, nil
}

// noIDs gives none.
type noIDs struct{}

func (noIDs) Next(context.Context) (int64, error) { return 0, errAway }

func TestBuyFreely(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ err, want error }{
		"bought":                    {},
		"no such voucher":           {err: voucher.ErrNotFound, want: voucher.ErrNotFound},
		"off the shelf":             {err: voucher.ErrOffShelf, want: voucher.ErrOffShelf},
		"it has a sale":             {err: ErrSeckill, want: ErrSeckill},
		"the key is another's":      {err: ErrKeyReused, want: ErrKeyReused},
		"the ledger was not asked":  {err: ErrUnavailable, want: ErrUnavailable},
		"the ledger's word is lost": {err: errAway, want: ErrUnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sales := &fakeOpenSales{err: tc.err}
			o, err := NewStorefront(sales, &fakeIDs{last: 99}).Buy(t.Context(), 2, voucherB, "k")
			if !errors.Is(err, tc.want) || tc.want != nil && o != (Order{}) {
				t.Errorf("%+v, %v; want %v", o, err, tc.want)
			}
			if tc.want == nil && (o != Order{ID: 100, UserID: 2, VoucherID: voucherB, Status: Unpaid} || sales.key != "k") {
				t.Errorf("bought %+v with the key %q", o, sales.key)
			}
			if errors.Is(err, ErrUnavailable) != errors.Is(tc.want, ErrUnavailable) {
				t.Errorf("%v says that nothing was bought", err)
			}
		})
	}
	sales := &fakeOpenSales{}
	if _, err := NewStorefront(sales, noIDs{}).Buy(t.Context(), 2, voucherB, ""); !errors.Is(err, ErrUnavailable) || sales.placed != (Order{}) {
		t.Errorf("without an id: %v, placed %+v", err, sales.placed)
	}
}
