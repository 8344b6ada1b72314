package voucher

import (
	"context"
	"fmt"
	"slices"
)

// stockRounds is how often a change of stock that takes units is flushed to Redis in one call. More than one is only
// needed when a rebuild of the sale intervenes.
const stockRounds = 3

// AddStock adds delta units to a sale, or takes -delta of those that are left, once for each key. It returns the
// voucher, and whether Redis has applied the change; added units that are not applied yet go on sale later.
//
// Units of a split sale are taken of all shares together. What is refused there is not kept: the same key may succeed later.
//
// It returns *invalid.Error for an impossible delta, *InsufficientStockError when fewer units are left than are to be
// taken, ErrKeyReused, ErrNotFound, ErrNotSeckill, ErrRetired, and ErrUndecided when it is not known whether there are
// enough units: repeating the call with the same key tells.
func (s *Service) AddStock(ctx context.Context, by Author, id, delta int64, key string) (shown Shown, applied bool, err error) {
	var r fieldRules
	if delta == 0 || delta < -MaxStock || delta > MaxStock {
		r.bad("delta", fmt.Sprintf("is %d", delta), fmt.Sprintf("a whole number from %d to %d, but not 0", int64(-MaxStock), int64(MaxStock)))
	}
	if err := r.err(); err != nil {
		return Shown{}, false, err
	}
	attempt := func(ctx context.Context) (StockChange, error) {
		return s.changes.ChangeStock(ctx, id, by, delta, key)
	}
	change, err := s.changeStock(ctx, id, delta, key, attempt)
	if err != nil {
		return Shown{}, false, err
	}
	// The change is committed: an error from here on must not mean that nothing happened.
	v, err := s.ledger.Voucher(ctx, id)
	if err != nil {
		return Shown{}, false, fmt.Errorf("%w: %w", ErrUndecided, err)
	}
	applied = change.State != StockPending || s.flush(ctx, v)
	if shown, err = s.showOne(ctx, v); err != nil {
		return Shown{}, false, fmt.Errorf("%w: %w", ErrUndecided, err)
	}
	if change.State == StockRefused {
		return Shown{}, false, &InsufficientStockError{Delta: delta, Left: shown.Live.Stock}
	}
	return shown, applied, nil
}

// changeStock begins the change, and has one that takes units decided.
func (s *Service) changeStock(
	ctx context.Context, id, delta int64, key string, attempt func(context.Context) (StockChange, error),
) (StockChange, error) {
	if delta < 0 {
		v, err := s.ledger.Voucher(ctx, id)
		if err != nil {
			return StockChange{}, err
		}
		if v.Sale != nil && v.Sale.Split() && !slices.ContainsFunc(v.Sale.Shares, func(share Share) bool { return share.Retired }) {
			return s.takeFromShares(ctx, id, delta, key, attempt)
		}
	}
	change, err := attempt(ctx)
	if err != nil || delta > 0 {
		return change, err
	}
	return s.decide(ctx, id, change, attempt)
}

// CheckIssued returns *invalid.Error if a sale that has issued so many units may not issue delta more: in all it has
// MaxStock at most, however it comes by them.
func CheckIssued(issued, delta int64) error {
	var r fieldRules
	if delta > 0 && issued+delta > MaxStock {
		r.bad("delta", fmt.Sprintf("is %d, with which the sale would have issued %d", delta, issued+delta), fmt.Sprintf("at most %d more", max(0, MaxStock-issued)))
	}
	return r.err()
}

// decide has Redis decide whether there are enough units for the change. One that a rebuild made void is begun again. It
// returns the change as done or refused, or ErrUndecided.
func (s *Service) decide(
	ctx context.Context, id int64, change StockChange, attempt func(context.Context) (StockChange, error),
) (StockChange, error) {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	for round := 0; change.State == StockPending || change.State == StockVoid; round++ {
		if round == stockRounds {
			return change, ErrUndecided
		}
		if err := s.outbox.Flush(ctx, id); err != nil {
			return change, fmt.Errorf("%w: %w", ErrUndecided, err)
		}
		var err error
		if change, err = attempt(ctx); err != nil {
			return change, fmt.Errorf("%w: %w", ErrUndecided, err)
		}
	}
	return change, nil
}

// takeFromShares takes units of a split sale. Its share 0 gives them, after units of the others were moved there, and nothing is begun
// while that has too few: so a change is refused once all shares together had too few at one moment. One that share 0 refused, because
// its buyers were faster, is begun again. It returns the change as done, *InsufficientStockError, or ErrUndecided.
func (s *Service) takeFromShares(
	ctx context.Context, id, delta int64, key string, attempt func(context.Context) (StockChange, error),
) (StockChange, error) {
	within, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	for flushed := error(nil); ; flushed = s.outbox.Flush(within, id) {
		change, begun, err := s.changes.FindStockChange(ctx, id, delta, key)
		switch pending := begun && change.State == StockPending; {
		case err != nil || begun && change.State == StockDone:
			return change, err
		case pending && flushed != nil:
			return change, fmt.Errorf("%w: %w", ErrUndecided, flushed)
		case pending:
			continue
		}
		if err := s.gatherAndTake(within, id, -delta, attempt); err != nil {
			return change, err
		}
	}
}

// gatherAndTake has units of all shares gathered in share 0, and begins the change that takes them there.
func (s *Service) gatherAndTake(ctx context.Context, id, units int64, attempt func(context.Context) (StockChange, error)) error {
	left, err := s.outbox.Gather(ctx, id, units)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUndecided, err)
	case left < units:
		return &InsufficientStockError{Delta: -units, Left: left}
	}
	_, err = attempt(ctx)
	return err
}
