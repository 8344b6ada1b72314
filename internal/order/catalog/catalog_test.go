package catalog

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

var errAway = errors.New("the ledger is away")

// fakeLedger counts queries. It answers after a while, unless the caller has given up.
type fakeLedger struct {
	mu       sync.Mutex
	vouchers map[int64]voucher.Voucher
	away     bool
	takes    time.Duration
	asked    int
}

func (l *fakeLedger) Voucher(ctx context.Context, id int64) (voucher.Voucher, error) {
	select {
	case <-time.After(l.takes):
	case <-ctx.Done():
		return voucher.Voucher{}, ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	v, has := l.vouchers[id]
	switch {
	case l.away:
		return voucher.Voucher{}, errAway
	case !has:
		return voucher.Voucher{}, voucher.ErrNotFound
	default:
		return v, nil
	}
}

func titled(id int64, title string) voucher.Voucher { return voucher.Voucher{ID: id, Title: title} }

// inBubble runs f with a catalog over a ledger with the voucher 1 and the sales 3 and 4, which has left Redis.
func inBubble(t *testing.T, f func(t *testing.T, c *Catalog, l *fakeLedger)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &fakeLedger{takes: time.Millisecond, vouchers: map[int64]voucher.Voucher{
			1: titled(1, "now"), 3: {ID: 3, Sale: &voucher.Sale{}}, 4: {ID: 4, Sale: &voucher.Sale{Retired: true}},
		}}
		c := New(l)
		defer c.Close()
		f(t, c, l)
	})
}

func TestVouchersAreRemembered(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		id     int64
		after  time.Duration // between the two calls of Find
		forget bool
		want   error
		asked  int
	}{
		"a voucher":                  {id: 1, after: otherTTL - time.Second, asked: 1},
		"for ten seconds":            {id: 1, after: otherTTL + time.Second, asked: 2},
		"a sale":                     {id: 3, after: saleTTL - time.Minute, asked: 1},
		"for an hour":                {id: 3, after: saleTTL + time.Minute, asked: 2},
		"a sale that has left Redis": {id: 4, after: otherTTL + time.Second, asked: 2},
		"a changed voucher":          {id: 1, forget: true, asked: 2},
		"an unknown id":              {id: 2, want: voucher.ErrNotFound, asked: 1},
		"an unknown id for a second": {id: 2, after: 3 * missTTL, want: voucher.ErrNotFound, asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, c *Catalog, l *fakeLedger) {
				for range 2 {
					if v, err := c.Find(t.Context(), tc.id); !errors.Is(err, tc.want) ||
						tc.want == nil && v.ID != tc.id {
						t.Errorf("voucher %d, %v; want %v", v.ID, err, tc.want)
					}
					time.Sleep(tc.after)
					if tc.forget {
						c.Forget(tc.id)
					}
				}
				if l.asked != tc.asked {
					t.Errorf("the ledger was asked %d times, want %d", l.asked, tc.asked)
				}
			})
		})
	}
}

// Read returns the voucher as the ledger has it. Find may return an older one, which a sweep has stored meanwhile.
// Compared with that, Redis would seem to be ahead, and a healthy sale would be rebuilt.
func TestReadSharesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *Catalog, l *fakeLedger) {
		held := &heldLedger{fakeLedger: l, held: make(chan struct{})}
		c.source = held
		read := make(chan voucher.Voucher)
		go func() {
			v, err := c.Read(t.Context(), 1)
			if err != nil {
				t.Error(err)
			}
			read <- v
		}()
		time.Sleep(l.takes + time.Millisecond)
		synctest.Wait() // the query has read, and its answer is on its way
		c.SetSales([]voucher.Voucher{{ID: 1, Title: "as a sweep read it", Sale: &voucher.Sale{}}})
		close(held.held)
		if v := <-read; v.Title != "now" {
			t.Errorf("Read: %q", v.Title)
		}
		if e, known := c.cache.GetIfPresent(1); !known || e.voucher.Title != "now" {
			t.Errorf("cached after Read: %q", e.voucher.Title)
		}
	})
}

