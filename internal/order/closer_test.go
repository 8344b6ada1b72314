package order

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
)

// fakeFence is a fenced lock.
type fakeFence struct {
	held  sync.Mutex
	mu    sync.Mutex
	token int64
}

func (f *fakeFence) TryDoFenced(ctx context.Context, _ string, do func(context.Context, int64) error) error {
	if !f.held.TryLock() {
		return ErrBusy
	}
	defer f.held.Unlock()
	f.mu.Lock()
	f.token++
	token := f.token
	f.mu.Unlock()
	return do(ctx, token)
}

// runCloser runs a closer until the test ends it, in a bubble.
func runCloser(t *testing.T, p *lifeParts, fence FencedLocker, options CloserOptions) (stop func()) {
	t.Helper()
	return runLoggingCloser(t, p, fence, options, quiet())
}

func runLoggingCloser(t *testing.T, p *lifeParts, fence FencedLocker, options CloserOptions, log *slog.Logger) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- NewCloser(p.life, fence, p.outbox, p.room, options, p.saw, log).Run(ctx)
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
func overdue(p *lifeParts, n int64) {
	p.life.mu.Lock()
	defer p.life.mu.Unlock()
	for id := int64(1); id <= n; id++ {
		p.life.rows.put(Order{ID: id, UserID: id, VoucherID: voucherA + id%2, Status: Unpaid})
		p.life.overdue = append(p.life.overdue, id)
	}
}

func (f *fakeLife) left() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.overdue)
}

// A backlog is closed at the rate that was asked for, in batches; then the closer asks once a second.
func TestCloserKeepsItsPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newLife(t)
		overdue(p, 10_000)
		seat := p.room.Enter(1)
		defer seat.Leave()
		stop := runCloser(t, p, &fakeFence{}, CloserOptions{Batch: 100, Rate: 1000})
		time.Sleep(5*time.Second - time.Millisecond)
		if left := p.life.left(); left != 5000 {
			t.Errorf("%d are left after five seconds at 1000 a second", left)
		}
		time.Sleep(6 * time.Second)
		overdue(p, 1)
		time.Sleep(closeEvery)
		synctest.Wait()
		if left := p.life.left(); left != 0 {
			t.Errorf("%d are left", left)
		}
		if status, err := seat.Wait(t.Context(), Unpaid); err != nil || status != Cancelled {
			t.Errorf("told %s, %v", status, err)
		}
		if p.saw.closed != 10_001 || !slices.Contains(p.outbox.notices, voucherA) || !slices.Contains(p.outbox.notices, voucherB) {
			t.Errorf("observed %d, notified %d times", p.saw.closed, len(p.outbox.notices))
		}
		if n := len(p.outbox.notices); n > 2*100+2 {
			t.Errorf("%d notifications for 101 batches of two vouchers", n)
		}
		stop()
	})
}

// One closes, the others wait; when it fails, or finds that it has been superseded, it lets the lock go.
func TestCloserTakesTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, fence := newLife(t), &fakeFence{}
		stopOne := runCloser(t, p, fence, CloserOptions{})
		stopTwo := runCloser(t, p, fence, CloserOptions{})
		time.Sleep(time.Minute)
		synctest.Wait()
		if fence.token != 1 {
			t.Errorf("%d turns though nothing failed, want 1", fence.token)
		}
		p.life.mu.Lock()
		p.life.before["close"] = 1
		p.life.mu.Unlock()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if fence.token != 2 {
			t.Errorf("%d turns after a fault, want 2", fence.token)
		}
		p.life.mu.Lock()
		p.life.token = 3 // somebody else's turn that this one did not notice
		p.life.mu.Unlock()
		overdue(p, 10)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if fence.token != 3 || p.life.left() != 0 {
			t.Errorf("%d turns, %d left", fence.token, p.life.left())
		}
		stopOne()
		stopTwo()
	})
}

// Locks whose numbers fell back, as after the loss of a Redis with a wrong clock, close nothing until they have caught
// up. The log says so.
func TestCloserSaysThatItIsSuperseded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newLife(t)
		p.life.token = 4
		overdue(p, 1)
		var log bytes.Buffer
		stop := runLoggingCloser(t, p, &fakeFence{}, CloserOptions{}, slog.New(slog.NewTextHandler(&log, nil)))
		time.Sleep(10 * time.Second)
		stop()
		if left := p.life.left(); left != 0 {
			t.Errorf("%d are left after the numbers have caught up", left)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 3 {
			t.Errorf("%d warnings for 3 turns that were superseded:\n%s", n, log.String())
		}
	})
}
