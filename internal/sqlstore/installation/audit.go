package installation

import (
	"context"

	"gorm.io/gorm"

	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// Note adds an entry about what an admin is about to do outside the ledger.
func (t *Tables) Note(ctx context.Context, e voucher.Entry) error {
	err := t.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		now, err := t.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		return sqlkit.WriteAudit(tx, now, e.By, sqlkit.AuditRow{
			VoucherID: e.VoucherID, ShopID: e.ShopID, Action: e.Action, Changes: e.Changes, Delta: e.Delta,
		})
	})
	if err != nil {
		return sqlkit.ReadError("writing the audit trail", err)
	}
	return nil
}