// heldLedger delays its first answer until held is closed.
type heldLedger struct {
	*fakeLedger
	held  chan struct{}
	later atomic.Bool
}

func (l *heldLedger) Voucher(ctx context.Context, id int64) (voucher.Voucher, error) {
	v, err := l.fakeLedger.Voucher(ctx, id)
	if !l.later.Swap(true) {
		<-l.held
	}
	return v, err
}

// Cached vouchers stay valid while the ledger is away, and its failures are not cached.
func TestLedgerIsAway(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *Catalog, l *fakeLedger) {
		if _, err := c.Find(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		l.vouchers[2], l.away = titled(2, "new"), true
		if v, err := c.Find(t.Context(), 1); err != nil || v.ID != 1 {
			t.Errorf("a remembered voucher: %+v, %v", v, err)
		}
		if _, err := c.Find(t.Context(), 2); !errors.Is(err, order.ErrUnavailable) || !errors.Is(err, errAway) {
			t.Errorf("a voucher that is not cached: error = %v, want ErrUnavailable", err)
		}
		l.away = false
		if v, err := c.Find(t.Context(), 2); err != nil || v.ID != 2 {
			t.Errorf("a voucher that is not cached, when the ledger is back: %+v, %v", v, err)
		}
		l.takes = 2 * LoadTimeout
		start := time.Now()
		if _, err := c.Find(t.Context(), 3); !errors.Is(err, order.ErrUnavailable) || time.Since(start) != LoadTimeout {
			t.Errorf("a ledger that does not answer: %v after %v", err, time.Since(start))
		}
	})
}

// A thousand callers share a query, which does not end with the first of them.
func TestCallersShareAQuery(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *Catalog, l *fakeLedger) {
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _, _ = c.Find(ctx, 1) }) // this caller gives up
		synctest.Wait()
		for range 1000 {
			all.Go(func() {
				if v, err := c.Find(t.Context(), 1); err != nil || v.ID != 1 {
					t.Errorf("%+v, %v", v, err)
				}
			})
		}
		synctest.Wait()
		cancel()
		all.Wait()
		if l.asked != 1 {
			t.Errorf("the ledger was asked %d times", l.asked)
		}
	})
}

func TestSetSales(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *Catalog, l *fakeLedger) {
		first, second := titled(1, "on sale"), titled(2, "on sale")
		first.Sale, second.Sale = &voucher.Sale{}, &voucher.Sale{}
		c.SetSales([]voucher.Voucher{first, second})
		if v, err := c.Find(t.Context(), 1); err != nil || v.Title != "on sale" || l.asked != 0 {
			t.Errorf("%+v, %v, asked %d times", v, err, l.asked)
		}
		sales := func() (ids []int64) {
			for _, v := range c.sales {
				ids = append(ids, v.ID)
			}
			return slices.Sorted(slices.Values(ids))
		}
		if got := sales(); !slices.Equal(got, []int64{1, 2}) {
			t.Errorf("on sale: %v", got)
		}
		c.SetSales([]voucher.Voucher{second})
		if got := sales(); !slices.Equal(got, []int64{2}) {
			t.Errorf("on sale: %v", got)
		}
		if v, err := c.Find(t.Context(), 1); err != nil || v.Title != "now" || l.asked != 1 {
			t.Errorf("a voucher no longer on sale: %+v, %v, asked %d times", v, err, l.asked)
		}
	})
}

