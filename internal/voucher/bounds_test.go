package voucher

import (
	"context"
	"errors"
	"testing"
	"time"
)

// openSales is how many sales each shop has.
type openSales map[int64]int64

// OpenSales implements Shops.
func (o openSales) OpenSales(_ context.Context, shopID int64) (int64, error) { return o[shopID], nil }

// TestBounds checks the limits of a merchant's shop, and that they do not apply to admins.
func TestBounds(t *testing.T) {
	t.Parallel()
	most := goodSale().Stock
	for name, tc := range map[string]struct {
		by     Author
		bounds Bounds
		open   int64
		want   string // the exceeded bound; "": none
	}{
		"an admin":        {Author{AdminID: 1}, Bounds{Sales: 1, Units: 1}, 5, ""},
		"no bounds":       {Author{Shop: 3}, Bounds{}, 5, ""},
		"one less":        {Author{Shop: 3}, Bounds{Sales: 6, Units: most}, 5, ""},
		"as many sales":   {Author{Shop: 3}, Bounds{Sales: 5}, 5, "sales"},
		"more units":      {Author{Shop: 3}, Bounds{Units: most - 1}, 0, "units"},
		"another's sales": {Author{Shop: 4}, Bounds{Sales: 5}, 5, ""},
	} {
		s := newTestService(&fakeLedger{}, &fakeSales{})
		s.parts.OpenSales, s.parts.Bounds = openSales{3: tc.open}.OpenSales, tc.bounds
		_, err := s.CreateSeckill(t.Context(), tc.by, goodDraft(), goodSale())
		bound, _ := errors.AsType[*BoundError](err)
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.want != "" && (bound == nil || bound.What != tc.want):
			t.Errorf("%s: %v, want a bound on %s", name, err, tc.want)
		}
	}
}

// TestBoundOfUnits checks that added units count together with the units that a sale has issued.
func TestBoundOfUnits(t *testing.T) {
	t.Parallel()
	s := newTestService(&fakeLedger{}, &fakeSales{})
	s.parts.OpenSales, s.parts.Bounds = openSales{}.OpenSales, Bounds{Units: 100}
	merchant, err := s.bounded(t.Context(), Author{Shop: 3})
	admin, err2 := s.bounded(t.Context(), Author{AdminID: 1})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		by            Author
		issued, delta int64
		ok            bool
	}{{merchant, 90, 10, true}, {merchant, 90, 11, false}, {merchant, 200, -5, true}, {admin, 90, 11, true}} {
		if err := tc.by.CheckIssued(tc.issued, tc.delta); (err == nil) != tc.ok {
			t.Errorf("%d more than %d by %+v: %v", tc.delta, tc.issued, tc.by, err)
		}
	}
}

// TestBoundsOfShop checks that a shop's own bounds hold below those of the settings, and nothing above them.
func TestBoundsOfShop(t *testing.T) {
	t.Parallel()
	most, away := goodSale().Stock, errors.New("away")
	for name, tc := range map[string]struct {
		own, settings Bounds
		err           error
		want          string // the exceeded bound; "": none
	}{
		"none":                {Bounds{}, Bounds{Sales: 6, Units: most}, nil, ""},
		"fewer sales":         {Bounds{Sales: 5}, Bounds{Sales: 6}, nil, "sales"},
		"fewer units":         {Bounds{Units: most - 1}, Bounds{Units: most}, nil, "units"},
		"sales, no setting":   {Bounds{Sales: 5}, Bounds{}, nil, "sales"},
		"units, no setting":   {Bounds{Units: most - 1}, Bounds{}, nil, "units"},
		"more than a setting": {Bounds{Sales: 9, Units: most + 1}, Bounds{Sales: 5, Units: most}, nil, "sales"},
		"it cannot be read":   {Bounds{}, Bounds{}, away, ""},
	} {
		s := newTestService(&fakeLedger{}, &fakeSales{})
		s.parts.OpenSales, s.parts.Bounds = openSales{3: 5}.OpenSales, tc.settings
		s.BoundBy(func(_ context.Context, shopID int64) (Bounds, error) {
			if shopID != 3 {
				t.Errorf("%s: shop %d is asked for", name, shopID)
			}
			return tc.own, tc.err
		})
		_, err := s.CreateSeckill(t.Context(), Author{Shop: 3}, goodDraft(), goodSale())
		bound, _ := errors.AsType[*BoundError](err)
		switch {
		case tc.want == "" && !errors.Is(err, tc.err):
			t.Errorf("%s: %v, want %v", name, err, tc.err)
		case tc.want != "" && (bound == nil || bound.What != tc.want):
			t.Errorf("%s: %v, want a bound on %s", name, err, tc.want)
		}
		if _, err := s.CreateSeckill(t.Context(), Author{AdminID: 1}, goodDraft(), goodSale()); err != nil {
			t.Errorf("%s: an admin: %v", name, err)
		}
		merchant, err := s.bounded(t.Context(), Author{Shop: 3})
		if want := tc.own.Within(tc.settings).Units; !errors.Is(err, tc.err) || merchant.MaxUnits != want {
			t.Errorf("%s: added units are bounded by %d, %v; want %d", name, merchant.MaxUnits, err, want)
		}
	}
}

// TestBoundOfReopening checks that an ended sale that is given a later end counts as one more sale.
func TestBoundOfReopening(t *testing.T) {
	t.Parallel()
	merchant, later := Author{Shop: 3}, now.Add(3*time.Hour)
	for name, tc := range map[string]struct {
		by     Author
		end    time.Time // of the sale
		open   int64
		change Change
		ok     bool
	}{
		"it runs":        {merchant, now.Add(time.Hour), 5, Change{End: &later}, true},
		"it has ended":   {merchant, now, 5, Change{End: &later}, false},
		"one less":       {merchant, now, 4, Change{End: &later}, true},
		"another change": {merchant, now, 5, Change{Title: new("Tea")}, true},
		"an admin":       {Author{AdminID: 1}, now, 5, Change{End: &later}, true},
	} {
		changes := newFakeChanges()
		changes.voucher.Sale.Begin, changes.voucher.Sale.End = now.Add(-time.Hour), tc.end
		s := changes.service()
		s.parts.OpenSales, s.parts.Bounds = openSales{3: tc.open}.OpenSales, Bounds{Sales: 5}
		_, _, err := s.Change(t.Context(), tc.by, changes.voucher.ID, tc.change)
		if bound, _ := errors.AsType[*BoundError](err); (bound == nil) != tc.ok || tc.ok && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
