package voucher

import (
	"context"
	"time"
)

// IsArchived reports whether the voucher was archived: it is in no public list, is not sold, and does not change until
// it is restored. Its orders, coupons and payments go on.
func (v Voucher) IsArchived() bool { return !v.Archived.IsZero() }

// SetArchived archives a voucher, or restores it. Doing either twice has no further effect. It returns ErrSaleNotOver
// while the voucher's sale runs or has not begun, ErrOrdersWait while an order of it is queued or unpaid, ErrNotFound,
// or order.ErrUnavailable, also if Redis does not return the sale's state.
func (s *Service) SetArchived(ctx context.Context, by Author, id int64, archived bool) (Shown, error) {
	alter := func(v *Voucher) error {
		v.Archived = time.Time{}
		return nil
	}
	if archived {
		var err error
		if alter, err = s.archive(ctx, id); err != nil {
			return Shown{}, err
		}
	}
	v, err := s.parts.Changes.ChangeVoucher(ctx, id, by, alter)
	if err != nil {
		return Shown{}, err
	}
	s.parts.Changed(ctx, v)
	return s.showOne(ctx, v)
}

// archive returns a function that archives the voucher in its transaction. It reads the sale from Redis before that: if
// the sale is over by Redis's clock, nobody buys any more. From then on, unless there is a new operation, the ledger's
// stock changes only when a waiting order is recorded. So if it is the same before and after Redis was read, and Redis
// has as many units left, then no order waits. A sale whose end was moved meanwhile is not archived; a sale that was
// retired meanwhile has no waiting orders.
func (s *Service) archive(ctx context.Context, id int64) (func(v *Voucher) error, error) {
	before, err := s.parts.Ledger.Voucher(ctx, id)
	if err != nil {
		return nil, err
	}
	var inRedis *Live
	if selling := Selling([]Voucher{before}); len(selling) > 0 {
		live, now, err := s.parts.Live(ctx, selling)
		if err != nil {
			return nil, err
		}
		if !before.Sale.Ended(now) {
			return nil, ErrSaleNotOver
		}
		inRedis = &live[0]
	}
	return func(v *Voucher) error {
		switch {
		case v.IsArchived():
			return nil
		case v.Sale != nil && !v.Sale.End.Equal(before.Sale.End):
			return ErrSaleNotOver
		case inRedis != nil && !v.Sale.Retired && !inRedis.holdsAllOf(*before.Sale, *v.Sale):
			return ErrOrdersWait
		}
		v.Archived = instant(s.parts.Now())
		return nil
	}, nil
}

// holdsAllOf reports whether no order of a sale that is over waited in Redis. Redis was read between before and after,
// two readings of the ledger.
func (inRedis *Live) holdsAllOf(before, after Sale) bool {
	switch {
	case inRedis.Missing, inRedis.Stock != after.Stock:
		return false
	default:
		return before.Stock == after.Stock && before.LastOperation == after.LastOperation
	}
}
