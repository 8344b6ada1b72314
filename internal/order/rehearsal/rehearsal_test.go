package rehearsal

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// now is the time by Redis's clock.
var now = time.Date(2026, 6, 1, 18, 0, 0, 0, time.UTC)

// fakeStores are the sales, their clock, the vouchers and the lock.
type fakeStores struct {
	sales   []voucher.Voucher
	busy    bool
	created []time.Time // begin and end of what was created
	changed []int64
	fails   error
	hung    []int // the partitions whose nodes do not answer
}

func (f *fakeStores) SalesToKeep(context.Context) ([]voucher.Voucher, error) { return f.sales, f.fails }

func (f *fakeStores) TimeIn(_ context.Context, partition int) (time.Time, error) {
	if slices.Contains(f.hung, partition) {
		return time.Time{}, order.ErrUnavailable
	}
	return now, f.fails
}

func (f *fakeStores) CreateRehearsal(_ context.Context, _ voucher.Author, of int64, begin, end time.Time) (voucher.Shown, error) {
	f.created = append(f.created, begin, end)
	return voucher.Shown{Voucher: voucher.Voucher{ID: of + 100}}, f.fails
}

func (f *fakeStores) Change(_ context.Context, _ voucher.Author, id int64, _ voucher.Change) (voucher.Shown, bool, error) {
	f.changed = append(f.changed, id)
	return voucher.Shown{}, true, f.fails
}

func (f *fakeStores) Do(ctx context.Context, _ string, do func(context.Context) error) error {
	return do(ctx)
}

func (f *fakeStores) TryDo(ctx context.Context, _ string, do func(context.Context) error) error {
	if f.busy {
		return order.ErrBusy
	}
	return do(ctx)
}

func sale(id int64, begin, end time.Duration) voucher.Voucher {
	return voucher.Voucher{
		ID: id, ShopID: 1, Title: "100 for 10", Status: voucher.OnShelf, Sale: &voucher.Sale{Begin: now.Add(begin), End: now.Add(end)},
	}
}

func rehearsed(v voucher.Voucher) voucher.Voucher {
	v.ShopID = voucher.RehearsalShop
	return v
}

func offShelf(v voucher.Voucher) voucher.Voucher {
	v.Status = voucher.OffShelf
	return v
}

// No rehearsal starts while a sale runs or begins within the hour, or another rehearsal has not ended; the error says which.
func inPartition(n int, v voucher.Voucher) voucher.Voucher {
	v.Sale.Partition = n
	return v
}

func TestStart(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for name, tc := range map[string]struct {
		sales []voucher.Voucher
		busy  bool
		hung  []int
		want  string // of the error; "": it starts
	}{
		"no sale":                     {},
		"another partition hangs":     {sales: []voucher.Voucher{inPartition(2, sale(7, 24*hour, 25*hour)), sale(8, 48*hour, 49*hour)}, hung: []int{0, 1}},
		"its partition hangs":         {sales: []voucher.Voucher{inPartition(2, sale(7, 24*hour, 25*hour)), sale(8, 48*hour, 49*hour)}, hung: []int{2}, want: order.ErrUnavailable.Error()},
		"a sale tomorrow":             {sales: []voucher.Voucher{sale(7, 24*hour, 25*hour)}},
		"in an hour":                  {sales: []voucher.Voucher{sale(7, hour, 2*hour)}},
		"just within the hour":        {sales: []voucher.Voucher{sale(3, 24*hour, 25*hour), sale(7, hour-time.Second, 2*hour)}, want: "the sale of voucher 7 (100 for 10) begins at 2026-06-01 18:59:59 UTC"},
		"a sale runs":                 {sales: []voucher.Voucher{sale(7, -hour, hour)}, want: "voucher 7 (100 for 10) runs until 2026-06-01 19:00:00 UTC"},
		"a sale has ended":            {sales: []voucher.Voucher{sale(7, -hour, 0)}},
		"it is off the shelf":         {sales: []voucher.Voucher{offShelf(sale(7, -hour, hour))}},
		"a rehearsal runs":            {sales: []voucher.Voucher{rehearsed(sale(7, 0, time.Minute))}, want: "a rehearsal, voucher 7, has not ended"},
		"a rehearsal has ended":       {sales: []voucher.Voucher{rehearsed(sale(7, -hour, -time.Minute))}},
		"another is being started":    {busy: true, want: order.ErrBusy.Error()},
		"off the shelf, and its hour": {sales: []voucher.Voucher{offShelf(sale(7, 0, hour)), sale(9, 0, hour)}, want: "voucher 9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeStores{sales: tc.sales, busy: tc.busy, hung: tc.hung}
			_, err := New(f, f, f, f).Start(t.Context(), voucher.Author{}, 7)
			switch {
			case tc.want == "" && (err != nil || !slices.Equal(f.created, []time.Time{now.Add(-time.Second), now.Add(MaxLength)})):
				t.Errorf("created %v, %v; want one of the greatest length", f.created, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || len(f.created) > 0):
				t.Errorf("created %v, %v; want %q", f.created, err, tc.want)
			}
		})
	}
}

