package voucher

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// archiving is a service with one voucher, whose sale ended with five units left in both stores.
func archiving(prepare func(*fakeChanges)) (*fakeChanges, *Service) {
	f := newFakeChanges()
	f.voucher.Sale.Begin, f.voucher.Sale.End, f.voucher.Sale.Stock = now.Add(-2*time.Hour), now, 5
	if prepare != nil {
		prepare(f)
	}
	s := f.service()
	return f, s
}

// A voucher is archived once its sale is over by Redis's clock and all its orders are recorded, or where it has none.
func TestArchive(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(*fakeChanges)
		want    error
	}{
		"its sale is over":   {nil, nil},
		"its sale runs":      {func(f *fakeChanges) { f.voucher.Sale.End = now.Add(time.Millisecond) }, ErrSaleNotOver},
		"its sale is coming": {func(f *fakeChanges) { f.voucher.Sale = selling().Sale }, ErrSaleNotOver},
		"off the shelf, its sale would run": {
			func(f *fakeChanges) { f.voucher.Sale, f.voucher.Status = selling().Sale, OffShelf }, ErrSaleNotOver,
		},
		"an order is queued":  {func(f *fakeChanges) { f.units-- }, ErrOrdersWait},
		"Redis lost its sale": {func(f *fakeChanges) { f.missing = true }, ErrOrdersWait},
		"Redis is away":       {func(f *fakeChanges) { f.away = true }, errAway},
		"its sale has left Redis": {
			func(f *fakeChanges) { f.away, f.voucher.Sale.Retired = true, true }, nil,
		},
		"it has no sale": {func(f *fakeChanges) { f.away, f.voucher.Sale = true, nil }, nil},
		"the ledger says": {
			func(f *fakeChanges) { f.fails = ErrOrdersWait }, ErrOrdersWait,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := archiving(tc.prepare)
			shown, err := s.SetArchived(t.Context(), Author{AdminID: 7}, f.voucher.ID, true)
			if !errors.Is(err, tc.want) || shown.IsArchived() != (err == nil) ||
				f.voucher.IsArchived() != (err == nil) {
				t.Errorf("%+v, %v, want %v", shown, err, tc.want)
			}
			if told := slices.Equal(f.changed, []int64{f.voucher.ID}); told != (err == nil) {
				t.Errorf("lists were told of %v", f.changed)
			}
		})
	}
	_, err := newFakeChanges().service().SetArchived(t.Context(), Author{}, 4711, true)
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("no voucher: %v", err)
	}
}

// Archiving or restoring a second time changes nothing. Restoring does not read the sale's state.
func TestArchiveTwice(t *testing.T) {
	t.Parallel()
	f, s := archiving(nil)
	by, id := Author{AdminID: 7}, f.voucher.ID
	for range 2 {
		if _, err := s.SetArchived(t.Context(), by, id, true); err != nil || !f.voucher.Archived.Equal(now) {
			t.Fatalf("archived %v, %v", f.voucher.Archived, err)
		}
		s.parts.Now = func() time.Time { return now.Add(time.Minute) }
	}
	for range 2 {
		f.units = 3
		if _, err := s.SetArchived(t.Context(), by, id, false); err != nil || f.voucher.IsArchived() {
			t.Fatalf("restored: %v, %v", f.voucher.Archived, err)
		}
	}
}

// If the sale changes in the ledger after Redis was read, the voucher is not archived, unless the sale was retired: no
// order of it waits then.
func TestArchiveMeetsAnother(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		left   int64 // in Redis
		change func(*Sale)
		want   error
	}{
		"window":                   {5, func(s *Sale) { s.End = now.Add(time.Hour) }, ErrSaleNotOver},
		"operation that takes one": {4, func(s *Sale) { s.Stock, s.LastOperation = 4, 1 }, ErrOrdersWait},
		"operation":                {5, func(s *Sale) { s.LastOperation = 1 }, ErrOrdersWait},
		// The stock may have been changed by an operation that Redis had not applied when it was read.
		"stock":      {4, func(s *Sale) { s.Stock = 4 }, ErrOrdersWait},
		"retirement": {4, func(s *Sale) { s.Stock, s.Retired = 4, true }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := archiving(func(f *fakeChanges) { f.units = tc.left })
			alter, err := s.archive(t.Context(), f.voucher.ID)
			if err != nil {
				t.Fatal(err)
			}
			v := f.voucher
			changed := *v.Sale
			tc.change(&changed)
			v.Sale = &changed
			if err := alter(&v); !errors.Is(err, tc.want) || v.IsArchived() != (tc.want == nil) {
				t.Errorf("archived %v, %v, want %v", v.Archived, err, tc.want)
			}
		})
	}
}

// No change of an archived voucher is accepted, however small.
func TestArchivedIsNotChanged(t *testing.T) {
	t.Parallel()
	f, s := archiving(func(f *fakeChanges) { f.voucher.Archived = now })
	id, by := f.voucher.ID, Author{AdminID: 7}
	before := f.voucher
	_, _, changed := s.Change(t.Context(), by, id, Change{Title: new("x")})
	_, _, sold := s.Change(t.Context(), by, id, Change{End: new(now.Add(time.Hour))})
	_, _, paused := s.Pause(t.Context(), by, id)
	_, _, resumed := s.Resume(t.Context(), by, id)
	for _, err := range []error{changed, sold, paused, resumed} {
		if !errors.Is(err, ErrArchived) {
			t.Errorf("error = %v", err)
		}
	}
	if f.voucher.Title != before.Title || f.voucher.Sale.End != before.Sale.End || f.flushes != 0 {
		t.Errorf("changed to %+v", f.voucher)
	}
}

// Archiving and restoring are actions of their own in the audit trail.
func TestArchiveIsAudited(t *testing.T) {
	t.Parallel()
	plain, archived := selling(), selling()
	archived.Archived = now
	if got := ActionOf(Differences(plain, archived)); got != Archived {
		t.Errorf("archiving is %q", got)
	}
	if got := ActionOf(Differences(archived, plain)); got != Restored {
		t.Errorf("restoring is %q", got)
	}
}
