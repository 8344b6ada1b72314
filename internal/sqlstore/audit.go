package sqlstore

import (
	"context"

	"gorm.io/gorm"

	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// Note adds an entry about what an admin is about to do outside the ledger.
func (s *Store) Note(ctx context.Context, e voucher.Entry) error {
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		return sqlkit.WriteAudit(tx, now, e.By,
			sqlkit.AuditRow{VoucherID: e.VoucherID, Action: e.Action, Changes: e.Changes, Delta: e.Delta})
	})
	if err != nil {
		return sqlkit.ReadError("writing the audit trail", err)
	}
	return nil
}

// Entries returns entries of the audit trail that the filter lets through, with an id below before, newest first, at
// most limit. Pass math.MaxInt64 as before for the first page.
func (s *Store) Entries(ctx context.Context, f voucher.AuditFilter, before int64, limit int) ([]voucher.Entry, error) {
	query := s.db.Read(ctx).Table("tb_audit a").Select("a.*, o.state").
		Joins("LEFT JOIN tb_voucher_operation o ON o.voucher_id = a.voucher_id AND o.number = a.operation").
		Where("a.id < ?", before).Order("a.id DESC").Limit(limit)
	if f.VoucherID != 0 {
		query = query.Where("a.voucher_id = ?", f.VoucherID)
	}
	if f.AdminID != 0 {
		query = query.Where("a.admin_id = ?", f.AdminID)
	}
	var rows []struct {
		Audit sqlkit.AuditRow `gorm:"embedded"`
		State *operationState `gorm:"column:state"`
	}
	if err := query.Find(&rows).Error; err != nil {
		return nil, sqlkit.ReadError("reading the audit trail", err)
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
