package voucher

import (
	"cmp"
	"time"

	"seckill/internal/kit/invalid"
	"seckill/internal/voucher/guards"
)

// Limits of a voucher's fields; the columns of tb_voucher are as wide as these.
const (
	MaxTitle = 255              // characters
	MaxRules = 1024             // characters
	MaxMoney = 1_000_000_000_00 // in the currency's least unit
	MaxStock = 100_000_000
	// MaxPerUser caps the units of a voucher that a user may have, in one sale or of one ordinary voucher.
	MaxPerUser = 20
)

// How long an invitation of a waiting list may stand.
const (
	MinInviteWindow = 30 * time.Second
	MaxInviteWindow = 7 * 24 * time.Hour
)

// Draft is a voucher to be created.
type Draft struct {
	ShopID      int64
	Title       string
	SubTitle    string
	Rules       string
	Picture     string        // its address, on a host that pages may load it from; "" for none
	PayValue    int64         // in the currency's least unit
	ActualValue int64         // in the currency's least unit
	PayWithin   time.Duration // how long an order may stay unpaid; 0 is DefaultPayWithin
	// ProcessingWithin is by how much that may grow while the order's money is under way; 0: by PayWithin again.
	ProcessingWithin time.Duration
	Redemption       Redemption
	VisibleFrom      time.Time // before then only admins see it; zero: visible at once
	PerUser          int64     // units of a user: at least 1 in a sale; 0 for any number of an ordinary voucher
}

// SaleDraft is the sale of a seckill voucher to be created.
type SaleDraft struct {
	Stock  int64
	Begin  time.Time     // may be in the past: the sale is then on at once
	End    time.Time     // exclusive; after Begin and after now
	Guards guards.Change // applied to a sale without guards
	// InviteWindow is how long an invitation of its waiting list stands; 0: it has no list.
	InviteWindow time.Duration
	// Partition is the wanted partition of the sale; nil: the Placer chooses.
	Partition *int64
}

// check returns the draft as a voucher, and adds all its problems at the time now to r.
func (d Draft) check(r *fieldRules, now time.Time) Voucher {
	r.shop(d.ShopID)
	v := Voucher{
		ShopID: d.ShopID, Title: r.title(d.Title), SubTitle: r.subTitle(d.SubTitle), Rules: r.rules(d.Rules),
		Picture: d.Picture, PayValue: d.PayValue, ActualValue: d.ActualValue, Kind: Ordinary, Status: OnShelf,
	}
	r.Number("payValue", d.PayValue, 0, MaxMoney)
	r.Number("actualValue", d.ActualValue, 1, MaxMoney)
	v.PayWithin, v.ProcessingWithin = cmp.Or(d.PayWithin, DefaultPayWithin), d.ProcessingWithin
	r.seconds("payWithinSeconds", v.PayWithin, MinPayWithin, MaxPayWithin, invalid.Range)
	r.seconds("processingWithinSeconds", v.ProcessingWithin, MinProcessingWithin, MaxProcessingWithin, invalid.Range)
	v.Redemption = r.redemption(d.Redemption, now)
	v.VisibleFrom = r.visibleFrom(d.VisibleFrom)
	return v
}

// check returns the sale, and adds all its problems at the time now to r.
func (d SaleDraft) check(r *fieldRules, now time.Time) Sale {
	sale := Sale{
		Stock: d.Stock, Issued: d.Stock, Begin: instant(d.Begin), End: instant(d.End), InviteWindow: d.InviteWindow,
	}
	r.Number("stock", d.Stock, 1, MaxStock)
	r.window(sale.Begin, sale.End, now)
	r.seconds("waitlistWindowSeconds", d.InviteWindow, MinInviteWindow, MaxInviteWindow, rangeOrOmit)
	sale.Guards = r.guards(d.Guards, nil)
	r.moments(sale)
	return sale
}
