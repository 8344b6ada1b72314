package voucher

import (
	"cmp"
	"context"
	"fmt"

	"seckill/internal/kit/invalid"
)

// Bounds limit the sales in a merchant's shop; 0 means no limit. They do not apply to admins.
type Bounds struct {
	Sales int64 // the most sales that have not ended
	Units int64 // the most units that one sale ever issues
}

// Within returns the bounds with the given ones as their upper limit.
func (b Bounds) Within(most Bounds) Bounds {
	lower := func(own, most int64) int64 {
		if own == 0 || most != 0 && most < own {
			return most
		}
		return own
	}
	return Bounds{Sales: lower(b.Sales, most.Sales), Units: lower(b.Units, most.Units)}
}

// BoundError says that a change would exceed a merchant's Bounds.
type BoundError struct {
	What string // "sales" or "units"
	Most int64
}

func (e *BoundError) Error() string {
	return fmt.Sprintf("a merchant's shop may have %d %s", e.Most, e.What)
}

// admits returns *BoundError if a merchant may not have one more sale with that many units. Concurrent creations may
// together exceed the number of sales. That is acceptable: the limit only keeps a shop from filling the mall.
func (s *Service) admits(ctx context.Context, by Author, units int64) error {
	bounds, err := s.boundsOf(ctx, by)
	if err != nil {
		return err
	}
	if bounds.Units > 0 && units > bounds.Units {
		return &BoundError{What: "units", Most: bounds.Units}
	}
	refusal, err := s.oneMore(ctx, by, bounds.Sales)
	return cmp.Or(err, refusal)
}

// BoundBy makes a shop's own bounds hold its merchants, with those of the settings as their upper limit. of returns
// them, or order.ErrUnavailable. Call it before any voucher is created.
func (s *Service) BoundBy(of func(ctx context.Context, shopID int64) (Bounds, error)) {
	s.parts.BoundsOf = of
}

// boundsOf returns the bounds of an author's shop; an admin has none. Error: order.ErrUnavailable.
func (s *Service) boundsOf(ctx context.Context, by Author) (Bounds, error) {
	switch {
	case by.Shop == 0:
		return Bounds{}, nil
	case s.parts.BoundsOf == nil:
		return s.parts.Bounds, nil
	}
	own, err := s.parts.BoundsOf(ctx, by.Shop)
	return own.Within(s.parts.Bounds), err
}

// oneMore returns a *BoundError as refusal if an author, whose shop may have at most that many sales that have not
// ended, may not have one more; 0: any number.
func (s *Service) oneMore(ctx context.Context, by Author, most int64) (refusal, err error) {
	if most == 0 {
		return nil, nil
	}
	n, err := s.parts.OpenSales(ctx, by.Shop)
	if err == nil && n >= most {
		refusal = &BoundError{What: "sales", Most: most}
	}
	return refusal, err
}

// reopening returns a *BoundError as refusal if a change may not give an ended sale a later end: it would be one more
// sale that has not ended.
func (s *Service) reopening(ctx context.Context, by Author, c Change) (refusal, err error) {
	if c.End == nil {
		return nil, nil
	}
	bounds, err := s.boundsOf(ctx, by)
	if err != nil {
		return nil, err
	}
	return s.oneMore(ctx, by, bounds.Sales)
}

// bounded returns the author with MaxUnits set for a merchant. Error: order.ErrUnavailable.
func (s *Service) bounded(ctx context.Context, by Author) (Author, error) {
	bounds, err := s.boundsOf(ctx, by)
	by.MaxUnits = bounds.Units
	return by, err
}

// CheckIssued returns *invalid.Error or *BoundError if a sale that has issued that many units may not issue delta more:
// MaxStock bounds all units that any sale ever issues. It is called with the sale locked, once for each change.
func (by Author) CheckIssued(issued, delta int64) error {
	if delta > 0 && by.MaxUnits > 0 && issued+delta > by.MaxUnits {
		return &BoundError{What: "units", Most: by.MaxUnits}
	}
	var r fieldRules
	if delta > 0 && issued+delta > MaxStock {
		r.Bad("delta", tooMuchStock, moreUnits,
			invalid.Data{"value": delta, "issued": issued + delta, "max": max(0, MaxStock-issued)})
	}
	return r.Err()
}
