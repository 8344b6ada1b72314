package service

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/guard"
	"seckill/internal/order"
	"seckill/internal/order/admission"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher/guards"
)

// hangingGate answers nobody until its context ends.
type hangingGate struct{ asked chan struct{} }

func (g hangingGate) Admit(ctx context.Context, _ order.Batch) (order.BatchResult, error) {
	g.asked <- struct{}{}
	<-ctx.Done()
	return order.BatchResult{}, ctx.Err()
}

func ofLevelTwo() *guards.Settings {
	return &guards.Settings{Conditions: &guards.Conditions{MinLevel: 2}}
}

// noObserver hears nothing.
type noObserver struct{}

func (noObserver) GuardStopped(guards.Name, bool) {}

// guardedPurchases are purchases of a sale with guards.
func guardedPurchases(t *testing.T, s *guards.Settings) (*purchaseParts, *Guards) {
	t.Helper()
	v := ordertest.VoucherAt(1, 0)
	v.Sale.Guards = s
	p := newPurchases(t, PurchaseOptions{}, v)
	guards := guard.NewGuards(guard.NewLimitsTable(time.Now), guard.NewTally(time.Now), noObserver{},
		guard.ConditionsCheck{})
	return p, NewGuards(guards, p.catalog, p.purchases.admission, p.purchases)
}

// Whom a guard stops is still asked of Redis, and hears their order (rule 2); nobody else gets further.
func TestGuardsStandBehindRule2(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcome order.Result
		level   int64
		bought  bool
		stopped bool
		known   bool
	}{
		"let in":                     {order.Result{Outcome: order.Accepted}, 2, false, false, false},
		"a winner who may not enter": {order.Result{Outcome: order.AlreadyBought, OrderID: 5}, 1, true, false, false},
		"stopped":                    {order.Result{Outcome: order.Barred}, 1, false, true, true},
		"stopped while it is built":  {order.Result{Outcome: order.NoSale}, 1, false, true, false},
		"stopped, and no answer":     {order.Result{Outcome: order.Unreadable}, 1, false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, g := guardedPurchases(t, ofLevelTwo())
			p.gate.outcome = c.outcome
			s := guard.Sale{ID: ordertest.VoucherA, Settings: ofLevelTwo()}
			err := g.Enter(t.Context(), s, guard.Caller{UserID: 1, Claims: guards.Claims{Level: c.level}})
			bought, isBought := errors.AsType[*order.AlreadyBoughtError](err)
			stopped, isStopped := errors.AsType[*guard.StoppedError](err)
			if isBought != c.bought || isStopped != c.stopped || isBought && bought.OrderID != 5 ||
				isStopped && stopped.OrderKnown != c.known {
				t.Errorf("%v", err)
			}
			if asked := p.gate.calls > 0; asked != (c.level < 2) {
				t.Errorf("Redis was asked: %t", asked)
			}
		})
	}
}

// A lookup of the voucher makes its guards known to the limits, which ask no store.
func TestGuardsRemembered(t *testing.T) {
	t.Parallel()
	settings := ofLevelTwo()
	p, g := guardedPurchases(t, settings)
	if s := g.Remembered(ordertest.VoucherA); s.Settings != nil {
		t.Errorf("before anybody came: %+v", s)
	}
	for _, id := range []int64{ordertest.VoucherA, 404} {
		_, _ = p.catalog.Find(t.Context(), id)
	}
	if s := g.Remembered(ordertest.VoucherA); s.Settings != settings || s.ID != ordertest.VoucherA {
		t.Errorf("%+v", s)
	}
	if s := g.Remembered(404); s.Settings != nil || p.gate.calls != 0 {
		t.Errorf("%+v; Redis was asked %d times", s, p.gate.calls)
	}
}

// While Redis hangs a guard still decides, soon, and says that it does not know of an order; beyond the bound at once.
func TestGuardsDecideWhileRedisHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, g := guardedPurchases(t, ofLevelTwo())
		hanging := hangingGate{make(chan struct{}, 10)}
		g.admission = admission.New(admission.Stores{Gate: hanging, Holders: p.sales, Rows: p.rows}, p.catalog,
			p.stores, ordertest.NopObserver{}, 100, ordertest.Quiet())
		t.Cleanup(g.admission.Close)
		s := guard.Sale{ID: ordertest.VoucherA, Settings: ofLevelTwo()}
		var asking sync.WaitGroup
		enter := func() (*guard.StoppedError, time.Duration) {
			began := time.Now()
			stopped, _ := errors.AsType[*guard.StoppedError](g.Enter(t.Context(), s, guard.Caller{UserID: 1}))
			return stopped, time.Since(began)
		}
		for range maxStoppedAsks {
			asking.Go(func() {
				if stopped, took := enter(); stopped == nil || stopped.OrderKnown || took > stoppedAskTimeout {
					t.Errorf("%+v after %s", stopped, took)
				}
			})
		}
		synctest.Wait()
		if stopped, took := enter(); stopped == nil || stopped.OrderKnown || took > 0 {
			t.Errorf("beyond the bound: %+v after %s", stopped, took)
		}
		asking.Wait()
		if len(g.asking) != 0 {
			t.Errorf("%d ask still", len(g.asking))
		}
	})
}
