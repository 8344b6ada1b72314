package sqlkit

import (
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/voucher"
)

// AuditRow is an entry of the audit trail. WriteAudit sets its author and time.
type AuditRow struct {
	ID         int64                 `gorm:"column:id;primaryKey"`
	VoucherID  int64                 `gorm:"column:voucher_id"`
	ShopID     int64                 `gorm:"column:shop_id"`
	AdminID    int64                 `gorm:"column:admin_id"`
	RequestID  string                `gorm:"column:request_id"`
	Action     voucher.Action        `gorm:"column:action"`
	Changes    []voucher.FieldChange `gorm:"column:changes;serializer:json"`
	Delta      int64                 `gorm:"column:delta"`
	Operation  int64                 `gorm:"column:operation"`
	CreateTime time.Time             `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (AuditRow) TableName() string { return "tb_audit" }

// WriteAudit adds an entry to the audit trail, in the transaction of the change that it is about. The entry belongs to
// its voucher's shop, unless the row names a shop.
func WriteAudit(tx *gorm.DB, now time.Time, by voucher.Author, row AuditRow) error {
	row.AdminID, row.RequestID, row.CreateTime = by.AdminID, by.Request, now
	if row.Changes == nil {
		row.Changes = []voucher.FieldChange{}
	}
	if row.ShopID == 0 && row.VoucherID != 0 {
		var err error
		if row.ShopID, err = ShopOf(tx, row.VoucherID); err != nil {
			return err
		}
	}
	err := tx.Create(&row).Error
	return Wrapf(err, "writing the audit trail")
}

// ShopOf returns the shop of a voucher; 0 if there is no such voucher.
func ShopOf(tx *gorm.DB, voucherID int64) (int64, error) {
	var shops []int64
	if err := tx.Table("tb_voucher").Where("id = ?", voucherID).Pluck("shop_id", &shops).Error; err != nil {
		return 0, fmt.Errorf("reading the shop of voucher %d: %w", voucherID, err)
	}
	if len(shops) == 0 {
		return 0, nil
	}
	return shops[0], nil
}
