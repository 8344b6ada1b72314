package voucher

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Errors of templates.
var (
	// ErrNoTemplate: there is no template with this id.
	ErrNoTemplate = errors.New("template not found")
	// ErrTemplateName: the shop has another template of this name.
	ErrTemplateName = errors.New("another template has this name")
	// ErrTemplates: the shop has as many templates as one may have.
	ErrTemplates = errors.New("too many templates")
)

// Limits of templates.
const (
	MaxTemplateName = 64  // characters
	MaxTemplates    = 100 // of a shop
	ListedTemplates = 500 // of all shops in one list
)

// Template is what new vouchers of a shop are made from: all that was given for one when it was saved. Instead of
// moments it has how far they are apart; a date until which coupons are valid is left out.
type Template struct {
	ID        int64
	Name      string
	Voucher   Voucher       // without id, version and times; its sale has Issued, Guards and OfferWithin
	Lasts     time.Duration // from the begin to the end of its sale
	Seen      time.Duration // for which it is visible before its sale begins; 0: always
	CreatedAt time.Time
}

// TemplateOf returns a voucher as a template.
func TemplateOf(v Voucher, name string) Template {
	t := Template{Name: name, Voucher: Voucher{
		ShopID: v.ShopID, Title: v.Title, SubTitle: v.SubTitle, Rules: v.Rules, PayValue: v.PayValue,
		ActualValue: v.ActualValue, PayWithin: v.PayWithin, PerUser: v.PerUser, Kind: v.Kind,
		Redemption: Redemption{ByCode: v.Redemption.ByCode, ValidDays: v.Redemption.ValidDays},
	}}
	if v.Sale == nil {
		return t
	}
	t.Voucher.Sale = &Sale{Issued: v.Sale.Issued, Guards: v.Sale.Guards, OfferWithin: v.Sale.OfferWithin}
	t.Lasts = v.Sale.End.Sub(v.Sale.Begin)
	if !v.VisibleFrom.IsZero() {
		t.Seen = v.Sale.Begin.Sub(v.VisibleFrom)
	}
	return t
}

// TemplateLedger keeps templates. Each change is one transaction, with its [Entry]. Every method may return
// order.ErrUnavailable.
type TemplateLedger interface {
	// CreateTemplate saves a voucher as a template. ErrNotFound, ErrTemplateName, ErrTemplates.
	CreateTemplate(ctx context.Context, voucherID int64, name string, by Author) (Template, error)
	// Templates returns those of a shop, by name; with shopID 0 the newest ListedTemplates, by shop and name.
	Templates(ctx context.Context, shopID int64) ([]Template, error)
	// RenameTemplate returns ErrNoTemplate or ErrTemplateName.
	RenameTemplate(ctx context.Context, id int64, name string, by Author) (Template, error)
	// DeleteTemplate returns ErrNoTemplate.
	DeleteTemplate(ctx context.Context, id int64, by Author) error
}

// Templates are what admins do with templates. Vouchers are made from them like any other, so that every rule of a
// draft holds.
type Templates struct{ ledger TemplateLedger }

// NewTemplates returns the templates in the ledger.
func NewTemplates(ledger TemplateLedger) *Templates { return &Templates{ledger} }

// Save saves a voucher as a template. *invalid.Error for the name, ErrNotFound, ErrTemplateName, ErrTemplates,
// order.ErrUnavailable.
func (t *Templates) Save(ctx context.Context, by Author, voucherID int64, name string) (Template, error) {
	name, err := templateName(name)
	if err != nil {
		return Template{}, err
	}
	return t.ledger.CreateTemplate(ctx, voucherID, name, by)
}

// List returns the templates of a shop, by name; with shopID 0 all. order.ErrUnavailable.
func (t *Templates) List(ctx context.Context, shopID int64) ([]Template, error) {
	return t.ledger.Templates(ctx, shopID)
}

// Rename renames a template. *invalid.Error, ErrNoTemplate, ErrTemplateName, order.ErrUnavailable.
func (t *Templates) Rename(ctx context.Context, by Author, id int64, name string) (Template, error) {
	name, err := templateName(name)
	if err != nil {
		return Template{}, err
	}
	return t.ledger.RenameTemplate(ctx, id, name, by)
}

// Delete deletes a template; vouchers made from it stay. ErrNoTemplate, order.ErrUnavailable.
func (t *Templates) Delete(ctx context.Context, by Author, id int64) error {
	return t.ledger.DeleteTemplate(ctx, id, by)
}

// templateName returns a name as it is stored, or *invalid.Error.
func templateName(name string) (string, error) {
	var r fieldRules
	name = strings.TrimSpace(name)
	r.text("name", name, 1, MaxTemplateName)
	return name, r.Err()
}
