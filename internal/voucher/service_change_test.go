package voucher

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/idempotency"
)

// fakeChanges is a ledger of one voucher with its changes, and the Redis that flushes it.
type fakeChanges struct {
	voucher Voucher
	fails   error // of the ledger's next call
	away    bool  // whether Redis is away
	units   int64 // left in Redis
	missing bool  // whether Redis does not hold the sale
	voids   int   // how many changes that take units a rebuild voids
	keys    map[string]*StockChange
	by      Author
	flushes int
	changed []int64 // vouchers whose lists were notified
}

func (f *fakeChanges) CallOff(_ context.Context, _ int64, by Author, _ string) (Voucher, error) {
	if f.fails != nil {
		return Voucher{}, f.fails
	}
	f.by, f.voucher.Sale.CalledOff = by, time.Unix(1, 0)
	return f.voucher, nil
}

func (f *fakeChanges) Changed(_ context.Context, v Voucher) { f.changed = append(f.changed, v.ID) }

func newFakeChanges() *fakeChanges {
	return &fakeChanges{voucher: selling(), units: 5, keys: map[string]*StockChange{}}
}

func (f *fakeChanges) service() *Service {
	ledger := &fakeLedger{vouchers: []Voucher{f.voucher}}
	return NewService(Parts{
		Ledger: ledger, Changes: f, Outbox: f, Changed: f.Changed, Live: f.Live, Open: f.Open,
		Now: func() time.Time { return now },
	})
}

func (f *fakeChanges) failure() error {
	err := f.fails
	f.fails = nil
	return err
}

func (f *fakeChanges) ChangeVoucher(
	_ context.Context, id int64, by Author, alter func(*Voucher) error,
) (Voucher, error) {
	if id != f.voucher.ID {
		return Voucher{}, ErrNotFound
	}
	if err := f.failure(); err != nil {
		return Voucher{}, err
	}
	v := f.voucher
	if v.Sale != nil {
		sale := *v.Sale
		v.Sale = &sale
	}
	if err := alter(&v); err != nil {
		return Voucher{}, err
	}
	f.voucher, f.by = v, by
	return v, nil
}

func (f *fakeChanges) ChangeStock(
	_ context.Context, id int64, by Author, delta int64, key string,
) (StockChange, error) {
	if id != f.voucher.ID {
		return StockChange{}, ErrNotFound
	}
	if err := f.failure(); err != nil {
		return StockChange{}, err
	}
	f.by = by
	c := f.keys[key]
	if c == nil {
		c = &StockChange{Delta: delta, Number: int64(len(f.keys)) + 1}
		f.keys[key] = c
	}
	if c.Delta != delta {
		return StockChange{}, idempotency.ErrReused
	}
	return *c, nil
}

func (f *fakeChanges) Flush(context.Context, int64) error {
	f.flushes++
	if f.away {
		return errAway
	}
	for key, c := range f.keys {
		switch {
		case c.State != StockPending:
		case c.Delta < 0 && f.voids > 0:
			f.voids--
			delete(f.keys, key)
		case f.units+c.Delta < 0:
			c.State = StockRefused
		default:
			f.units += c.Delta
			c.State = StockDone
		}
	}
	return nil
}

func (f *fakeChanges) Live(context.Context, []Voucher) ([]Live, time.Time, error) {
	if f.away {
		return nil, time.Time{}, errAway
	}
	return []Live{{State: StateOnSale, Stock: f.units, Missing: f.missing}}, now, nil
}

func (f *fakeChanges) Open(context.Context, int64) error { return nil }

