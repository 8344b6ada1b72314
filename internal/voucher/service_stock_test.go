package voucher

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/idempotency"
	"seckill/internal/kit/invalid"
)

func TestAddStock(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		delta   int64
		away    bool
		voids   int
		applied bool
		units   int64 // left in Redis afterwards
		err     error
	}{
		"some more":                     {delta: 3, applied: true, units: 8},
		"some more while Redis is away": {delta: 3, away: true, units: 5},
		"some less":                     {delta: -2, applied: true, units: 3},
		"all that are left":             {delta: -5, applied: true, units: 0},
		"more than are left":            {delta: -6, units: 5, err: &InsufficientStockError{Delta: -6, Left: 5}},
		"less while Redis is away":      {delta: -2, away: true, units: 5, err: ErrUndecided},
		"a rebuild between":             {delta: -2, voids: 1, applied: true, units: 3},
		"one rebuild after another":     {delta: -2, voids: stockRounds, units: 5, err: ErrUndecided},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeChanges()
			f.away, f.voids = tc.away, tc.voids
			shown, applied, err := f.service().AddStock(t.Context(), author, 1, tc.delta, "k")
			insufficient, refused := errors.AsType[*InsufficientStockError](err)
			if refused {
				if diff := cmp.Diff(tc.err, error(insufficient)); diff != "" {
					t.Error(diff)
				}
			} else if !errors.Is(err, tc.err) {
				t.Errorf("error = %v, want %v", err, tc.err)
			}
			if applied != tc.applied || f.units != tc.units || f.by != author {
				t.Errorf("applied %t, %d units left, by %+v", applied, f.units, f.by)
			}
			if err == nil && !tc.away && shown.Live.Stock != tc.units {
				t.Errorf("shown with %d units", shown.Live.Stock)
			}
		})
	}
}

// A repeated call with the same key changes nothing and returns the result of the first one.
func TestAddStockAgain(t *testing.T) {
	t.Parallel()
	f := newFakeChanges()
	s := f.service()
	for range 3 {
		if _, applied, err := s.AddStock(t.Context(), author, 1, -2, "less"); err != nil || !applied || f.units != 3 {
			t.Errorf("taking: applied %t, %d units, %v", applied, f.units, err)
		}
	}
	f.away = true
	if _, applied, err := s.AddStock(t.Context(), author, 1, 4, "more"); err != nil || applied {
		t.Errorf("adding, Redis away: applied %t, %v", applied, err)
	}
	if _, _, err := s.AddStock(t.Context(), author, 1, -7, "late"); !errors.Is(err, ErrUndecided) ||
		!errors.Is(err, errAway) {
		t.Errorf("taking, Redis away: %v", err)
	}
	f.away = false
	for range 2 {
		if _, applied, err := s.AddStock(t.Context(), author, 1, 4, "more"); err != nil || !applied || f.units < 0 {
			t.Errorf("more: applied %t, %v", applied, err)
		}
	}
	if _, _, err := s.AddStock(t.Context(), author, 1, 5, "more"); !errors.Is(err, idempotency.ErrReused) {
		t.Errorf("another delta: %v", err)
	}
}

// A refused change stays refused, and the error has the units left now.
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

func TestImpossibleDeltas(t *testing.T) {
	t.Parallel()
	f := newFakeChanges()
	for _, delta := range []int64{0, MaxStock + 1, -MaxStock - 1, 1<<63 - 1, -1 << 63} {
		_, _, err := f.service().AddStock(t.Context(), author, 1, delta, "k")
		if e, ok := errors.AsType[*invalid.Error](err); !ok || !cmp.Equal(fields(e.Problems), []string{"delta"}) {
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

// Once a change is committed, no error may look as if nothing was changed.
func TestErrorAfterTheCommit(t *testing.T) {
	t.Parallel()
	f := newFakeChanges()
	s := f.service()
	s.parts.Ledger = &fakeLedger{vouchers: []Voucher{selling()}, fails: errAway}
	if _, _, err := s.AddStock(t.Context(), author, 1, 1, "k"); !errors.Is(err, ErrUndecided) {
		t.Errorf("error = %v, want ErrUndecided", err)
	}
}
