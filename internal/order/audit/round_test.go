package audit

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/kit/retry"
	"seckill/internal/order"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

// manySales is a store of n sales, each of which takes a while to check. Those in wrong have too many units until they
// are repaired, and those in broken cannot be read.
type manySales struct {
	*fakeAuditStores

	took     time.Duration
	asked    time.Duration // total time spent on reading
	wrong    map[int64]bool
	broken   map[int64]bool
	repaired map[int64]time.Time
	waited   time.Duration // the longest time without a check that was reported
}

func newManySales(n int64) *manySales {
	f := newFakeBooks()
	m := &manySales{
		fakeAuditStores: f, took: 5 * time.Millisecond, wrong: map[int64]bool{}, broken: map[int64]bool{},
		repaired: map[int64]time.Time{},
	}
	first := f.Kept[0]
	f.Kept, f.suspects = nil, NewSuspects()
	for id := range n {
		v := first
		v.ID = id + 1
		f.Kept = append(f.Kept, v)
	}
	f.holdings.Waiting = NotCounted // a long backlog
	return m
}

func (m *manySales) Inventory(_ context.Context, sale order.SaleRef) (Inventory, error) {
	time.Sleep(m.took)
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.asked += m.took
	if m.broken[sale.VoucherID] {
		return Inventory{}, errors.New("nonsense")
	}
	h := m.holdings
	if m.wrong[sale.VoucherID] {
		h.Stock += 50
	}
	return h, nil
}

func (m *manySales) RequestRepair(sale int64, _ int64) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.repaired[sale] = time.Now()
	m.wrong[sale] = false
}

func (m *manySales) Audited(_ []Balance, unchecked time.Duration, _ error) {
	m.waited = max(m.waited, unchecked)
}

// run audits for the given time.
func (m *manySales) run(t *testing.T, while time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), while)
	defer cancel()
	a := New(Stores{
		Sales: m, Vouchers: m, Totals: m.LedgerTotals, Inventory: m.Inventory,
		TryLock: m.TryDo, Pause: m.Pause, Suspects: m.suspects,
	},
		m, m, ordertest.Quiet())
	if err := a.Run(ctx); err != nil {
		t.Error(err)
	}
}

// A thousand sales are all checked within a minute, in a tenth of the time, however long the backlog is. A sale that
// cannot be read does not keep those after it from being checked.
func TestAuditorGoesRound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newManySales(1000)
		m.broken[3] = true
		m.wrong[990] = true
		start := time.Now()
		m.run(t, 5*time.Minute)
		if share := float64(m.asked) / float64(5*time.Minute); share > 0.11 {
			t.Errorf("the stores were read %.0f %% of the time", 100*share)
		}
		if took := m.repaired[990].Sub(start); took <= 0 || took > 70*time.Second {
			t.Errorf("the wrong sale was repaired after %v", took)
		}
		if m.waited < 4*time.Minute {
			t.Errorf("the longest reported time without a check is %v, but one sale can never be checked", m.waited)
		}
	})
}

// A suspect is checked within a second and, if it is wrong, confirmed and repaired within seconds, at any point of the
// round.
func TestAuditorChecksSuspectsFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newManySales(1000)
		var wrong time.Time
		time.AfterFunc(42*time.Second, func() {
			m.Mu.Lock()
			defer m.Mu.Unlock()
			wrong = time.Now()
			m.wrong[500] = true
			go func() { // as sweeps do each second
				for range 30 {
					m.suspects.Suspect(500)
					time.Sleep(time.Second)
				}
			}()
		})
		m.run(t, 2*time.Minute)
		if took := m.repaired[500].Sub(wrong); took <= 0 || took > 15*time.Second {
			t.Errorf("repaired after %v", took)
		}
		if share := float64(m.asked) / float64(2*time.Minute); share > 0.12 {
			t.Errorf("the stores were read %.0f %% of the time", 100*share)
		}
	})
}

