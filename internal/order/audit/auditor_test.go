package audit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

// fakeAuditStores are the auditor's stores with one sale (100 units issued, 40 sold), and record its actions.
type fakeAuditStores struct {
	ordertest.FakeSales

	account  LedgerTotals
	holdings Inventory
	onMend   func()
	slow     time.Duration // how long holdings takes

	lookedAt int
	audited  []Finding
	over     int
	did      []string
	suspects *Suspects
}

func newFakeBooks() *fakeAuditStores {
	f := &fakeAuditStores{
		account:  LedgerTotals{Mark: order.Mark{Epoch: 1, Sequence: 40}, Stock: 60, Issued: 100, Live: 40},
		holdings: Inventory{Mode: order.SaleOpen, Mark: order.Mark{Epoch: 1, Sequence: 40}, Stock: 60, Holders: 40},
	}
	f.Faults = ordertest.Faults{Before: map[string]int{}, After: map[string]int{}}
	v := ordertest.VoucherAt(1, 40)
	v.Sale.Stock = 60
	f.Kept = []voucher.Voucher{v}
	return f
}

func (f *fakeAuditStores) LedgerTotals(context.Context, int64, int64) (a LedgerTotals, err error) {
	err = f.Call("totals", func() error { a = f.account; return nil })
	return a, err
}

func (f *fakeAuditStores) Inventory(context.Context, order.SaleRef) (h Inventory, err error) {
	time.Sleep(f.slow)
	err = f.Call("inventory", func() error { h = f.holdings; f.lookedAt++; return nil })
	return h, err
}

func (f *fakeAuditStores) Pause(context.Context, int64) error {
	return f.Call("pause",
		func() error { f.holdings.Mode = order.SalePaused; f.did = append(f.did, "pause"); return nil })
}

func (f *fakeAuditStores) RequestRepair(_ int64, broken int64) {
	f.did = append(f.did, "repair")
	if f.onMend != nil && broken == f.holdings.Mark.Epoch {
		f.onMend()
	}
}

func (f *fakeAuditStores) Audited(balances []Balance, _ time.Duration, err error) {
	for _, b := range balances {
		f.audited = append(f.audited, b.Finding)
	}
	if err != nil {
		f.audited = append(f.audited, Undecided)
	}
}
func (f *fakeAuditStores) AuditOver()       { f.over++ }
func (f *fakeAuditStores) RepairRequested() {}
func (f *fakeAuditStores) SalePaused()      {}

func newTestAuditor(f *fakeAuditStores) *Auditor {
	return New(Stores{
		Sales: f, Vouchers: f, Totals: f.LedgerTotals, Inventory: f.Inventory,
		TryLock: f.TryDo, Pause: f.Pause, Suspects: f.suspects,
	},
		f, f, ordertest.Quiet())
}

func TestAuditorActs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		given func(*fakeAuditStores)
		while time.Duration
		did   []string
	}{
		"all accounted for": {func(*fakeAuditStores) {}, time.Hour, nil},
		"a difference that is gone at the next check": {func(f *fakeAuditStores) {
			f.holdings.Stock++
			time.AfterFunc(time.Second, func() {
				f.Mu.Lock()
				defer f.Mu.Unlock()
				f.holdings.Stock--
			})
		}, time.Minute, nil},
		"Redis differs: it is rebuilt": {func(f *fakeAuditStores) {
			f.holdings.Stock -= 2
			f.onMend = func() { f.holdings.Stock += 2 }
		}, time.Hour, []string{"repair"}},
		"an order is lost: it is queued again": {func(f *fakeAuditStores) {
			f.holdings.Stock, f.holdings.Holders = 59, 41
			f.onMend = func() { f.holdings.Waiting = 1 }
		}, time.Hour, []string{"repair"}},
		"a rebuild does not help, units are missing": {
			func(f *fakeAuditStores) { f.holdings.Stock-- }, 80 * time.Second, []string{"repair", "repair", "repair"},
		},
		"a rebuild does not help, too many are sold": {
			func(f *fakeAuditStores) { f.holdings.Stock++ }, 79 * time.Second,
			[]string{"repair", "repair", "repair", "pause"},
		},
		"a rebuild that does not last is repeated ever less often": {func(f *fakeAuditStores) {
			f.holdings.Stock--
			f.onMend = func() { // something takes a unit after every rebuild
				f.holdings.Stock++
				time.AfterFunc(auditEvery+time.Second, func() {
					f.Mu.Lock()
					defer f.Mu.Unlock()
					f.holdings.Stock--
				})
			}
		}, time.Hour, slices.Repeat([]string{"repair"}, 12)},
		"the ledger has units never issued": {func(f *fakeAuditStores) {
			f.account.Stock, f.Kept[0].Sale.Stock, f.holdings.Stock = 70, 70, 70
		}, time.Hour, []string{"pause"}},
		"the ledger has units never issued, which Redis lacks": {func(f *fakeAuditStores) {
			f.account.Stock, f.Kept[0].Sale.Stock = 70, 70
		}, time.Hour, []string{"pause"}},
		"the ledger lacks units": {func(f *fakeAuditStores) {
			f.account.Stock, f.Kept[0].Sale.Stock, f.holdings.Stock = 50, 50, 50
		}, time.Hour, nil},
		"Redis does not follow a ledger that lacks units": {func(f *fakeAuditStores) {
			f.account.Stock, f.Kept[0].Sale.Stock = 50, 50
			f.onMend = func() { f.holdings.Stock = 50 }
		}, time.Hour, []string{"repair"}},
		"a paused sale needs no pause": {func(f *fakeAuditStores) {
			f.account.Stock, f.Kept[0].Sale.Stock, f.holdings.Stock, f.holdings.Mode = 70, 70, 70, order.SalePaused
		}, time.Hour, nil},
		"a pause that fails is retried": {func(f *fakeAuditStores) {
			f.account.Stock, f.Kept[0].Sale.Stock, f.holdings.Stock = 70, 70, 70
			f.Before["pause"] = 2
		}, time.Hour, []string{"pause"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeBooks()
			synctest.Test(t, func(t *testing.T) {
				tc.given(f)
				ctx, cancel := context.WithTimeout(t.Context(), tc.while)
				defer cancel()
				if err := newTestAuditor(f).Run(ctx); err != nil {
					t.Error(err)
				}
			})
			if diff := cmp.Diff(tc.did, f.did); diff != "" {
				t.Errorf("the auditor's actions (-want +got):\n%s", diff)
			}
			if len(f.audited) == 0 || f.over != 1 {
				t.Errorf("%d rounds observed, %d ends", len(f.audited), f.over)
			}
		})
	}
}

