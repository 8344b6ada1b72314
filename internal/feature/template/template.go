package template

import (
	"errors"
	"strings"
	"time"

	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
)

// Errors of templates.
var (
	// ErrNone: there is no template with this id.
	ErrNone = errors.New("template not found")
	// ErrName: the shop has another template of this name.
	ErrName = errors.New("another template has this name")
	// ErrMany: the shop already has Most templates.
	ErrMany = errors.New("too many templates")
)

// Limits of templates.
const (
	MaxName = 64  // characters
	Most    = 100 // templates of a shop
	Listed  = 500 // templates in a list of all shops
)

// Template is a pattern for new vouchers of a shop: the settings of a voucher when it was saved. Instead of times it
// has the durations between them; a date until which coupons are valid is left out.
type Template struct {
	ID        int64
	Name      string
	Voucher   voucher.Voucher // without id, version and times; its sale has Issued, Guards and InviteWindow
	Lasts     time.Duration   // from the begin to the end of its sale
	Seen      time.Duration   // how long it is visible before its sale begins; 0: always
	CreatedAt time.Time
}

// Of returns a voucher as a template.
func Of(v voucher.Voucher, name string) Template {
	t := Template{Name: name, Voucher: voucher.Voucher{
		ShopID: v.ShopID, Title: v.Title, SubTitle: v.SubTitle, Rules: v.Rules, PayValue: v.PayValue,
		ActualValue: v.ActualValue, PayWithin: v.PayWithin, PerUser: v.PerUser, Kind: v.Kind,
		Picture:          v.Picture,
		ProcessingWithin: v.ProcessingWithin,
		Redemption:       voucher.Redemption{ByCode: v.Redemption.ByCode, ValidDays: v.Redemption.ValidDays},
	}}
	if v.Sale == nil {
		return t
	}
	t.Voucher.Sale = &voucher.Sale{
		Issued: v.Sale.Issued, Guards: v.Sale.Guards.Undrawn(), InviteWindow: v.Sale.InviteWindow,
	}
	t.Lasts = v.Sale.End.Sub(v.Sale.Begin)
	if !v.VisibleFrom.IsZero() {
		t.Seen = v.Sale.Begin.Sub(v.VisibleFrom)
	}
	return t
}

// checkedName returns a name as it is stored, or *invalid.Error.
func checkedName(name string) (string, error) {
	var p invalid.Problems
	name = strings.TrimSpace(name)
	p.Line("name", name, 1, MaxName)
	return name, p.Err()
}