// Suspects with nothing wrong are not checked again and again, and keep no other sale from being checked.
func TestAuditorIsNotRushed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newManySales(10)
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			for ctx.Err() == nil {
				m.suspects.Suspect(5)
				m.suspects.Suspect(99) // a sale that is gone
				retry.Sleep(ctx, 100*time.Millisecond)
			}
		}()
		m.run(t, time.Minute)
		stop()
		if m.asked > 3*time.Second {
			t.Errorf("the stores were read for %v of a minute", m.asked)
		}
		if m.waited > 2*auditEvery {
			t.Errorf("a sale was not checked for %v", m.waited)
		}
	})
}

// A retired sale is forgotten.
func TestAuditorForgetsRetiredSales(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newManySales(3)
		time.AfterFunc(20*time.Second, func() {
			m.Mu.Lock()
			defer m.Mu.Unlock()
			m.Kept = []voucher.Voucher{m.Kept[0]}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		a := New(Stores{
			Sales: m, Vouchers: m, Totals: m.LedgerTotals, Inventory: m.Inventory,
			TryLock: m.TryDo, Pause: m.Pause, Suspects: m.suspects,
		},
			m, m, ordertest.Quiet())
		_ = a.Run(ctx)
		if len(a.known()) != 1 || len(a.checked) != 1 {
			t.Errorf("%d balances and %d times of checks are kept", len(a.known()), len(a.checked))
		}
	})
}

// A silent partition has turns only as long as it has sales.
func TestSilenceForgetsEmptyPartitions(t *testing.T) {
	t.Parallel()
	s := newSilence()
	for range maxFailures {
		for _, p := range []int{1, 2, 3} {
			s.note(p, order.ErrUnavailable, checkTimeout)
		}
	}
	if got := []int{s.next(), s.next(), s.next(), s.next()}; !slices.Equal(got, []int{1, 2, 3, 1}) {
		t.Errorf("turns are %v", got)
	}
	s.keep(map[int64]int{70: 2, 71: 4})
	if got := []int{s.next(), s.next()}; !slices.Equal(got, []int{2, 2}) {
		t.Errorf("with sales in partitions 2 and 4, the turns are %v", got)
	}
	if s.keep(nil); s.next() != noPartition {
		t.Error("a partition without sales has a turn")
	}
}

// hangingSales are sales of which those in one partition hang until the store times out.
type hangingSales struct {
	*manySales

	hangs func(partition int) bool
	asked map[int]int // checks that hung, by partition
}

func (h *hangingSales) Inventory(ctx context.Context, sale order.SaleRef) (Inventory, error) {
	if h.hangs(sale.Partition) {
		h.Mu.Lock()
		h.asked[sale.Partition]++
		h.Mu.Unlock()
		retry.Sleep(ctx, order.RedisTimeout)
		return Inventory{}, order.ErrUnavailable
	}
	return h.manySales.Inventory(ctx, sale)
}

// While the nodes of some partitions hang, wrong sales in the others are found, confirmed and repaired. Once a node
// answers again, so are its own.
func TestAuditorGoesPastHungPartitions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newManySales(600)
		for i := range m.Kept {
			sale := *m.Kept[i].Sale
			sale.Partition = i % 6
			m.Kept[i].Sale = &sale
		}
		const healthy, silent = 590, 592 // in partitions 1 and 3
		m.wrong[healthy], m.wrong[silent] = true, true
		start := time.Now()
		back := start.Add(5 * time.Minute)
		h := &hangingSales{
			manySales: m, asked: map[int]int{}, hangs: func(p int) bool { return p >= 2 && time.Now().Before(back) },
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		a := New(Stores{
			Sales: h, Vouchers: h, Totals: h.LedgerTotals, Inventory: h.Inventory,
			TryLock: h.TryDo, Pause: h.Pause, Suspects: h.suspects,
		},
			h, h, ordertest.Quiet())
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
		if took := m.repaired[healthy].Sub(start); took <= 0 || took > 150*time.Second {
			t.Errorf("the wrong sale was repaired after %v", took)
		}
		if took := m.repaired[silent].Sub(back); took <= 0 || took > 90*time.Second {
			t.Errorf("the wrong sale in a hung partition was repaired %v after that answered", took)
		}
		for p := 2; p < 6; p++ {
			if n := h.asked[p]; n < maxFailures || n > 25 {
				t.Errorf("partition %d was read %d times while it hung", p, n)
			}
		}
	})
}