// AnyGuards knows the guards of sales for as long as they have them.
func TestAnyGuards(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *Catalog, _ *fakeLedger) {
		cools := func(s *guards.Settings) bool { return s.CoolDown != nil }
		first, second := titled(1, "on sale"), titled(2, "on sale")
		first.Sale = &voucher.Sale{Guards: &guards.Settings{Limits: &guards.Limits{}}}
		second.Sale = &voucher.Sale{Guards: &guards.Settings{CoolDown: &guards.CoolDown{}}}
		for _, step := range []struct {
			sales []voucher.Voucher
			want  bool
		}{{nil, false}, {[]voucher.Voucher{first}, false}, {[]voucher.Voucher{first, second}, true}, {
			[]voucher.Voucher{first}, false,
		}} {
			c.SetSales(step.sales)
			if got := c.AnyGuards(cools); got != step.want {
				t.Errorf("%d sales: %t", len(step.sales), got)
			}
		}
	})
}

// A hidden sale counts in AnyGuards, but its own guards are kept secret until Redis, whose clock may be ahead, shows
// the sale, and while it is off the shelf.
func TestGuardsOfAHiddenSale(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *Catalog, _ *fakeLedger) {
		v := titled(1, "on sale")
		v.Status, v.VisibleFrom = voucher.OnShelf, time.Now().Add(time.Minute)
		v.Sale = &voucher.Sale{Guards: &guards.Settings{CoolDown: &guards.CoolDown{}}}
		c.SetSales([]voucher.Voucher{v})
		if !c.AnyGuards(func(s *guards.Settings) bool { return s.CoolDown != nil }) {
			t.Error("AnyGuards does not know the guards of a sale that is hidden")
		}
		time.Sleep(time.Minute - shownAhead - time.Millisecond)
		if c.Guards(1) != nil {
			t.Error("Guards returns those of a hidden sale")
		}
		time.Sleep(time.Millisecond)
		if c.Guards(1) == nil {
			t.Error("Guards returns none at the moment at which the sale becomes visible")
		}
		v.Status = voucher.OffShelf
		if c.SetSales([]voucher.Voucher{v}); c.Guards(1) != nil {
			t.Error("Guards returns those of a sale that is off the shelf")
		}
	})
}

// MaySell returns sales inside the window, sales with a changed window, and named ones.
func TestMaySell(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *Catalog, _ *fakeLedger) {
		now := time.Now()
		sale := func(id int64, begin, end time.Duration, operations int64) voucher.Voucher {
			v := titled(id, "sale")
			v.Sale = &voucher.Sale{Begin: now.Add(begin), End: now.Add(end), LastOperation: operations}
			return v
		}
		c.SetSales([]voucher.Voucher{
			sale(1, -3*time.Hour, -2*time.Hour, 0), sale(2, -time.Hour, time.Hour, 0),
			sale(3, time.Hour, 2*time.Hour, 0),
			sale(4, time.Hour, 2*time.Hour, 1), sale(5, -3*time.Hour, -time.Minute, 0),
		})
		for name, tc := range map[string]struct {
			since time.Time
			also  []int64
			want  []int64
		}{
			"now":                  {now, nil, []int64{2, 4}},
			"a while ago":          {now.Add(-10 * time.Minute), nil, []int64{2, 4, 5}},
			"ever":                 {time.Time{}, nil, []int64{1, 2, 4, 5}},
			"and one that is over": {now, []int64{1, 2, 77}, []int64{1, 2, 4}},
		} {
			var got []int64
			sales := c.MaySell(0, tc.since, now, tc.also)
			_, keeps := c.Kept()
			if !keeps(5) || keeps(6) {
				t.Error("keeps and Keeps disagree")
			}
			for _, v := range sales {
				got = append(got, v.ID)
			}
			slices.Sort(got)
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s: %v, want %v", name, got, tc.want)
			}
		}
		if c.Newest() != 5 {
			t.Errorf("the newest voucher is %d", c.Newest())
		}
		c.SetSales(nil)
		if got := c.MaySell(0, time.Time{}, now, []int64{1}); len(got) > 0 || c.Newest() != 0 {
			t.Errorf("without sales: %v, newest %d", got, c.Newest())
		}
	})
}
