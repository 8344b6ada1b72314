package rehearsal

import (
	"time"

	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// payWithin is longer than a rehearsal and the removal of its orders take, so that none of them expires.
const payWithin = 24 * time.Hour

// shadowOf returns the voucher of a rehearsal of v's sale, which runs from begin to end. It has the stock, the units
// per user and the guards of the sale, and costs something if v does. It has no texts, no codes and no waiting list.
// Guards are in dry run, because they exist to stop a crowd from one machine.
func shadowOf(v voucher.Voucher, begin, end time.Time) voucher.Voucher {
	return voucher.Voucher{
		ShopID: voucher.RehearsalShop, Title: "Rehearsal", PayValue: min(v.PayValue, 1), ActualValue: 1,
		PayWithin: payWithin, PerUser: v.PerUser, Kind: voucher.Seckill, Status: voucher.OnShelf, Rehearses: v.ID,
		Sale: &voucher.Sale{
			Stock: v.Sale.Issued, Issued: v.Sale.Issued, Begin: begin, End: end, Guards: dryRun(v.Sale.Guards),
		},
	}
}

// dryRun returns the settings with every guard that is on in dry run, and without a delay, so that the window may end
// at any time; nil for nil and for what cannot be read.
func dryRun(s *guards.Settings) *guards.Settings {
	if s == nil || s.Unreadable {
		return nil
	}
	dry := *s
	setDry(&dry.Limits, func(l *guards.Limits) *bool { return &l.DryRun })
	setDry(&dry.Conditions, func(c *guards.Conditions) *bool { return &c.DryRun })
	setDry(&dry.Tickets, func(t *guards.Tickets) *bool { t.DelayMs = 0; return &t.DryRun })
	setDry(&dry.Challenge, func(c *guards.Challenge) *bool { return &c.DryRun })
	setDry(&dry.CoolDown, func(c *guards.CoolDown) *bool { return &c.DryRun })
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
