package installation

import (
	"context"
	"time"

	"gorm.io/gorm"

	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// Note adds an entry about what an admin is about to do outside the ledger.
func (t *Tables) Note(ctx context.Context, e voucher.Entry) error {
	err := t.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		return sqlkit.WriteAudit(tx, now, e.By, sqlkit.AuditRow{
			VoucherID: e.VoucherID, ShopID: e.ShopID, Action: e.Action, Changes: e.Changes, Delta: e.Delta,
		})
	})
	return sqlkit.ReadError("writing the audit trail", err)
}
