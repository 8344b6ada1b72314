package audit

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

// pulses is Redis with one sale.
type pulses struct {
	pulse LiveStats
	fails error
}

func (p pulses) LiveStats(context.Context, voucher.Voucher) (LiveStats, error) {
	return p.pulse, p.fails
}

// ledgerOf answers with one voucher or an error.
type ledgerOf struct {
	voucher voucher.Voucher
	fails   error
}

func (l ledgerOf) Voucher(context.Context, int64) (voucher.Voucher, error) { return l.voucher, l.fails }

// balances has one balance or none.
type balances struct{ balance *Balance }

func (b balances) Balance(context.Context, int64) (Balance, error) {
	if b.balance == nil {
		return Balance{}, voucher.ErrNotSeckill
	}
	return *b.balance, nil
}

func TestFigures(t *testing.T) {
	t.Parallel()
	pulse := LiveStats{State: voucher.StateOnSale, View: order.SaleView{Stock: 3, Buyers: 7}, Waiting: 2}
	twice := LiveStats{State: voucher.StateOnSale, View: order.SaleView{Stock: 4, Buyers: 7}}
	retired := LiveStats{State: voucher.StateEnded, View: order.SaleView{Stock: 4, Buyers: 6}}
	selling := voucher.Voucher{ID: 1, Sale: &voucher.Sale{Issued: 10, Stock: 5}}
	over := voucher.Voucher{ID: 1, Sale: &voucher.Sale{Issued: 10, Stock: 4, Retired: true}}
	for name, tc := range map[string]struct {
		ledger   ledgerOf
		known    *voucher.Voucher // to the catalog
		pulses   pulses
		balances balances
		want     SaleStats
		err      error
	}{
		"selling": {
			ledger: ledgerOf{voucher: selling}, pulses: pulses{pulse: pulse},
			want: SaleStats{LiveStats: pulse, Issued: 10, Recorded: 5},
		},
		"with its balance": {
			ledger: ledgerOf{voucher: selling}, pulses: pulses{pulse: pulse},
			balances: balances{&Balance{Finding: Balanced}},
			want:     SaleStats{LiveStats: pulse, Issued: 10, Recorded: 5, Balance: &Balance{Finding: Balanced}},
		},
		"retired": {
			ledger: ledgerOf{voucher: over}, want: SaleStats{LiveStats: retired, Issued: 10, Recorded: 6},
		},
		"the ledger is away": {
			ledger: ledgerOf{fails: ordertest.ErrAway}, known: &selling, pulses: pulses{pulse: pulse},
			want: SaleStats{LiveStats: pulse, Issued: 10, Recorded: 5, Stale: true},
		},
		"away, and not in the catalog": {ledger: ledgerOf{fails: ordertest.ErrAway}, err: order.ErrUnavailable},
		"units in Redis twice": {ledger: ledgerOf{voucher: selling}, pulses: pulses{pulse: twice}, want: SaleStats{
			LiveStats: twice, Issued: 10, Recorded: 5,
		}},
		"Redis is away": {
			ledger: ledgerOf{voucher: selling}, pulses: pulses{fails: order.ErrUnavailable}, err: order.ErrUnavailable,
		},
		"an ordinary voucher":      {ledger: ledgerOf{voucher: voucher.Voucher{ID: 1}}, err: voucher.ErrNotSeckill},
		"there is no such voucher": {ledger: ledgerOf{fails: voucher.ErrNotFound}, err: voucher.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			catalog := catalog.New(ledgerOf{fails: tc.ledger.fails})
			t.Cleanup(catalog.Close)
			if tc.known != nil {
				catalog.SetSales([]voucher.Voucher{*tc.known})
			}
			got, err := NewMonitor(tc.ledger, catalog, tc.pulses.LiveStats, tc.balances.Balance).Stats(t.Context(), 1)
			if err == nil && got.Voucher.Sale == nil {
				t.Errorf("the stats are of the voucher %+v", got.Voucher)
			}
			got.Voucher = voucher.Voucher{}
			if diff := cmp.Diff(tc.want, got); diff != "" || !errors.Is(err, tc.err) {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// changing is Redis with a sale that differs at each reading; the last reading stays.
type changing struct{ pulses *[]LiveStats }

func (c changing) LiveStats(context.Context, voucher.Voucher) (LiveStats, error) {
	first := (*c.pulses)[0]
	if len(*c.pulses) > 1 {
		*c.pulses = (*c.pulses)[1:]
	}
	return first, nil
}

// If units are added between the reads, more seem to be left and held than were issued: the stores are read again.
func TestFiguresNeverHaveAUnitTwice(t *testing.T) {
	t.Parallel()
	v := ledgerOf{voucher: voucher.Voucher{ID: 1, Sale: &voucher.Sale{Issued: 10, Stock: 5}}}
	catalog := catalog.New(v)
	t.Cleanup(catalog.Close)
	agree := LiveStats{View: order.SaleView{Stock: 2, Buyers: 6, Extra: 2}}
	seen := []LiveStats{
		{View: order.SaleView{Stock: 3, Buyers: 6, Extra: 2}}, {View: order.SaleView{Stock: 4, Buyers: 7}}, agree,
	}
	got, err := NewMonitor(v, catalog, changing{&seen}.LiveStats, balances{}.Balance).Stats(t.Context(), 1)
	if diff := cmp.Diff(agree, got.LiveStats); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
