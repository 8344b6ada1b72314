package service

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
)

// fakeFence is a fenced lock.
type fakeFence struct {
	held  sync.Mutex
	mu    sync.Mutex
	token int64
}

func (f *fakeFence) TryDoFenced(ctx context.Context, _ string, do func(context.Context, int64) error) error {
	if !f.held.TryLock() {
		return order.ErrBusy
	}
	defer f.held.Unlock()
	f.mu.Lock()
	f.token++
	token := f.token
	f.mu.Unlock()
	return do(ctx, token)
}

// runExpirer runs an expirer at that rate, in a bubble, until the test stops it.
func runExpirer(t *testing.T, p *orderParts, fence order.FencedLocker, rate int) (stop func()) {
	t.Helper()
	return runLoggingExpirer(t, p, fence, rate, ordertest.Quiet())
}

func runLoggingExpirer(
	t *testing.T, p *orderParts, fence order.FencedLocker, rate int, log *slog.Logger,
) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- (&Expirer{
			Ledger: p.ledger, Locker: fence, Outbox: p.outbox, Notifier: p.notifier, Rate: rate, Observer: p.observer,
			Log: log,
		}).Run(ctx)
	}()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.catalog.Close()
	}
}

// overdue adds n orders whose deadline has passed.
func overdue(p *orderParts, n int64) {
	p.ledger.Mu.Lock()
	defer p.ledger.Mu.Unlock()
	for id := int64(1); id <= n; id++ {
		p.ledger.rows.Put(order.Order{ID: id, UserID: id, VoucherID: ordertest.VoucherA + id%2, Status: order.Unpaid})
		p.ledger.overdue = append(p.ledger.overdue, id)
	}
}

func (f *fakeLedger) left() int {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return len(f.overdue)
}

// A backlog expires at the configured rate, in batches; after that the expirer looks once a second.
func TestExpirerKeepsItsRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newOrderParts(t)
		overdue(p, 10_000)
		sub := p.notifier.Subscribe(1)
		defer sub.Cancel()
		stop := runExpirer(t, p, new(fakeFence).TryDoFenced, 1000)
		time.Sleep(5*time.Second - time.Millisecond)
		if left := p.ledger.left(); left != 5000 {
			t.Errorf("%d orders are left after five seconds at 1000 a second", left)
		}
		time.Sleep(6 * time.Second)
		overdue(p, 1)
		time.Sleep(expireEvery)
		synctest.Wait()
		if left := p.ledger.left(); left != 0 {
			t.Errorf("%d are left", left)
		}
		if status, err := sub.Wait(t.Context(), order.Unpaid); err != nil || status != order.Cancelled {
			t.Errorf("notified of %s, %v", status, err)
		}
		if p.observer.Expired != 10_001 || !slices.Contains(p.outbox.flushRequests, ordertest.VoucherA) ||
			!slices.Contains(p.outbox.flushRequests, ordertest.VoucherB) {
			t.Errorf("observed %d, requested %d flushes", p.observer.Expired, len(p.outbox.flushRequests))
		}
		if n := len(p.outbox.flushRequests); n > 2*50+2 {
			t.Errorf("%d requests to flush for 51 batches of two vouchers", n)
		}
		stop()
	})
}

// One instance expires orders while the others wait. When it fails, or learns that it was superseded, it gives the lock
// up.
func TestExpirerTakesTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, fence := newOrderParts(t), &fakeFence{}
		stopOne := runExpirer(t, p, fence.TryDoFenced, 2000)
		stopTwo := runExpirer(t, p, fence.TryDoFenced, 2000)
		time.Sleep(time.Minute)
		synctest.Wait()
		if fence.token != 1 {
			t.Errorf("%d turns although nothing failed, want 1", fence.token)
		}
		p.ledger.Mu.Lock()
		p.ledger.Before["expire"] = 1
		p.ledger.Mu.Unlock()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if fence.token != 2 {
			t.Errorf("%d turns after a fault, want 2", fence.token)
		}
		p.ledger.Mu.Lock()
		p.ledger.token = 3 // the turn of another instance, unnoticed by this one
		p.ledger.Mu.Unlock()
		overdue(p, 10)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if fence.token != 3 || p.ledger.left() != 0 {
			t.Errorf("%d turns, %d left", fence.token, p.ledger.left())
		}
		stopOne()
		stopTwo()
	})
}

// If the locks' tokens fell back, as after the loss of a Redis with a wrong clock, nothing expires until they have
// caught up. The log says so.
func TestExpirerLogsThatItIsSuperseded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newOrderParts(t)
		p.ledger.token = 4
		overdue(p, 1)
		var log bytes.Buffer
		stop := runLoggingExpirer(t, p, new(fakeFence).TryDoFenced, 2000, slog.New(slog.NewTextHandler(&log, nil)))
		time.Sleep(10 * time.Second)
		stop()
		if left := p.ledger.left(); left != 0 {
			t.Errorf("%d orders are left after the tokens have caught up", left)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 3 {
			t.Errorf("%d warnings for 3 turns that were superseded:\n%s", n, log.String())
		}
	})
}
