package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// RetiredRehearsals returns the vouchers of rehearsals whose sale is retired.
func (s *Store) RetiredRehearsals(ctx context.Context) (ids []int64, err error) {
	err = s.db.Read(ctx).Table("tb_voucher v").
		Where("v.shop_id = ? AND v.type = ? AND NOT EXISTS (SELECT 1 FROM tb_seckill_voucher s WHERE s.voucher_id = "+
			"v.id AND s.retired = ?)",
			voucher.RehearsalShop, voucher.Seckill, false).Order("v.id").Pluck("v.id", &ids).Error
	return ids, sqlkit.ReadError("looking for rehearsals", err)
}

// errNoRehearsal: the voucher is no rehearsal, or its sale is not retired. Nothing of it was touched.
var errNoRehearsal = errors.New("not a rehearsal that is over")

// EmptyRehearsal removes up to n orders of a retired rehearsal, with all that belongs to them. When the rehearsal has
// no orders left, it removes the voucher itself, and is done. For any other voucher it returns an error and removes
// nothing: each transaction checks that under the lock of the sale's row. The entries of tb_audit stay.
func (s *Store) EmptyRehearsal(ctx context.Context, voucherID int64, n int) (done bool, err error) {
	err = s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		done = false
		sale, err := lockSale(tx, voucherID)
		if errors.Is(err, voucher.ErrNotFound) { // a try whose answer was lost
			done = true
			return nil
		}
		if err != nil {
			return err
		}
		v, err := findVoucher(tx, voucherID)
		if err != nil {
			return err
		}
		if !v.Rehearsal() || !sale.Retired {
			return errNoRehearsal
		}
		var ids []int64
		if err := tx.Model(&orderRow{}).Where("voucher_id = ?",
			voucherID).Order("id").Limit(n).Pluck("id", &ids).Error; err != nil {
			return err
		}
		if len(ids) > 0 {
			return s.removeOrders(tx, ids)
		}
		done = true
		return removeVoucher(tx, voucherID)
	})
	return err == nil && done, sqlkit.ReadError(fmt.Sprintf("emptying the rehearsal of voucher %d", voucherID), err)
}

// removeOrders removes orders and the rows that belong to them.
func (s *Store) removeOrders(tx *gorm.DB, ids []int64) error {
	if err := s.removed(tx, ids); err != nil {
		return err
	}
	for _, from := range []string{
		"tb_order_event WHERE order_id IN ?", "tb_payment WHERE order_id IN ?",
		"tb_voucher_order WHERE id IN ?",
	} {
		for part := range sqlkit.Chunks(ids) {
			if err := tx.Exec("DELETE FROM "+from, part).Error; err != nil {
				return fmt.Errorf("removing from %s: %w", from, err)
			}
		}
	}
	return nil
}

// removeVoucher removes a voucher that has no orders, and its sale.
func removeVoucher(tx *gorm.DB, id int64) error {
	for _, from := range []string{
		"tb_sale_minute WHERE voucher_id = ?", "tb_voucher_operation WHERE voucher_id = ?",
		"tb_seckill_voucher WHERE voucher_id = ?", "tb_voucher WHERE id = ?",
	} {
		if err := tx.Exec("DELETE FROM "+from, id).Error; err != nil {
			return fmt.Errorf("removing from %s: %w", from, err)
		}
	}
	return nil
}
