package voucher

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddStock(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		delta    int64
		away     bool
		voids    int
		followed bool
		units    int64 // left in Redis afterwards
		err      error
	}{
		"some more":                     {delta: 3, followed: true, units: 8},
		"some more while Redis is away": {delta: 3, away: true, units: 5},
		"some less":                     {delta: -2, followed: true, units: 3},
		"all that are left":             {delta: -5, followed: true, units: 0},
		"more than are left":            {delta: -6, units: 5, err: &InsufficientStockError{Delta: -6, Left: 5}},
		"less while Redis is away":      {delta: -2, away: true, units: 5, err: ErrUndecided},
		"a rebuild between":             {delta: -2, voids: 1, followed: true, units: 3},
		"one rebuild after another":     {delta: -2, voids: stockRounds, units: 5, err: ErrUndecided},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeChanges()
			f.away, f.voids = tc.away, tc.voids
			shown, followed, err := f.service().AddStock(t.Context(), author, 1, tc.delta, "k")
			insufficient, refused := errors.AsType[*InsufficientStockError](err)
			if refused {
				if diff := cmp.Diff(tc.err, error(insufficient)); diff != "" {
					t.Error(diff)
				}
			} else if !errors.Is(err, tc.err) {
				t.Errorf("error = %v, want %v", err, tc.err)
			}
			if followed != tc.followed || f.units != tc.units || f.by != author {
				t.Errorf("followed %t, %d units left, by %+v", followed, f.units, f.by)
			}
			if err == nil && !tc.away && shown.Live.Stock != tc.units {
				t.Errorf("shown with %d units", shown.Live.Stock)
			}
		})
	}
}

// Repeating with the same key never changes anything twice, and tells what became of the first.
func TestAddStockAgain(t *testing.T) {
	t.Parallel()
	f := newFakeChanges()
	s := f.service()
	for range 3 {
		if _, followed, err := s.AddStock(t.Context(), author, 1, -2, "less"); err != nil || !followed || f.units != 3 {
			t.Errorf("less: followed %t, %d units, %v", followed, f.units, err)
		}
	}
	f.away = true
	if _, followed, err := s.AddStock(t.Context(), author, 1, 4, "more"); err != nil || followed {
		t.Errorf("more, Redis away: followed %t, %v", followed, err)
	}
	if _, _, err := s.AddStock(t.Context(), author, 1, -7, "late"); !errors.Is(err, ErrUndecided) || !errors.Is(err, errAway) {
		t.Errorf("taking, Redis away: %v", err)
	}
	f.away = false
	for range 2 {
		if _, followed, err := s.AddStock(t.Context(), author, 1, 4, "more"); err != nil || !followed || f.units < 0 {
			t.Errorf("more: followed %t, %v", followed, err)
		}
	}
	if _, _, err := s.AddStock(t.Context(), author, 1, 5, "more"); !errors.Is(err, ErrKeyReused) {
		t.Errorf("another delta: %v", err)
	}
}

// A change that was refused stays refused, with what is left now.
func TestRefusedStockStaysRefused(t *testing.T) {
	t.Parallel()
	f := newFakeChanges()
	s := f.service()
	for _, left := range []int64{5, 50} {
		f.units = left
		_, _, err := s.AddStock(t.Context(), author, 1, -6, "k")
		if e, ok := errors.AsType[*InsufficientStockError](err); !ok || e.Left != left {
			t.Errorf("error = %v, want %d left", err, left)
		}
	}
}

func TestDeltasThatCannotBe(t *testing.T) {
	t.Parallel()
	f := newFakeChanges()
	for _, delta := range []int64{0, MaxStock + 1, -MaxStock - 1, 1<<63 - 1, -1 << 63} {
		_, _, err := f.service().AddStock(t.Context(), author, 1, delta, "k")
		if e, ok := errors.AsType[*InvalidError](err); !ok || !cmp.Equal(fields(e.Problems), []string{"delta"}) {
			t.Errorf("%d: %v", delta, err)
		}
	}
	for _, delta := range []int64{MaxStock, 1, -1} {
		if _, _, err := f.service().AddStock(t.Context(), author, 1, delta, "k"+string(rune('a'+delta%7))); err != nil {
			t.Errorf("%d: %v", delta, err)
		}
	}
	if len(f.keys) != 3 {
		t.Errorf("%d changes", len(f.keys))
	}
}

// Once it is committed nobody may say that nothing was changed.
func TestStockIsNotDeniedOnceItIsCommitted(t *testing.T) {
	t.Parallel()
	f := newFakeChanges()
	s := f.service()
	s.ledger = &fakeLedger{vouchers: []Voucher{selling()}, fails: errAway}
	if _, _, err := s.AddStock(t.Context(), author, 1, 1, "k"); !errors.Is(err, ErrUndecided) {
		t.Errorf("error = %v, want ErrUndecided", err)
	}
}
