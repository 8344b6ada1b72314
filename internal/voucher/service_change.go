package voucher

import (
	"context"
	"fmt"
	"time"

	"seckill/internal/kit/invalid"
)

// flushTime is how long the answer to a change waits for Redis to apply it.
const flushTime = 3 * time.Second

// Change changes a voucher. It returns the changed voucher, and whether Redis has applied the change; if not, Redis
// will do so later. A change that changes nothing succeeds. Errors: *invalid.Error if the change breaks a rule;
// ErrNotFound; ErrArchived; ErrRetired or ErrCalledOff for the window of a sale that is over for good; *BoundError if a
// merchant reopens one sale too many.
func (s *Service) Change(ctx context.Context, by Author, id int64, c Change) (shown Shown, applied bool, err error) {
	reopens, err := s.reopening(ctx, by, c)
	if err != nil {
		return Shown{}, false, err
	}
	v, err := s.parts.Changes.ChangeVoucher(ctx, id, by, func(v *Voucher) error {
		now := s.parts.Now()
		ended := v.Sale != nil && v.Sale.Ended(now)
		if err := c.apply(v, now); err != nil || !ended || v.Sale.Ended(now) {
			return err
		}
		return reopens
	})
	if err != nil {
		return Shown{}, false, err
	}
	applied = !c.concernsSale() || s.flush(ctx, v)
	s.parts.Changed(ctx, v)
	shown, err = s.showOne(ctx, v)
	return shown, applied, err
}

// Pause stops a sale until Resume. It returns the voucher, and whether Redis has paused the sale; if not, Redis will do
// so later. Pausing a paused sale changes nothing. Errors: ErrNotFound, ErrNotSeckill, ErrArchived, ErrRetired,
// ErrCalledOff.
func (s *Service) Pause(ctx context.Context, by Author, id int64) (shown Shown, applied bool, err error) {
	return s.setPaused(ctx, by, id, true)
}

// Resume continues a paused sale; otherwise it is like Pause.
func (s *Service) Resume(ctx context.Context, by Author, id int64) (shown Shown, applied bool, err error) {
	return s.setPaused(ctx, by, id, false)
}

func (s *Service) setPaused(ctx context.Context, by Author, id int64, paused bool) (Shown, bool, error) {
	v, err := s.parts.Changes.ChangeVoucher(ctx, id, by, func(v *Voucher) error {
		switch {
		case v.Sale == nil:
			return ErrNotSeckill
		case v.IsArchived():
			return ErrArchived
		case v.Sale.final() != nil:
			return v.Sale.final()
		}
		v.Sale.Paused = paused
		return nil
	})
	if err != nil {
		return Shown{}, false, err
	}
	applied := s.flush(ctx, v)
	shown, err := s.showOne(ctx, v)
	return shown, applied, err
}

// CallOff calls a sale off, for good. It returns the voucher, and whether Redis has called the sale off; if not, Redis
// will do so later. Calling off a second time has no effect. Errors: ErrNotFound, ErrNotSeckill, ErrArchived,
// ErrRetired; *idempotency.RepeatedError and idempotency.ErrReused if the author's key was used before.
func (s *Service) CallOff(ctx context.Context, by Author, id int64, why string) (shown Shown, applied bool, err error) {
	v, err := s.parts.Changes.CallOff(ctx, id, by, why)
	if err != nil {
		return Shown{}, false, err
	}
	applied = s.flush(ctx, v)
	s.parts.Changed(ctx, v)
	shown, err = s.showOne(ctx, v)
	return shown, applied, err
}

// flush waits for Redis to apply the changes of a voucher, flushTime at most, and reports whether it has. It returns no
// error: the changes are committed and will be applied later.
func (s *Service) flush(ctx context.Context, v Voucher) bool {
	if v.Sale == nil || v.Sale.Retired {
		return true // Redis does not hold the sale
	}
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	return s.parts.Outbox.Flush(ctx, v.ID) == nil
}

// showOne adds the live state of one voucher.
func (s *Service) showOne(ctx context.Context, v Voucher) (Shown, error) {
	shown, _, err := s.show(ctx, []Voucher{v})
	if err != nil {
		return Shown{}, err
	}
	return shown[0], nil
}

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
		r.Bad("delta", invalid.OutOfRange, rangeNotZero,
			invalid.Data{"value": delta, "min": -MaxStock, "max": MaxStock})
	}
	if err := r.Err(); err != nil {
		return Shown{}, false, err
	}
	by, err = s.bounded(ctx, by)
	if err != nil {
		return Shown{}, false, err
	}
	attempt := func(ctx context.Context) (StockChange, error) {
		return s.parts.Changes.ChangeStock(ctx, id, by, delta, key)
	}
	change, err := attempt(ctx)
	if err == nil && delta < 0 {
		change, err = s.decide(ctx, id, change, attempt)
	}
	if err != nil {
		return Shown{}, false, err
	}
	// The change is committed: an error from here on must not look as if nothing was changed.
	v, err := s.parts.Ledger.Voucher(ctx, id)
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
		if err := s.parts.Outbox.Flush(ctx, id); err != nil {
			return change, fmt.Errorf("%w: %w", ErrUndecided, err)
		}
		var err error
		if change, err = attempt(ctx); err != nil {
			return change, fmt.Errorf("%w: %w", ErrUndecided, err)
		}
	}
	return change, nil
}
