package voucher

import (
	"context"
	"time"

	"seckill/internal/guard"
)

const (
	// RehearsalShop is the shop of all rehearsals, and of nothing else: it is what marks a voucher as one.
	RehearsalShop int64 = 8_000_000_000_000_000
	// FirstRehearsalUser is the lowest id of the users who may buy in a rehearsal, and of those that loadgen makes up.
	FirstRehearsalUser int64 = 8_000_000_000_000_000
)

// rehearsalPayWithin is longer than a rehearsal and its emptying take, so that none of its orders expires.
const rehearsalPayWithin = 24 * time.Hour

// Rehearsal reports whether the voucher rehearses the sale of another.
func (v Voucher) Rehearsal() bool { return v.ShopID == RehearsalShop }

// Admits reports whether there is such a voucher for the user: only made-up users buy in a rehearsal.
func (v Voucher) Admits(userID int64) bool { return !v.Rehearsal() || userID >= FirstRehearsalUser }

// CreateRehearsal creates a rehearsal of a seckill voucher's sale, for the given time. It has the stock, the units
// per user and the guards of the sale, and costs something if the voucher does; it has no texts, no codes and no
// waiting list. Guards are in dry run, because a crowd from one machine is what they stop. ErrNotFound,
// ErrNotSeckill.
func (s *Service) CreateRehearsal(ctx context.Context, by Author, of int64, begin, end time.Time) (Shown, error) {
	v, err := s.ledger.Voucher(ctx, of)
	switch {
	case err != nil:
		return Shown{}, err
	case v.Sale == nil:
		return Shown{}, ErrNotSeckill
	}
	partition, err := s.beside(ctx, v.Sale)
	if err != nil {
		return Shown{}, err
	}
	sale := Sale{
		Stock: v.Sale.Issued, Issued: v.Sale.Issued, Begin: instant(begin), End: instant(end),
		Guards: dryRun(v.Sale.Guards), Partition: partition,
	}
	shadow := Voucher{
		ShopID: RehearsalShop, Title: "Rehearsal", PayValue: min(v.PayValue, 1), ActualValue: 1,
		PayWithin: rehearsalPayWithin, PerUser: v.PerUser, Kind: Seckill, Status: OnShelf, Rehearses: of, Sale: &sale,
	}
	return s.open(ctx, by, shadow)
}

// dryRun returns the settings with every guard that is on in dry run, and without a delay, so that the window may end
// at any time; nil for nil and for what cannot be read.
func dryRun(s *guard.Settings) *guard.Settings {
	if s == nil || s.Unreadable {
		return nil
	}
	dry := *s
	setDry(&dry.Limits, func(l *guard.Limits) *bool { return &l.DryRun })
	setDry(&dry.Conditions, func(c *guard.Conditions) *bool { return &c.DryRun })
	setDry(&dry.Tickets, func(t *guard.Tickets) *bool { t.DelayMs = 0; return &t.DryRun })
	setDry(&dry.Challenge, func(c *guard.Challenge) *bool { return &c.DryRun })
	setDry(&dry.CoolDown, func(c *guard.CoolDown) *bool { return &c.DryRun })
	return &dry
}

// setDry replaces one guard, if it is on, by a copy in dry run: settings are shared, and never changed.
func setDry[T any](g **T, flag func(*T) *bool) {
	if *g == nil {
		return
	}
	dry := **g
	*flag(&dry) = true
	*g = &dry
}
