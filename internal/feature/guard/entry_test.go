package guard

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/tally"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// fakeSales is one sale, and what Redis says of a user's order in it.
type fakeSales struct {
	sale  voucher.Voucher
	own   error
	asked int
	hangs bool // until the context ends
}

func (f *fakeSales) Find(_ context.Context, id int64) (voucher.Voucher, error) {
	if id != f.sale.ID {
		return voucher.Voucher{}, voucher.ErrNotFound
	}
	return f.sale, nil
}

func (f *fakeSales) Now(int64) time.Time { return time.Now() }

func (f *fakeSales) OwnOrder(ctx context.Context, _, _ int64) error {
	if f.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	f.asked++
	return f.own
}

func ofLevelTwo() *guards.Settings {
	return &guards.Settings{Conditions: &guards.Conditions{MinLevel: 2}}
}

// nobody hears nothing.
func nobody(guards.Name, bool) {}

// guarded is the entry of a sale with guards.
func guarded(s *guards.Settings) (*fakeSales, *Entry) {
	sales := &fakeSales{sale: ordertest.VoucherAt(1, 0)}
	sales.sale.Sale.Guards = s
	return sales, NewEntry(NewGuards(budget.NewTable(time.Now), tally.New(time.Now), nobody,
		ConditionsCheck{}), sales.Now, sales.OwnOrder, newBuyers().has)
}

// Whom a guard stops is still asked of Redis, and hears their order (rule 2); nobody else gets further.
func TestGuardsStandBehindRule2(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own     error
		level   int64
		bought  bool
		stopped bool
		known   bool
	}{
		"let in":                     {nil, 2, false, false, false},
		"a winner who may not enter": {&gate.AlreadyBoughtError{OrderID: 5}, 1, true, false, false},
		"stopped":                    {gate.ErrBarred, 1, false, true, true},
		"stopped while it is built":  {gate.ErrPaused, 1, false, true, false},
		"stopped, and no answer":     {order.ErrUnknownOutcome, 1, false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sales, entry := guarded(ofLevelTwo())
			sales.own = c.own
			s := Sale{ID: ordertest.VoucherA, Settings: ofLevelTwo()}
			err := entry.Enter(t.Context(), s, Caller{UserID: 1, Claims: guards.Claims{Level: c.level}})
			bought, isBought := errors.AsType[*gate.AlreadyBoughtError](err)
			stopped, isStopped := errors.AsType[*StoppedError](err)
			if isBought != c.bought || isStopped != c.stopped || isBought && bought.OrderID != 5 ||
				isStopped && stopped.OrderKnown != c.known {
				t.Errorf("%v", err)
			}
			if asked := sales.asked > 0; asked != (c.level < 2) {
				t.Errorf("Redis was asked: %t", asked)
			}
		})
	}
}

// While Redis hangs a guard still decides, soon, and says that it does not know of an order; beyond the bound at once.
func TestGuardsDecideWhileRedisHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sales, entry := guarded(ofLevelTwo())
		sales.hangs = true
		s := Sale{ID: ordertest.VoucherA, Settings: ofLevelTwo()}
		var asking sync.WaitGroup
		enter := func() (*StoppedError, time.Duration) {
			began := time.Now()
			stopped, _ := errors.AsType[*StoppedError](entry.Enter(t.Context(), s, Caller{UserID: 1}))
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
		if len(entry.asking) != 0 {
			t.Errorf("%d ask still", len(entry.asking))
		}
	})
}