// A store that is away ends a turn. The next turn begins anew, and acts only on a finding that it has made twice
// itself.
func TestAuditorOutlivesFaults(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"sales", "voucher", "inventory", "totals"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			f := newFakeBooks()
			f.holdings.Stock--
			f.onMend = func() { f.holdings.Stock++ }
			f.Before[call] = 2
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := newTestAuditor(f).Run(ctx); err != nil {
					t.Error(err)
				}
			})
			if diff := cmp.Diff([]string{"repair"}, f.did); diff != "" || f.over != 3 {
				t.Errorf("%d turns; the auditor's actions (-want +got):\n%s", f.over, diff)
			}
		})
	}
}

// While another instance audits, this one waits for its turn.
func TestAuditorsTakeTurns(t *testing.T) {
	t.Parallel()
	f := newFakeBooks()
	synctest.Test(t, func(t *testing.T) {
		f.Lock(auditorLock).Lock()
		time.AfterFunc(time.Minute, f.Lock(auditorLock).Unlock)
		ctx, cancel := context.WithTimeout(t.Context(), 59*time.Second)
		defer cancel()
		auditor := newTestAuditor(f)
		_ = auditor.Run(ctx) // it returns no error
		if f.lookedAt != 0 {
			t.Errorf("checked %d times while another instance audited", f.lookedAt)
		}
		time.Sleep(2 * time.Second)
		again, cancelAgain := context.WithTimeout(t.Context(), time.Second)
		defer cancelAgain()
		_ = auditor.Run(again)
		if f.lookedAt != 1 {
			t.Errorf("checked %d times in its turn, want once", f.lookedAt)
		}
	})
}

// Any instance returns a balance from memory for a few seconds.
func TestAuditorReturnsABalance(t *testing.T) {
	t.Parallel()
	f := newFakeBooks()
	synctest.Test(t, func(t *testing.T) {
		auditor := newTestAuditor(f)
		for range 20 {
			b, err := auditor.Balance(t.Context(), ordertest.VoucherA)
			if err != nil || b.Finding != Balanced || !b.Complete || b.Ledger.Issued != 100 {
				t.Fatalf("balance %+v, %v", b, err)
			}
			time.Sleep(time.Second)
		}
		if f.lookedAt != 4 {
			t.Errorf("checked %d times in twenty seconds, want once in five", f.lookedAt)
		}
		f.Kept[0].Sale.Retired = true
		time.Sleep(auditEvery)
		if _, err := auditor.Balance(t.Context(), ordertest.VoucherA); !errors.Is(err, voucher.ErrNotSeckill) {
			t.Errorf("of a retired sale: %v", err)
		}
		f.Kept = nil
		if _, err := auditor.Balance(t.Context(), ordertest.VoucherA); !errors.Is(err, voucher.ErrNotFound) {
			t.Errorf("of no voucher: %v", err)
		}
	})
}

// A caller that comes while a balance is being read gets the previous balance.
func TestAuditorDrawsOneBalanceAtATime(t *testing.T) {
	t.Parallel()
	f := newFakeBooks()
	synctest.Test(t, func(t *testing.T) {
		auditor := newTestAuditor(f)
		ask := func() {
			if b, err := auditor.Balance(t.Context(), ordertest.VoucherA); err != nil || b.Finding != Balanced {
				t.Errorf("balance %+v, %v", b, err)
			}
		}
		ask()
		time.Sleep(balanceTTL)
		f.slow = time.Second
		var asking sync.WaitGroup
		for range 20 {
			asking.Go(ask)
		}
		asking.Wait()
		if f.lookedAt != 2 {
			t.Errorf("checked %d times, want twice", f.lookedAt)
		}
	})
}

// A sale that changes while it is read is read again, a few times, until the readings of both stores match.
func TestAuditorReadsAgain(t *testing.T) {
	t.Parallel()
	f := newFakeBooks()
	f.account.Mark.Epoch = 2 // a rebuild has begun
	synctest.Test(t, func(t *testing.T) {
		time.AfterFunc(readAgain/2, func() {
			f.Mu.Lock()
			defer f.Mu.Unlock()
			f.holdings.Mark, f.account.Mark = order.Mark{Epoch: 2}, order.Mark{Epoch: 2}
			f.Kept[0].Sale.Epoch, f.Kept[0].Sale.Sequence = 2, 0
		})
		b, err := newTestAuditor(f).Balance(t.Context(), ordertest.VoucherA)
		if err != nil || b.Finding != Balanced || !b.Complete || f.lookedAt != 2 {
			t.Errorf("%+v, %v after %d readings", b, err, f.lookedAt)
		}
	})
}
