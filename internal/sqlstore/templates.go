package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"seckill/internal/guard"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

type templateRow struct {
	ID         int64     `gorm:"column:id;primaryKey"`
	ShopID     int64     `gorm:"column:shop_id"`
	Name       string    `gorm:"column:name"`
	Fields     string    `gorm:"column:fields"`
	CreateTime time.Time `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (templateRow) TableName() string { return "tb_voucher_template" }

// templateFields are a template as it is stored: durations are in milliseconds, and what is missing is zero.
type templateFields struct {
	Kind        voucher.Kind `json:"type"`
	Title       string       `json:"title"`
	SubTitle    string       `json:"subTitle,omitempty"`
	Rules       string       `json:"rules,omitempty"`
	PayValue    int64        `json:"payValue"`
	ActualValue int64        `json:"actualValue"`
	PayWithin   int64        `json:"payWithin"`
	ByCode      bool         `json:"redeemable,omitempty"`
	ValidDays   int64        `json:"validDays,omitempty"`
	PerUser     int64        `json:"perUser,omitempty"`
	Stock       int64        `json:"stock,omitempty"`
	OfferWithin int64        `json:"offerWithin,omitempty"`
	Guards      string       `json:"guards,omitempty"` // guard.Settings.Text
	Lasts       int64        `json:"lasts,omitempty"`
	Seen        int64        `json:"seen,omitempty"`
}

func newTemplateRow(t voucher.Template, now time.Time) (templateRow, error) {
	v := t.Voucher
	f := templateFields{
		Kind: v.Kind, Title: v.Title, SubTitle: v.SubTitle, Rules: v.Rules, PayValue: v.PayValue,
		ActualValue: v.ActualValue, PayWithin: v.PayWithin.Milliseconds(), ByCode: v.Redemption.ByCode,
		ValidDays: v.Redemption.ValidDays, PerUser: v.PerUser,
		Lasts: t.Lasts.Milliseconds(), Seen: t.Seen.Milliseconds(),
	}
	if v.Sale != nil {
		f.Stock, f.OfferWithin, f.Guards = v.Sale.Issued, v.Sale.OfferWithin.Milliseconds(), v.Sale.Guards.Text()
	}
	fields, err := json.Marshal(f)
	if err != nil {
		return templateRow{}, fmt.Errorf("rendering a template: %w", err)
	}
	return templateRow{ShopID: v.ShopID, Name: t.Name, Fields: string(fields), CreateTime: now}, nil
}

// template returns the row as a template. One that cannot be read has its name only, by which it can be deleted.
func (r templateRow) template() voucher.Template {
	var f templateFields
	if json.Unmarshal([]byte(r.Fields), &f) != nil {
		f = templateFields{} // a part of it may have been read
	}
	millis := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	t := voucher.Template{
		ID: r.ID, Name: r.Name, CreatedAt: r.CreateTime, Lasts: millis(f.Lasts), Seen: millis(f.Seen),
		Voucher: voucher.Voucher{
			ShopID: r.ShopID, Title: f.Title, SubTitle: f.SubTitle, Rules: f.Rules,
			PayValue: f.PayValue, ActualValue: f.ActualValue,
			PayWithin: millis(f.PayWithin), Redemption: voucher.Redemption{ByCode: f.ByCode, ValidDays: f.ValidDays},
			PerUser: f.PerUser, Kind: f.Kind,
		},
	}
	if f.Kind == voucher.Seckill {
		t.Voucher.Sale = &voucher.Sale{
			Issued: f.Stock, OfferWithin: millis(f.OfferWithin), Guards: guard.Parse(f.Guards),
		}
	}
	return t
}

// CreateTemplate implements voucher.TemplateLedger. Several at once may exceed the limit by as many; it only keeps
// lists short.
func (s *Store) CreateTemplate(
	ctx context.Context, voucherID int64, name string, by voucher.Author,
) (voucher.Template, error) {
	var row templateRow
	return s.writeTemplate(ctx, "creating", by, func(tx *gorm.DB, now time.Time) (templateRow, sqlkit.AuditRow, error) {
		v, err := findVoucher(tx, voucherID)
		if err != nil {
			return row, sqlkit.AuditRow{}, err
		}
		var n int64
		if err := tx.Model(&templateRow{}).Where("shop_id = ?", v.ShopID).Count(&n).Error; err != nil {
			return row, sqlkit.AuditRow{}, fmt.Errorf("counting templates: %w", err)
		}
		if n >= voucher.MaxTemplates {
			return row, sqlkit.AuditRow{}, voucher.ErrTemplates
		}
		if row, err = newTemplateRow(voucher.TemplateOf(v, name), now); err != nil {
			return row, sqlkit.AuditRow{}, err
		}
		return row, sqlkit.AuditRow{VoucherID: voucherID, Action: voucher.Created, Changes: renamed("", name)},
			tx.Create(&row).Error
	})
}

// Templates implements voucher.TemplateLedger.
func (s *Store) Templates(ctx context.Context, shopID int64) ([]voucher.Template, error) {
	query := s.db.Read(ctx).Order("id DESC").Limit(voucher.ListedTemplates)
	if shopID != 0 {
		query = query.Where("shop_id = ?", shopID)
	}
	var rows []templateRow
	if err := query.Find(&rows).Error; err != nil {
		return nil, sqlkit.ReadError("listing templates", err)
	}
	templates := make([]voucher.Template, len(rows))
	for i, row := range rows {
		templates[i] = row.template()
	}
	slices.SortFunc(templates, func(a, b voucher.Template) int {
		return cmp.Or(cmp.Compare(a.Voucher.ShopID, b.Voucher.ShopID), strings.Compare(a.Name, b.Name))
	})
	return templates, nil
}

// RenameTemplate implements voucher.TemplateLedger.
func (s *Store) RenameTemplate(
	ctx context.Context, id int64, name string, by voucher.Author,
) (voucher.Template, error) {
	return s.writeTemplate(ctx, "renaming", by, func(tx *gorm.DB, _ time.Time) (templateRow, sqlkit.AuditRow, error) {
		row, err := lockTemplate(tx, id)
		if err != nil || row.Name == name {
			return row, sqlkit.AuditRow{}, err
		}
		audit := sqlkit.AuditRow{Action: voucher.Changed, Changes: renamed(row.Name, name)}
		row.Name = name
		return row, audit, tx.Model(&row).Update("name", name).Error
	})
}

// DeleteTemplate implements voucher.TemplateLedger.
func (s *Store) DeleteTemplate(ctx context.Context, id int64, by voucher.Author) error {
	_, err := s.writeTemplate(ctx, "deleting", by,
		func(tx *gorm.DB, _ time.Time) (templateRow, sqlkit.AuditRow, error) {
			row, err := lockTemplate(tx, id)
			if err != nil {
				return row, sqlkit.AuditRow{}, err
			}
			return row, sqlkit.AuditRow{Action: voucher.Deleted, Changes: renamed(row.Name, "")}, tx.Delete(&row).Error
		})
	return err
}

// writeTemplate runs a change of a template in one transaction, with its audit entry if it has one.
func (s *Store) writeTemplate(
	ctx context.Context, what string, by voucher.Author,
	change func(tx *gorm.DB, now time.Time) (templateRow, sqlkit.AuditRow, error),
) (voucher.Template, error) {
	var row templateRow
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		var audit sqlkit.AuditRow
		if row, audit, err = change(tx, now); err != nil || audit.Action == "" {
			return err
		}
		return sqlkit.WriteAudit(tx, now, by, audit)
	})
	switch {
	case sqlkit.IsDuplicate(err):
		return voucher.Template{}, voucher.ErrTemplateName
	case err != nil:
		return voucher.Template{}, sqlkit.ReadError(what+" a template", err)
	}
	return row.template(), nil
}

func lockTemplate(tx *gorm.DB, id int64) (templateRow, error) {
	var row templateRow
	err := sqlkit.Locking(tx).Where("id = ?", id).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, voucher.ErrNoTemplate
	}
	if err != nil {
		return row, fmt.Errorf("locking a template: %w", err)
	}
	return row, nil
}

func renamed(from, to string) []voucher.FieldChange {
	return []voucher.FieldChange{{Field: "template", From: from, To: to}}
}
