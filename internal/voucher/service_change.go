package voucher

import (
	"context"
	"time"
)

// followTime is how long the answer to a change waits for Redis to follow.
const followTime = 3 * time.Second

// Change alters a voucher. It returns the voucher as it is then, and whether Redis has followed; if not, it does so
// later. A change that changes nothing succeeds. It returns *InvalidError for one that breaks a rule, ErrNotFound, or
// ErrRetired for the window of a sale that is over for good.
func (s *Service) Change(ctx context.Context, by Author, id int64, c Change) (shown Shown, followed bool, err error) {
	v, err := s.changes.ChangeVoucher(ctx, id, by, func(v *Voucher) error { return c.apply(v, s.now()) })
	if err != nil {
		return Shown{}, false, err
	}
	followed = !c.concernsSale() || s.follow(ctx, v)
	shown, err = s.showOne(ctx, v)
	return shown, followed, err
}

// Pause stops a sale until Resume. It returns the voucher, and whether Redis has followed; if not, it does so later.
// Pausing a paused sale changes nothing. ErrNotFound, ErrNotSeckill, ErrRetired.
func (s *Service) Pause(ctx context.Context, by Author, id int64) (shown Shown, followed bool, err error) {
	return s.setPaused(ctx, by, id, true)
}

// Resume lets a paused sale go on; else it is like Pause.
func (s *Service) Resume(ctx context.Context, by Author, id int64) (shown Shown, followed bool, err error) {
	return s.setPaused(ctx, by, id, false)
}

func (s *Service) setPaused(ctx context.Context, by Author, id int64, paused bool) (Shown, bool, error) {
	v, err := s.changes.ChangeVoucher(ctx, id, by, func(v *Voucher) error {
		switch {
		case v.Sale == nil:
			return ErrNotSeckill
		case v.Sale.Retired:
			return ErrRetired
		}
		v.Sale.Paused = paused
		return nil
	})
	if err != nil {
		return Shown{}, false, err
	}
	followed := s.follow(ctx, v)
	shown, err := s.showOne(ctx, v)
	return shown, followed, err
}

// follow waits a while for Redis to follow and reports whether it has. A failure is not the caller's: what is committed
// stays, and is followed later.
func (s *Service) follow(ctx context.Context, v Voucher) bool {
	if v.Sale == nil || v.Sale.Retired {
		return true // Redis holds nothing of it
	}
	ctx, cancel := context.WithTimeout(ctx, followTime)
	defer cancel()
	return s.follower.Follow(ctx, v.ID) == nil
}

// showOne adds the live state of one voucher.
func (s *Service) showOne(ctx context.Context, v Voucher) (Shown, error) {
	shown, _, err := s.show(ctx, []Voucher{v})
	if err != nil {
		return Shown{}, err
	}
	return shown[0], nil
}
