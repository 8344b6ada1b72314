package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/feature"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// now is the time by Redis's clock.
var now = time.Date(2026, 6, 1, 18, 0, 0, 0, time.UTC)

// fakeStores are the sales, their clock, the vouchers and the lock.
type fakeStores struct {
	sales   []voucher.Voucher
	locked  error       // of the lock
	runErr  error       // of everything about runs
	created []time.Time // begin and end of what was created
	changed []int64
	fails   error
	hung    []int // the partitions whose nodes do not answer
	alone   bool
	run     Run
	at      time.Time // by the ledger's clock; zero: now
}

func noMemory(context.Context) (used, limit int64, err error) { return 0, 0, order.ErrUnavailable }

func (f *fakeStores) parts() Parts {
	return Parts{
		SalesToKeep: f.SalesToKeep, TimeIn: f.TimeIn, Find: f.find,
		CreateBeside: f.CreateBeside, ChangeVoucher: f.Change, TryLock: f.TryDo, Runs: fakeRuns{f},
		Memory: noMemory, Alone: f.alone,
	}
}

// fakeRuns have one rehearsal.
type fakeRuns struct{ *fakeStores }

func (f fakeRuns) List(context.Context, int64, int) ([]Run, error) { return []Run{f.run}, f.runErr }

func (f fakeRuns) Find(context.Context, int64) (Run, error) { return f.run, f.runErr }

func (f fakeRuns) Change(_ context.Context, _ int64, change func(time.Time, *Run) error) (Run, error) {
	at := f.at
	if at.IsZero() {
		at = time.Now()
	}
	if f.runErr != nil {
		return f.run, f.runErr
	}
	err := change(at, &f.run)
	return f.run, err
}

func (f *fakeStores) SalesToKeep(context.Context) ([]voucher.Voucher, error) { return f.sales, f.fails }

func (f *fakeStores) TimeIn(_ context.Context, partition int) (time.Time, error) {
	if slices.Contains(f.hung, partition) {
		return time.Time{}, order.ErrUnavailable
	}
	return now, f.fails
}

// find finds a sale in partition 3 under every id but two: 8 is an ordinary voucher, and 9 none.
func (f *fakeStores) find(_ context.Context, id int64) (voucher.Voucher, error) {
	v := sale(id, 0, time.Hour)
	v.Sale.Partition = 3
	switch id {
	case 8:
		v.Sale = nil
	case 9:
		return voucher.Voucher{}, voucher.ErrNotFound
	}
	return v, nil
}

func (f *fakeStores) CreateBeside(
	_ context.Context, _ voucher.Author, v voucher.Voucher, other *voucher.Sale,
) (voucher.Shown, error) {
	if v.Rehearses != 7 || !v.Rehearsal() || other.Partition != 3 {
		return voucher.Shown{}, fmt.Errorf("created %+v beside %+v", v, other)
	}
	f.created = append(f.created, v.Sale.Begin, v.Sale.End)
	v.ID = 107
	return voucher.Shown{Voucher: v}, f.fails
}

func (f *fakeStores) Change(
	_ context.Context, _ voucher.Author, id int64, _ voucher.Change,
) (voucher.Shown, bool, error) {
	f.changed = append(f.changed, id)
	return voucher.Shown{}, true, f.fails
}

func (f *fakeStores) TryDo(ctx context.Context, _ string, do func(context.Context, int64) error) error {
	if f.locked != nil {
		return f.locked
	}
	return do(ctx, 1)
}

