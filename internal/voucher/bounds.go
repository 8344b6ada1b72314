package voucher

import (
	"context"
	"fmt"
)

// Bounds limit the sales in a merchant's shop; 0 means no limit. They do not apply to admins.
type Bounds struct {
	Sales int64 // the most sales that have not ended
	Units int64 // the most units that one sale ever issues
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
	if by.Shop == 0 {
		return nil
	}
	if most := s.parts.Bounds.Units; most > 0 && units > most {
		return &BoundError{What: "units", Most: most}
	}
	refusal, err := s.oneMore(ctx, by)
	if err != nil {
		return err
	}
	return refusal
}

// oneMore returns a *BoundError as refusal if an author may not have one more sale that has not ended.
func (s *Service) oneMore(ctx context.Context, by Author) (refusal, err error) {
	most := s.parts.Bounds.Sales
	if by.Shop == 0 || most == 0 {
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
	return s.oneMore(ctx, by)
}

// bounded returns the author with MaxUnits set for a merchant.
func (s *Service) bounded(by Author) Author {
	if by.Shop != 0 {
		by.MaxUnits = s.parts.Bounds.Units
	}
	return by
}

// CheckIssued returns *invalid.Error or *BoundError if a sale that has issued that many units may not issue delta more.
// It is called with the sale locked, once for each change.
func (by Author) CheckIssued(issued, delta int64) error {
	if delta > 0 && by.MaxUnits > 0 && issued+delta > by.MaxUnits {
		return &BoundError{What: "units", Most: by.MaxUnits}
	}
	return CheckIssued(issued, delta)
}
