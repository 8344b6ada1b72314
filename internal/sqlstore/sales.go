package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// SalesToKeep implements order.SaleLedger.
func (s *Store) SalesToKeep(ctx context.Context) ([]voucher.Voucher, error) {
	// From the sales' side: the few that are not retired are found by their index.
	vs, err := scanVouchers(joined(s.read(ctx)).Where("s.retired = ?", false).Order("v.id"))
	if err != nil {
		return nil, readError("reading the sales to keep", err)
	}
	return vs, nil
}

// RaiseEpoch implements order.SaleLedger. It returns voucher.ErrNotFound or voucher.ErrNotSeckill when there is no
// sale. When the reply to COMMIT is lost the epoch may have been raised; raising it again is harmless.
func (s *Store) RaiseEpoch(ctx context.Context, voucherID, above int64) (int64, error) {
	var epoch int64
	err := s.write(ctx, func(tx *gorm.DB) error {
		result := tx.Model(&saleRow{}).Where("voucher_id = ?", voucherID).
			Updates(map[string]any{"epoch": gorm.Expr("CASE WHEN epoch < ? THEN ? ELSE epoch END + 1", above, above), "sequence": 0})
		if result.Error != nil {
			return result.Error
		}
		if result.RowsAffected == 0 {
			return noSale(tx, voucherID)
		}
		return tx.Model(&saleRow{}).Where("voucher_id = ?", voucherID).Select("epoch").Take(&epoch).Error
	})
	if err != nil {
		return 0, fmt.Errorf("raising the epoch of voucher %d: %w", voucherID, err)
	}
	return epoch, nil
}

// Snapshot implements order.SaleLedger. Pending operations that take units become void: the sale is about to be given
// all units that the ledger has. Whoever changes the sale's stock waits until it has been read: a second or two
// for a million orders.
func (s *Store) Snapshot(ctx context.Context, voucherID, epoch int64) (order.Snapshot, error) {
	var snap order.Snapshot
	err := s.writeAgain(ctx, func(tx *gorm.DB) error {
		sale, err := lockSale(tx, voucherID)
		if err != nil {
			return err
		}
		if sale.Epoch != epoch {
			return fmt.Errorf("%w: the sale is at epoch %d, not %d", order.ErrSuperseded, sale.Epoch, epoch)
		}
		if err := s.absorbOperations(tx, voucherID); err != nil {
			return err
		}
		v, err := findVoucher(tx, voucherID)
		if err != nil {
			return err
		}
		snap = order.Snapshot{Voucher: v, Operation: sale.LastOperation}
		return readPlaces(tx, voucherID, &snap)
	})
	if err != nil {
		return order.Snapshot{}, fmt.Errorf("snapshot of voucher %d: %w", voucherID, err)
	}
	return snap, nil
}

// lockSale locks the sale's row until the transaction ends.
func lockSale(tx *gorm.DB, voucherID int64) (saleRow, error) {
	var sale saleRow
	err := locking(tx).
		Where("voucher_id = ?", voucherID).Take(&sale).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return saleRow{}, noSale(tx, voucherID)
	}
	return sale, err
}

// absorbOperations settles what Redis has not been told of: what gave units is contained in the stock that Redis is
// about to be given, and what wanted to take some has to be asked for anew, also with the same key.
func (s *Store) absorbOperations(tx *gorm.DB, voucherID int64) error {
	now, err := s.moment(tx)
	if err != nil {
		return err
	}
	err = tx.Exec("UPDATE tb_voucher_operation SET settle_time = ?, "+
		"idempotency_key = CASE WHEN delta < 0 THEN NULL ELSE idempotency_key END, "+
		"state = CASE WHEN delta < 0 THEN ? ELSE ? END WHERE voucher_id = ? AND state = ?",
		now, operationVoid, operationAbsorbed, voucherID, operationPending).Error
	if err != nil {
		return fmt.Errorf("absorbing operations: %w", err)
	}
	return nil
}

// readPlaces reads all orders of the sale row by row: a million of them are two maps, and not two maps and a slice.
func readPlaces(tx *gorm.DB, voucherID int64, snap *order.Snapshot) (err error) {
	rows, err := tx.Raw("SELECT id, user_id, status FROM tb_voucher_order WHERE voucher_id = ? AND kind = ?",
		voucherID, liveKind).Rows()
	if err != nil {
		return fmt.Errorf("reading orders: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	snap.Live, snap.Dead = make(map[int64]int64), make(map[int64]bool)
	for rows.Next() {
		var id, userID int64
		var status order.Status
		if err := rows.Scan(&id, &userID, &status); err != nil {
			return fmt.Errorf("reading orders: %w", err)
		}
		if status.Live() {
			snap.Live[userID] = id
		} else {
			snap.Dead[id] = true
		}
	}
	if err := rows.Err(); err != nil { // the connection may end before the rows do
		return fmt.Errorf("reading orders: %w", err)
	}
	return nil
}

// Retire implements order.SaleLedger.
func (s *Store) Retire(ctx context.Context, voucherID, lastOperation int64) (retired bool, err error) {
	err = s.writeAgain(ctx, func(tx *gorm.DB) error {
		retired = false
		sale, err := lockSale(tx, voucherID)
		if err != nil || sale.Retired {
			retired = sale.Retired
			return err
		}
		now, err := s.moment(tx)
		if err != nil {
			return err
		}
		pending, err := hasPending(tx, voucherID)
		if err != nil || pending || sale.LastOperation != lastOperation || now.Before(sale.EndTime) {
			return err
		}
		retired = true
		return tx.Model(&saleRow{}).Where("voucher_id = ?", voucherID).Update("retired", true).Error
	})
	if err != nil {
		return false, fmt.Errorf("retiring the sale of voucher %d: %w", voucherID, err)
	}
	return retired, nil
}

// noSale says why a voucher has no sale.
func noSale(tx *gorm.DB, voucherID int64) error {
	if _, err := findVoucher(tx, voucherID); err != nil {
		return err
	}
	return voucher.ErrNotSeckill
}