func sale(id int64, begin, end time.Duration) voucher.Voucher {
	return voucher.Voucher{
		ID: id, ShopID: 1, Title: "100 for 10", Status: voucher.OnShelf,
		Sale: &voucher.Sale{Begin: now.Add(begin), End: now.Add(end)},
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

func inPartition(n int, v voucher.Voucher) voucher.Voucher {
	v.Sale.Partition = n
	return v
}

// No rehearsal starts while a sale runs or begins within the hour, or another rehearsal has not ended; the error says
// which.
func TestStart(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for name, tc := range map[string]struct {
		sales []voucher.Voucher
		busy  error
		hung  []int
		alone bool
		want  string // of the error; "": it starts
	}{
		"no sale": {},
		"another partition hangs": {
			sales: []voucher.Voucher{inPartition(2, sale(7, 24*hour, 25*hour)), sale(8, 48*hour, 49*hour)},
			hung:  []int{0, 1},
		},
		"its partition hangs": {sales: []voucher.Voucher{
			inPartition(2, sale(7, 24*hour, 25*hour)), sale(8, 48*hour, 49*hour),
		}, hung: []int{2}, want: order.ErrUnavailable.Error()},
		"a sale tomorrow": {sales: []voucher.Voucher{sale(7, 24*hour, 25*hour)}},
		"in an hour":      {sales: []voucher.Voucher{sale(7, hour, 2*hour)}},
		"just within the hour": {
			sales: []voucher.Voucher{sale(3, 24*hour, 25*hour), sale(7, hour-time.Second, 2*hour)},
			want:  "the sale of voucher 7 (100 for 10) begins at 2026-06-01 18:59:59 UTC",
		},
		"a sale runs": {
			sales: []voucher.Voucher{sale(7, -hour, hour)},
			want:  "voucher 7 (100 for 10) runs until 2026-06-01 19:00:00 UTC",
		},
		"a sale has ended":            {sales: []voucher.Voucher{sale(7, -hour, 0)}},
		"a sale runs, for trying out": {sales: []voucher.Voucher{sale(7, -hour, hour)}, alone: true},
		"a rehearsal, for trying out": {
			sales: []voucher.Voucher{rehearsed(sale(7, 0, time.Minute))}, alone: true, want: "a rehearsal, voucher 7",
		},
		"it is off the shelf": {sales: []voucher.Voucher{offShelf(sale(7, -hour, hour))}},
		"a rehearsal runs": {
			sales: []voucher.Voucher{rehearsed(sale(7, 0, time.Minute))}, want: "a rehearsal, voucher 7, has not ended",
		},
		"a rehearsal has ended":    {sales: []voucher.Voucher{rehearsed(sale(7, -hour, -time.Minute))}},
		"another is being started": {busy: order.ErrBusy, want: order.ErrBusy.Error()},
		"off the shelf, and its hour": {
			sales: []voucher.Voucher{offShelf(sale(7, 0, hour)), sale(9, 0, hour)}, want: "voucher 9",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeStores{sales: tc.sales, locked: tc.busy, hung: tc.hung, alone: tc.alone}
			_, err := NewRehearsals(f.parts()).Start(t.Context(), voucher.Author{}, 7)
			switch {
			case tc.want == "" &&
				(err != nil || !slices.Equal(f.created, []time.Time{now.Add(-time.Second), now.Add(MaxLength)})):
				t.Errorf("created %v, %v; want one of the greatest length", f.created, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || len(f.created) > 0):
				t.Errorf("created %v, %v; want %q", f.created, err, tc.want)
			}
		})
	}
}

// Only a sale can be rehearsed.
func TestStartOfNoSale(t *testing.T) {
	t.Parallel()
	for id, want := range map[int64]error{8: voucher.ErrNotSeckill, 9: voucher.ErrNotFound} {
		f := &fakeStores{}
		if _, err := NewRehearsals(f.parts()).Start(t.Context(), voucher.Author{}, id); !errors.Is(err, want) ||
			len(f.created) > 0 {
			t.Errorf("voucher %d: created %v, %v; want %v", id, f.created, err, want)
		}
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
		"it is a real sale":       {sale: func() voucher.Voucher { v := ends(time.Hour); v.ShopID = 1; return v }()},
		"it is retired meanwhile": {sale: ends(time.Hour), change: voucher.ErrRetired, changed: true},
		"it is removed meanwhile": {sale: ends(time.Hour), change: voucher.ErrNotFound, changed: true},
		"without a ledger":        {sale: ends(time.Hour), read: order.ErrUnavailable, want: order.ErrUnavailable},
		"the ledger fails": {
			sale: ends(time.Hour), change: order.ErrUnavailable, changed: true, want: order.ErrUnavailable,
		},
	} {
		f, failing := &fakeStores{sales: []voucher.Voucher{tc.sale}, fails: tc.read}, &fakeStores{fails: tc.change}
		parts := f.parts()
		parts.ChangeVoucher = failing.Change
		_, err := NewRehearsals(parts).End(t.Context(), voucher.Author{}, 107)
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

// TryDoFenced has no other instance.
func (f *fakeRows) TryDoFenced(ctx context.Context, _ string, do func(context.Context, int64) error) error {
	return do(ctx, 1)
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
			ledger := feature.Ledger{RetiredRehearsals: f.RetiredRehearsals, EmptyRehearsal: f.EmptyRehearsal}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := emptier(ledger, f.TryDoFenced, slog.New(slog.DiscardHandler))(ctx)
			if err != nil || len(f.orders) > 0 {
				t.Errorf("fails at %d: left %v, %v", failAt, f.orders, err)
			}
		})
	}
}

// The crowd's reports are kept, with the most memory that Redis has used; the last one ends the sale, and nothing
// changes it any more.
func TestReport(t *testing.T) {
	t.Parallel()
	v := rehearsed(sale(107, 0, 0))
	v.Sale.End = time.Now().Add(time.Hour)
	f := &fakeStores{
		sales: []voucher.Voucher{v}, run: Run{VoucherID: 107, End: v.Sale.End, Figures: Figures{Stock: 40}},
	}
	var used int64
	parts := f.parts()
	parts.Memory = func(context.Context) (int64, int64, error) { return used, 100, nil }
	r := NewRehearsals(parts)
	report := func(memory, requests int64, done bool, want State) {
		t.Helper()
		used = memory
		if err := r.Report(t.Context(), 107, Figures{Requests: requests}, done); err != nil {
			t.Fatal(err)
		}
		if got := f.run.State(time.Now()); got != want {
			t.Errorf("it is %s, want %s", got, want)
		}
	}
	if got := f.run.State(time.Now()); got != Waiting {
		t.Errorf("it is %s", got)
	}
	report(10, 0, false, Running)
	report(30, 50, false, Running)
	report(20, 80, false, Running)
	if len(f.changed) > 0 {
		t.Error("the sale was ended while the crowd buys")
	}
	report(15, 90, true, Done)
	report(50, 1, true, Done)
	report(50, 1, false, Done)
	want := Figures{Stock: 40, Requests: 90, MemoryIdle: 10, MemoryPeak: 30, MemoryMax: 100}
	if f.run.Figures != want || len(f.changed) == 0 {
		t.Errorf("kept %+v, ended %v; want %+v", f.run.Figures, f.changed, want)
	}

	late := &fakeStores{run: Run{VoucherID: 108, End: now}, at: now.Add(2 * time.Minute)}
	err := NewRehearsals(late.parts()).Report(t.Context(), 108, Figures{}, true)
	if !errors.Is(err, ErrOver) {
		t.Errorf("two minutes after its end: %v", err)
	}
	if got := late.run.State(late.at); got != Lost {
		t.Errorf("it is %s", got)
	}
}
