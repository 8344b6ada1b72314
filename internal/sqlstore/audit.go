package sqlstore

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/voucher"
)

type auditRow struct {
	ID         int64                 `gorm:"column:id;primaryKey"`
	VoucherID  int64                 `gorm:"column:voucher_id"`
	AdminID    int64                 `gorm:"column:admin_id"`
	RequestID  string                `gorm:"column:request_id"`
	Action     voucher.Action        `gorm:"column:action"`
	Changes    []voucher.FieldChange `gorm:"column:changes;serializer:json"`
	Delta      int64                 `gorm:"column:delta"`
	Operation  int64                 `gorm:"column:operation"`
	CreateTime time.Time             `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (auditRow) TableName() string { return "tb_audit" }

// writeAuditEntry adds an entry to the audit trail, in the transaction of what it is about.
func writeAuditEntry(tx *gorm.DB, now time.Time, by voucher.Author, row auditRow) error {
	row.AdminID, row.RequestID, row.CreateTime = by.AdminID, by.Request, now
	if row.Changes == nil {
		row.Changes = []voucher.FieldChange{}
	}
	if err := tx.Create(&row).Error; err != nil {
		return fmt.Errorf("writing the audit trail: %w", err)
	}
	return nil
}

// Note adds an entry about what an admin is about to do outside the ledger.
func (s *Store) Note(ctx context.Context, e voucher.Entry) error {
	err := s.writeRetry(ctx, func(tx *gorm.DB) error {
		now, err := s.ledgerTime(tx)
		if err != nil {
			return err
		}
		return writeAuditEntry(tx, now, e.By, auditRow{VoucherID: e.VoucherID, Action: e.Action, Changes: e.Changes, Delta: e.Delta})
	})
	if err != nil {
		return readError("writing the audit trail", err)
	}
	return nil
}

// Entries returns entries of the audit trail that the filter lets through, with an id below before, newest first, at most
// limit. Pass math.MaxInt64 as before for the first page.
func (s *Store) Entries(ctx context.Context, f voucher.AuditFilter, before int64, limit int) ([]voucher.Entry, error) {
	query := s.read(ctx).Table("tb_audit a").Select("a.*, o.state").
		Joins("LEFT JOIN tb_voucher_operation o ON o.voucher_id = a.voucher_id AND o.number = a.operation").
		Where("a.id < ?", before).Order("a.id DESC").Limit(limit)
	if f.VoucherID != 0 {
		query = query.Where("a.voucher_id = ?", f.VoucherID)
	}
	if f.AdminID != 0 {
		query = query.Where("a.admin_id = ?", f.AdminID)
	}
	var rows []struct {
		Audit auditRow        `gorm:"embedded"`
		State *operationState `gorm:"column:state"`
	}
	if err := query.Find(&rows).Error; err != nil {
		return nil, readError("reading the audit trail", err)
	}
	entries := make([]voucher.Entry, len(rows))
	for i, row := range rows {
		a := row.Audit
		entries[i] = voucher.Entry{
			ID: a.ID, At: a.CreateTime, By: voucher.Author{AdminID: a.AdminID, Request: a.RequestID},
			Action: a.Action, VoucherID: a.VoucherID, Changes: a.Changes, Delta: a.Delta,
		}
		if row.State != nil {
			entries[i].Outcome = row.State.ofStock()
		}
	}
	return entries, nil
}
