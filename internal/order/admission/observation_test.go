package admission

import (
	"context"
	"errors"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
)

// An instance refuses with NOT_STARTED from memory only if Redis has just shown an open sale without a holder, well
// before its begin: a winner of an earlier window must get their order.
func TestTooEarly(t *testing.T) {
	t.Parallel()
	now := time.Now()
	begin := now.Add(time.Hour)
	for name, c := range map[string]struct {
		seen order.SaleView
		age  time.Duration
		want bool
	}{
		"before the begin": {order.SaleView{Mode: order.SaleOpen, Begin: begin, Now: now}, 0, true},
		"a holder":         {order.SaleView{Mode: order.SaleOpen, Begin: begin, Now: now, Buyers: 1}, 0, false},
		"paused":           {order.SaleView{Mode: order.SalePaused, Begin: begin, Now: now}, 0, false},
		"in the margin":    {order.SaleView{Mode: order.SaleOpen, Begin: now.Add(clockMargin / 2), Now: now}, 0, false},
		"an old answer":    {order.SaleView{Mode: order.SaleOpen, Begin: begin, Now: now}, observationTTL, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &observation{view: c.seen, sentAt: now, receivedAt: now}
			if got := o.tooEarly(now.Add(c.age)); got != c.want {
				t.Errorf("too early: %t, want %t", got, c.want)
			}
		})
	}
}

// rows are the orders of a ledger that has the answer to one question.
type rows struct {
	order.Reader

	found order.Order
	err   error
}

func (r rows) LiveOrder(context.Context, order.BuyerKey) (order.Order, error) { return r.found, r.err }

// The answer for a sale that has left Redis is the buyer's order, or how the sale has ended.
func TestAfterRetirement(t *testing.T) {
	t.Parallel()
	var bought *gate.AlreadyBoughtError
	off := time.Now()
	for name, c := range map[string]struct {
		rows rows
		sale voucher.Sale
		want error
	}{
		"it has ended":     {rows{err: order.ErrNotFound}, voucher.Sale{}, gate.ErrEnded},
		"it is called off": {rows{err: order.ErrNotFound}, voucher.Sale{CalledOff: off}, voucher.ErrCalledOff},
		"the ledger fails": {rows{err: errors.New("away")}, voucher.Sale{CalledOff: off}, order.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &Admission{stores: Stores{Rows: c.rows}}
			if err := a.afterRetirement(t.Context(), order.BuyerKey{}, &c.sale); !errors.Is(err, c.want) {
				t.Errorf("error = %v, want %v", err, c.want)
			}
		})
	}
	a := &Admission{stores: Stores{Rows: rows{found: order.Order{ID: 7, Status: order.Paid}}}}
	err := a.afterRetirement(t.Context(), order.BuyerKey{}, &voucher.Sale{CalledOff: off})
	if !errors.As(err, &bought) || bought.OrderID != 7 || bought.Status != order.Paid {
		t.Errorf("with an order: %v", err)
	}
}
