package voucher

import (
	"context"
	"time"
)

// IsArchived reports whether the voucher was archived: it is in no list of the public's, is not sold, and does not
// change until it is restored. Its orders, coupons and payments go on.
func (v Voucher) IsArchived() bool { return !v.Archived.IsZero() }

// SetArchived archives a voucher, or restores it. Doing either twice is one. A voucher is not archived while its sale
// runs or is still to come (ErrSaleNotOver), nor while an order of it is queued or unpaid (ErrOrdersWait). ErrNotFound;
// order.ErrUnavailable also where Redis does not say how the sale is.
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
	s.parts.Lists.Changed(ctx, v)
	return s.showOne(ctx, v)
}

// archive returns what archives the voucher in its transaction. It asks Redis before that: by its clock the sale is
// over, so that nothing is bought any more. What the ledger has left is then lowered by recorded orders alone, as long
// as nobody has another operation written. So if it was the same before Redis was asked and is the same afterwards,
// what is missing in Redis at that time are the orders that wait. A window that was moved meanwhile makes another sale
// of it; what is retired meanwhile has no such orders.
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

// holdsAllOf reports whether no order of a sale that is over waited in Redis, which was asked between two readings of
// the ledger.
func (inRedis *Live) holdsAllOf(before, after Sale) bool {
	switch {
	case inRedis.Missing, inRedis.Stock != after.Stock:
		return false
	default:
		return before.Stock == after.Stock && before.LastOperation == after.LastOperation
	}
}
