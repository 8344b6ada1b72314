package preflight

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// keptSetups is a ledger of setups. A test has its lock but while it waits.
type keptSetups struct {
	mu    sync.Mutex
	began map[int64]time.Time
	kept  map[int64]Setup
	looks int
	fails error
	hangs bool

	setup  Setup // as it is now
	unread error
	reads  int
}

func (k *keptSetups) SalesWithoutSetup(ctx context.Context, within time.Duration, n int) (sales []BegunSale, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.looks++; k.hangs {
		k.mu.Unlock()
		<-ctx.Done()
		k.mu.Lock()
		return nil, ctx.Err()
	}
	for id := range int64(2 * setupsBatch) { // ids are in the order in which they begin
		begin, has := k.began[id]
		ago := time.Since(begin)
		if _, done := k.kept[id]; has && !done && ago >= 0 && ago < within && len(sales) < n {
			sales = append(sales, BegunSale{VoucherID: id, Begin: begin, Ago: ago})
		}
	}
	return sales, k.fails
}

func (k *keptSetups) KeepSetup(ctx context.Context, sales []BegunSale, setup Setup, _ time.Duration) (kept int64, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fails != nil {
		return 0, k.fails
	}
	for _, sale := range sales {
		if _, done := k.kept[sale.VoucherID]; !done {
			k.kept[sale.VoucherID] = setup
			kept++
		}
	}
	return kept, nil
}

// read reads the setup as it is now.
func (k *keptSetups) read(context.Context) (Setup, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reads++
	return k.setup, k.unread
}

// keeping runs the test while setups are kept.
func keeping(t *testing.T, test func(t *testing.T, k *keptSetups)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &keptSetups{began: map[int64]time.Time{}, kept: map[int64]Setup{}, setup: Setup{"instances": "2"}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- NewSetups(k, k.read, slog.New(slog.DiscardHandler)).Run(ctx) }()
		synctest.Wait()
		k.mu.Lock()
		test(t, k)
		k.mu.Unlock()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// after lets time go by.
func (k *keptSetups) after(d time.Duration) {
	k.mu.Unlock()
	time.Sleep(d)
	synctest.Wait()
	k.mu.Lock()
}

func TestSetupIsKeptOnceASaleHasBegun(t *testing.T) {
	keeping(t, func(t *testing.T, k *keptSetups) {
		k.began[7] = time.Now().Add(time.Minute)
		if k.after(59 * time.Second); len(k.kept) > 0 || k.reads > 0 {
			t.Errorf("before the sale %v is kept, %d reads", k.kept, k.reads)
		}
		if k.after(setupsEvery + time.Second); k.kept[7]["instances"] != "2" || k.reads != 1 {
			t.Errorf("%v is kept, %d reads", k.kept, k.reads)
		}
		k.setup = Setup{"instances": "3"}
		if k.after(time.Hour); k.kept[7]["instances"] != "2" || k.reads != 1 {
			t.Errorf("an hour later %v is kept, %d reads", k.kept, k.reads)
		}
	})
}

// Whatever fails, the setup is kept once it does not any more; a store that stays away costs what it would have said.
func TestSetupIsKeptInTheEnd(t *testing.T) {
	keeping(t, func(t *testing.T, k *keptSetups) {
		k.began[7], k.fails = time.Now(), errors.New("connection refused")
		k.after(time.Minute)
		k.fails, k.hangs = nil, true
		k.after(time.Minute)
		if looks := k.looks; looks < 15 || len(k.kept) > 0 {
			t.Errorf("%d tries, %v is kept", looks, k.kept)
		}
		k.hangs = false
		if k.after(2 * setupsTimeout); len(k.kept) != 1 {
			t.Errorf("%v is kept", k.kept)
		}
		k.unread, k.setup = errors.New("Redis is away"), Setup{"instances": "2", "appendfsync": ""}
		k.began[8] = time.Now()
		if k.after(setupsPatience - setupsEvery); len(k.kept) != 1 {
			t.Errorf("at once, %v is kept", k.kept)
		}
		k.began[9] = time.Now() // it can wait still
		if k.after(2 * setupsEvery); len(k.kept) != 2 || k.kept[8]["instances"] != "2" {
			t.Errorf("%v is kept", k.kept)
		}
		k.unread, k.setup = nil, Setup{"appendfsync": "always"}
		if k.after(setupsEvery); k.kept[9]["appendfsync"] != "always" || k.kept[8]["appendfsync"] != "" {
			t.Errorf("%v is kept", k.kept)
		}
	})
}

// A thousand sales that begin at once are kept at once, from one reading for each batch.
func TestSetupOfManySales(t *testing.T) {
	keeping(t, func(t *testing.T, k *keptSetups) {
		for id := range int64(2 * setupsBatch) {
			k.began[id] = time.Now()
		}
		if k.after(setupsEvery); len(k.kept) != 2*setupsBatch || k.reads != 2 {
			t.Errorf("%d are kept, %d reads", len(k.kept), k.reads)
		}
	})
}
