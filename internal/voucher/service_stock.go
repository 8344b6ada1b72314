package voucher

import (
	"context"
	"fmt"

	"seckill/internal/kit/invalid"
)

// stockRounds is how often one call flushes a change that takes units. It needs more than one flush only when a rebuild
// of the sale intervenes.
const stockRounds = 3

// AddStock adds delta units to a sale, or takes -delta of those left, once per key. It returns the voucher, and whether
// Redis has applied the change; added units that are not applied yet go on sale later.
//
// It returns *invalid.Error for an impossible delta, *InsufficientStockError when fewer units are left than it would
// take, idempotency.ErrReused, ErrNotFound, ErrNotSeckill, ErrArchived, ErrRetired, ErrCalledOff, and ErrUndecided when
// Redis has not decided yet whether there are enough units: repeating the call with the same key returns the decision.
func (s *Service) AddStock(
	ctx context.Context, by Author, id, delta int64, key string,
) (shown Shown, applied bool, err error) {
	var r fieldRules
	if delta == 0 || delta < -MaxStock || delta > MaxStock {
		r.Bad("delta", invalid.OutOfRange, invalid.RangeNotZero,
			invalid.Data{"value": delta, "min": -MaxStock, "max": MaxStock})
	}
	if err := r.Err(); err != nil {
		return Shown{}, false, err
	}
	attempt := func(ctx context.Context) (StockChange, error) {
		return s.changes.ChangeStock(ctx, id, s.bounded(by), delta, key)
	}
	change, err := attempt(ctx)
	if err == nil && delta < 0 {
		change, err = s.decide(ctx, id, change, attempt)
	}
	if err != nil {
		return Shown{}, false, err
	}
	// The change is committed: an error from here on must not look as if nothing was changed.
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

// CheckIssued returns *invalid.Error if a sale that has issued that many units may not issue delta more: MaxStock
// bounds all units that it ever issues.
func CheckIssued(issued, delta int64) error {
	var r fieldRules
	if delta > 0 && issued+delta > MaxStock {
		r.Bad("delta", invalid.TooMuchStock, invalid.More,
			invalid.Data{"value": delta, "issued": issued + delta, "max": max(0, MaxStock-issued)})
	}
	return r.Err()
}

// decide lets Redis decide whether there are enough units for the change, and returns the change as done or refused, or
// ErrUndecided. If a rebuild has voided the change, decide begins it again.
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
