package voucher

import (
	"context"
	"time"
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
	v, err := s.changes.ChangeVoucher(ctx, id, by, func(v *Voucher) error {
		now := s.now()
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
	s.lists.Changed(ctx, v)
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
	v, err := s.changes.ChangeVoucher(ctx, id, by, func(v *Voucher) error {
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
	v, err := s.changes.CallOff(ctx, id, by, why)
	if err != nil {
		return Shown{}, false, err
	}
	applied = s.flush(ctx, v)
	s.lists.Changed(ctx, v)
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
	return s.outbox.Flush(ctx, v.ID) == nil
}

// showOne adds the live state of one voucher.
func (s *Service) showOne(ctx context.Context, v Voucher) (Shown, error) {
	shown, _, err := s.show(ctx, []Voucher{v})
	if err != nil {
		return Shown{}, err
	}
	return shown[0], nil
}