func TestEnd(t *testing.T) {
	t.Parallel()
	ends := func(in time.Duration) voucher.Voucher {
		v := rehearsed(sale(107, 0, 0))
		v.Sale.End = time.Now().Add(in)
		return v
	}
	for name, tc := range map[string]struct {
		sale         voucher.Voucher
		read, change error
		changed      bool
		want         error
	}{
		"it runs":                 {sale: ends(time.Hour), changed: true},
		"it has ended":            {sale: ends(-time.Second)},
		"it ends in a moment":     {sale: ends(time.Second)},
		"it is retired":           {sale: sale(7, 0, time.Hour)},
		"it is retired meanwhile": {sale: ends(time.Hour), change: voucher.ErrRetired, changed: true},
		"it is removed meanwhile": {sale: ends(time.Hour), change: voucher.ErrNotFound, changed: true},
		"without a ledger":        {sale: ends(time.Hour), read: order.ErrUnavailable, want: order.ErrUnavailable},
		"the ledger fails":        {sale: ends(time.Hour), change: order.ErrUnavailable, changed: true, want: order.ErrUnavailable},
	} {
		f, failing := &fakeStores{sales: []voucher.Voucher{tc.sale}, fails: tc.read}, &fakeStores{fails: tc.change}
		err := New(f, f, failing, f).End(t.Context(), voucher.Author{}, 107)
		if !errors.Is(err, tc.want) || slices.Equal(failing.changed, []int64{107}) != tc.changed {
			t.Errorf("%s: changed %v, %v", name, failing.changed, err)
		}
	}
}

// fakeRows are rehearsals with orders.
type fakeRows struct {
	fakeStores

	orders map[int64]int
	failAt int // of the calls, from 1
	calls  int
}

func (f *fakeRows) RetiredRehearsals(context.Context) (ids []int64, err error) {
	for id := range f.orders {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}

func (f *fakeRows) EmptyRehearsal(_ context.Context, id int64, n int) (bool, error) {
	if f.calls++; f.calls == f.failAt {
		return false, order.ErrUnavailable
	}
	if f.orders[id] == 0 {
		delete(f.orders, id)
		return true, nil
	}
	f.orders[id] -= min(n, f.orders[id])
	return false, nil
}

// Every rehearsal is emptied in the end, also if the ledger fails in the middle.
func TestEmptier(t *testing.T) {
	t.Parallel()
	for failAt := range 6 {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeRows{orders: map[int64]int{7: 1200, 9: 0}, failAt: failAt}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := NewEmptier(f, f, slog.New(slog.DiscardHandler)).Run(ctx); err != nil || len(f.orders) > 0 {
				t.Errorf("fails at %d: left %v, %v", failAt, f.orders, err)
			}
		})
	}
}

func TestForecast(t *testing.T) {
	t.Parallel()
	good := Figures{
		Stock: 100, Buyers: 1000, Requests: 1000, Accepted: 100, SoldOut: 2 * time.Second, P50: 5 * time.Millisecond, P99: 40 * time.Millisecond,
		MemoryIdle: 10 << 20, MemoryPeak: 12 << 20, MemoryMax: 100 << 20,
	}
	for name, tc := range map[string]struct {
		change func(*Figures)
		noGo   string
	}{
		"good":                    {func(*Figures) {}, ""},
		"no limit of memory":      {func(f *Figures) { f.MemoryMax = 0 }, ""},
		"too few buyers":          {func(f *Figures) { f.Buyers, f.Accepted, f.SoldOut = 50, 50, 0 }, ""},
		"units left":              {func(f *Figures) { f.Accepted, f.SoldOut = 90, 0 }, "10 units were left, though 1000 buyers came"},
		"slow":                    {func(f *Figures) { f.P99 = 3 * time.Second }, "waits for more than 2s"},
		"without answers":         {func(f *Figures) { f.Unclear = 11 }, "1.1 % of the requests"},
		"a few without answers":   {func(f *Figures) { f.Unclear = 10 }, ""},
		"nearly full":             {func(f *Figures) { f.MemoryPeak = 81 << 20 }, "81 % of its maxmemory"},
		"findings":                {func(f *Figures) { f.Findings = 2 }, "2 findings"},
		"ended early":             {func(f *Figures) { f.Early, f.SoldOut, f.Accepted = true, 0, 3 }, "ended early"},
		"nothing was sent at all": {func(f *Figures) { *f = Figures{Stock: 5} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := good
			tc.change(&f)
			got := f.Forecast()
			if why := strings.Join(got.NoGo, "; "); len(got.Lines) != 3 || (why == "") != (tc.noGo == "") || !strings.Contains(why, tc.noGo) {
				t.Errorf("no-go %q; want %q\n%s", why, tc.noGo, strings.Join(got.Lines, "\n"))
			}
		})
	}
}
