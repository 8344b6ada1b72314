package template

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

type row struct {
	ID         int64     `gorm:"column:id;primaryKey"`
	ShopID     int64     `gorm:"column:shop_id"`
	Name       string    `gorm:"column:name"`
	Fields     string    `gorm:"column:fields"`
	CreateTime time.Time `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (row) TableName() string { return "tb_voucher_template" }

// fields is the stored form of a template: durations are in milliseconds, and missing members are zero.
type fields struct {
	Kind         voucher.Kind `json:"type"`
	Title        string       `json:"title"`
	SubTitle     string       `json:"subTitle,omitempty"`
	Rules        string       `json:"rules,omitempty"`
	Picture      string       `json:"picture,omitempty"`
	PayValue     int64        `json:"payValue"`
	ActualValue  int64        `json:"actualValue"`
	PayWithin    int64        `json:"payWithin"`
	Processing   int64        `json:"processingWithin,omitempty"`
	ByCode       bool         `json:"redeemable,omitempty"`
	ValidDays    int64        `json:"validDays,omitempty"`
	PerUser      int64        `json:"perUser,omitempty"`
	Stock        int64        `json:"stock,omitempty"`
	InviteWindow int64        `json:"inviteWindow,omitempty"`
	Guards       string       `json:"guards,omitempty"` // guards.Settings.Text
	Lasts        int64        `json:"lasts,omitempty"`
	Seen         int64        `json:"seen,omitempty"`
}

func newRow(t Template, now time.Time) (row, error) {
	v := t.Voucher
	f := fields{
		Kind: v.Kind, Title: v.Title, SubTitle: v.SubTitle, Rules: v.Rules, Picture: v.Picture, PayValue: v.PayValue,
		ActualValue: v.ActualValue, PayWithin: v.PayWithin.Milliseconds(), ByCode: v.Redemption.ByCode,
		ValidDays: v.Redemption.ValidDays, PerUser: v.PerUser, Processing: v.ProcessingWithin.Milliseconds(),
		Lasts: t.Lasts.Milliseconds(), Seen: t.Seen.Milliseconds(),
	}
	if v.Sale != nil {
		f.Stock, f.InviteWindow, f.Guards = v.Sale.Issued, v.Sale.InviteWindow.Milliseconds(), v.Sale.Guards.Text()
	}
	fields, err := json.Marshal(f)
	if err != nil {
		return row{}, fmt.Errorf("rendering a template: %w", err)
	}
	return row{ShopID: v.ShopID, Name: t.Name, Fields: string(fields), CreateTime: now}, nil
}

// template returns the row as a template. If it cannot be read, it has only its name, by which it can be deleted.
func (r row) template() Template {
	var f fields
	if json.Unmarshal([]byte(r.Fields), &f) != nil {
		f = fields{} // a part of it may have been read
	}
	millis := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	t := Template{
		ID: r.ID, Name: r.Name, CreatedAt: r.CreateTime, Lasts: millis(f.Lasts), Seen: millis(f.Seen),
		Voucher: voucher.Voucher{
			ShopID: r.ShopID, Title: f.Title, SubTitle: f.SubTitle, Rules: f.Rules, Picture: f.Picture,
			PayValue: f.PayValue, ActualValue: f.ActualValue,
			PayWithin: millis(f.PayWithin), Redemption: voucher.Redemption{ByCode: f.ByCode, ValidDays: f.ValidDays},
			PerUser: f.PerUser, Kind: f.Kind, ProcessingWithin: millis(f.Processing),
		},
	}
	if f.Kind == voucher.Seckill {
		t.Voucher.Sale = &voucher.Sale{
			Issued: f.Stock, InviteWindow: millis(f.InviteWindow), Guards: guards.Parse(f.Guards),
		}
	}
	return t
}

// Templates saves and changes templates, in the ledger's database. Each change is one transaction, with its entry in
// the audit trail. Vouchers are made from templates in the same way as any voucher, so that every rule for drafts
// holds.
type Templates struct {
	db   *sqlkit.DB
	find func(ctx context.Context, id int64) (voucher.Voucher, error)
}

// NewTemplates returns the templates in a database. find returns a voucher from the ledger, or voucher.ErrNotFound.
func NewTemplates(db *sqlkit.DB, find func(ctx context.Context, id int64) (voucher.Voucher, error)) *Templates {
	return &Templates{db, find}
}

// Save implements Service. Simultaneous calls may exceed the limit by their number; it only keeps lists short.
func (t *Templates) Save(ctx context.Context, by voucher.Author, voucherID int64, name string) (Template, error) {
	name, err := checkedName(name)
	if err != nil {
		return Template{}, err
	}
	v, err := t.find(ctx, voucherID)
	if err != nil {
		return Template{}, err
	}
	return t.write(ctx, "creating", by, func(tx *gorm.DB, now time.Time) (row, sqlkit.AuditRow, error) {
		if err := sqlkit.ClaimKey(tx, now, by.Key, ""); err != nil {
			return row{}, sqlkit.AuditRow{}, err
		}
		var n int64
		if err := tx.Model(&row{}).Where("shop_id = ?", v.ShopID).Count(&n).Error; err != nil {
			return row{}, sqlkit.AuditRow{}, fmt.Errorf("counting templates: %w", err)
		}
		if n >= Most {
			return row{}, sqlkit.AuditRow{}, ErrMany
		}
		r, err := newRow(Of(v, name), now)
		if err != nil {
			return row{}, sqlkit.AuditRow{}, err
		}
		if err = tx.Create(&r).Error; err == nil {
			err = sqlkit.MadeByKey(tx, by.Key, strconv.FormatInt(r.ID, 10))
		}
		return r, sqlkit.AuditRow{VoucherID: voucherID, Action: voucher.Created, Changes: renamed("", name)}, err
	})
}

// List implements Service.
func (t *Templates) List(ctx context.Context, shopID int64) ([]Template, error) {
	query := t.db.Read(ctx).Order("id DESC").Limit(Listed)
	if shopID != 0 {
		query = query.Where("shop_id = ?", shopID)
	}
	templates, err := sqlkit.List(query, "listing templates", (*row).template)
	slices.SortFunc(templates, func(a, b Template) int {
		return cmp.Or(cmp.Compare(a.Voucher.ShopID, b.Voucher.ShopID), strings.Compare(a.Name, b.Name))
	})
	return templates, err
}

// Find implements Service.
func (t *Templates) Find(ctx context.Context, id int64) (Template, error) {
	r, err := sqlkit.Take[row](t.db.Read(ctx).Where("id = ?", id), ErrNone, "finding it")
	return r.template(), sqlkit.ReadError("reading a template", err)
}

// Rename implements Service.
func (t *Templates) Rename(ctx context.Context, by voucher.Author, id int64, name string) (Template, error) {
	name, err := checkedName(name)
	if err != nil {
		return Template{}, err
	}
	return t.write(ctx, "renaming", by, func(tx *gorm.DB, _ time.Time) (row, sqlkit.AuditRow, error) {
		r, err := locked(tx, id)
		if err != nil || r.Name == name {
			return r, sqlkit.AuditRow{}, err
		}
		audit := sqlkit.AuditRow{ShopID: r.ShopID, Action: voucher.Changed, Changes: renamed(r.Name, name)}
		r.Name = name
		return r, audit, tx.Model(&r).Update("name", name).Error
	})
}

// Delete implements Service.
func (t *Templates) Delete(ctx context.Context, by voucher.Author, id int64) error {
	_, err := t.write(ctx, "deleting", by, func(tx *gorm.DB, _ time.Time) (row, sqlkit.AuditRow, error) {
		r, err := locked(tx, id)
		if err != nil {
			return r, sqlkit.AuditRow{}, err
		}
		audit := sqlkit.AuditRow{ShopID: r.ShopID, Action: voucher.Deleted, Changes: renamed(r.Name, "")}
		return r, audit, tx.Delete(&r).Error
	})
	return err
}

// write runs a change of a template in one transaction, with its audit entry if it has one.
func (t *Templates) write(
	ctx context.Context, what string, by voucher.Author,
	change func(tx *gorm.DB, now time.Time) (row, sqlkit.AuditRow, error),
) (Template, error) {
	var r row
	err := t.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		now, err := t.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		var audit sqlkit.AuditRow
		if r, audit, err = change(tx, now); err != nil || audit.Action == "" {
			return err
		}
		return sqlkit.WriteAudit(tx, now, by, audit)
	})
	if sqlkit.IsDuplicate(err) {
		return Template{}, ErrName
	}
	return r.template(), sqlkit.ReadError(what+" a template", err)
}

func locked(tx *gorm.DB, id int64) (row, error) {
	return sqlkit.Take[row](sqlkit.Locking(tx).Where("id = ?", id), ErrNone, "locking a template")
}

func renamed(from, to string) []voucher.FieldChange {
	return []voucher.FieldChange{{Field: "template", From: from, To: to}}
}