func TestServiceChange(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change   Change
		ordinary bool
		away     bool
		applied  bool
		flushes  int
	}{
		"texts are the ledger's alone": {change: Change{Title: new("x")}, away: true, applied: true},
		"a window is applied": {
			change: Change{End: new(now.Add(5 * time.Hour))}, applied: true, flushes: 1,
		},
		"the shelf is applied":             {change: Change{OnShelf: new(false)}, applied: true, flushes: 1},
		"Redis is away":                    {change: Change{OnShelf: new(false)}, away: true, flushes: 1},
		"an earlier change may be pending": {change: Change{OnShelf: new(true)}, away: true, flushes: 1},
		"an ordinary voucher has no sale in Redis": {
			change: Change{OnShelf: new(false)}, ordinary: true, away: true, applied: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeChanges()
			f.away = tc.away
			if tc.ordinary {
				f.voucher.Sale, f.voucher.Kind = nil, Ordinary
			}
			shown, applied, err := f.service().Change(t.Context(), author, 1, tc.change)
			if err != nil || applied != tc.applied || f.flushes != tc.flushes || f.by != author {
				t.Errorf("applied %t after %d flushes, by %+v, %v", applied, f.flushes, f.by, err)
			}
			if diff := cmp.Diff([]int64{1}, f.changed); diff != "" {
				t.Errorf("lists that were notified (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(f.voucher, shown.Voucher); diff != "" {
				t.Errorf("shown (-stored +shown):\n%s", diff)
			}
		})
	}
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	f := newFakeChanges()
	s := f.service()
	for _, step := range []struct {
		do     func(context.Context, Author, int64) (Shown, bool, error)
		away   bool
		paused bool
	}{
		{s.Pause, false, true},
		{s.Pause, false, true},
		{s.Resume, false, false},
		{s.Resume, true, false},
		{s.Pause, true, true},
	} {
		f.away = step.away
		shown, applied, err := step.do(t.Context(), author, 1)
		if err != nil || applied == step.away || shown.Sale.Paused != step.paused ||
			f.voucher.Sale.Paused != step.paused || shown.Live == nil {
			t.Errorf("%+v: paused %t, applied %t, %v", step, shown.Sale.Paused, applied, err)
		}
	}
}

func TestImpossibleChanges(t *testing.T) {
	t.Parallel()
	ordinary := func(f *fakeChanges) { f.voucher.Sale = nil }
	retired := func(f *fakeChanges) { f.voucher.Sale.Retired = true }
	away := func(f *fakeChanges) { f.fails = errAway }
	pause := func(s *Service, id int64) error { _, _, err := s.Pause(t.Context(), author, id); return err }
	resume := func(s *Service, id int64) error { _, _, err := s.Resume(t.Context(), author, id); return err }
	change := func(s *Service, id int64) error {
		_, _, err := s.Change(t.Context(), author, id, Change{Title: new("x")})
		return err
	}
	stock := func(s *Service, id int64) error { _, _, err := s.AddStock(t.Context(), author, id, 1, "k"); return err }
	for name, tc := range map[string]struct {
		set  func(*fakeChanges)
		id   int64
		do   func(*Service, int64) error
		want error
	}{
		"pause of an unknown id":    {id: 2, do: pause, want: ErrNotFound},
		"change of an unknown id":   {id: 2, do: change, want: ErrNotFound},
		"stock of an unknown id":    {id: 2, do: stock, want: ErrNotFound},
		"pause of an ordinary one":  {set: ordinary, id: 1, do: pause, want: ErrNotSeckill},
		"resume of an ordinary one": {set: ordinary, id: 1, do: resume, want: ErrNotSeckill},
		"pause of a retired one":    {set: retired, id: 1, do: pause, want: ErrRetired},
		"resume of a retired one":   {set: retired, id: 1, do: resume, want: ErrRetired},
		"pause without the ledger":  {set: away, id: 1, do: pause, want: errAway},
		"change without the ledger": {set: away, id: 1, do: change, want: errAway},
		"stock without the ledger":  {set: away, id: 1, do: stock, want: errAway},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeChanges()
			if tc.set != nil {
				tc.set(f)
			}
			if err := tc.do(f.service(), tc.id); !errors.Is(err, tc.want) || f.flushes != 0 {
				t.Errorf("error = %v after %d flushes, want %v", err, f.flushes, tc.want)
			}
		})
	}
}
