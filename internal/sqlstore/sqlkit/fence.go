package sqlkit

import (
	"errors"
	"fmt"

	"gorm.io/gorm"

	"seckill/internal/order"
)

// FenceRow is the highest token that a job has used.
type FenceRow struct {
	Name  string `gorm:"column:name;primaryKey"`
	Token int64  `gorm:"column:token"`
}

// TableName implements gorm's schema.Tabler.
func (FenceRow) TableName() string { return "tb_fence" }

// RaiseFence returns order.ErrSuperseded if a higher token than the given token has been used. Otherwise it prevents
// the use of lower tokens from now on. It locks the fence until the transaction ends.
func RaiseFence(tx *gorm.DB, name string, token int64) error {
	var row FenceRow
	err := Locking(tx).Where("name = ?", name).Take(&row).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		err = tx.Create(&FenceRow{Name: name, Token: token}).Error
	case err == nil && row.Token > token:
		return fmt.Errorf("%w: token %d of %s, and %d was used", order.ErrSuperseded, token, name, row.Token)
	case err == nil && row.Token < token:
		err = tx.Model(&FenceRow{}).Where("name = ?", name).Update("token", token).Error
	}
	return Wrapf(err, "raising the fence of %s", name)
}
