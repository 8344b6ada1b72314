package sqlstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// CallOff implements voucher.Changes.
func (s *Store) CallOff(ctx context.Context, id int64, by voucher.Author, why string) (voucher.Voucher, error) {
	var v voucher.Voucher
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		if err := sqlkit.ClaimKey(tx, now, by.Key, strconv.FormatInt(id, 10)); err != nil {
			return err
		}
		row, sale, err := lockVoucher(tx, id)
		switch {
		case err != nil:
			return err
		case sale == nil:
			return voucher.ErrNotSeckill
		case row.Archived != nil:
			return voucher.ErrArchived
		case sale.CalledOff == nil && sale.Retired:
			return voucher.ErrRetired
		}
		if now, err = s.db.LedgerTime(tx); err != nil { // the locks may have been waited for
			return err
		}
		c := change{store: s, tx: tx, now: now, by: by, row: row, sale: sale}
		if sale.CalledOff == nil {
			v, err = c.callOff(why)
			return err
		}
		v = row.voucher()
		v.Sale = sale.sale(row)
		return nil
	})
	if err != nil {
		return voucher.Voucher{}, sqlkit.ReadError(fmt.Sprintf("calling off the sale of voucher %d", id), err)
	}
	return v, nil
}

// callOff calls the sale off and returns the voucher as it is then. The sale's window ends now, unless it has ended
// before; one that has not begun becomes the millisecond before now, as no window is empty.
func (c *change) callOff(why string) (voucher.Voucher, error) {
	before := c.row.voucher()
	before.Sale = c.sale.sale(c.row)
	now := c.now.UTC().Truncate(time.Millisecond)
	c.sale.CalledOff = &now
	if now.Before(c.sale.EndTime) {
		c.sale.EndTime = now
	}
	if !c.sale.BeginTime.Before(c.sale.EndTime) {
		c.sale.BeginTime = c.sale.EndTime.Add(-time.Millisecond)
	}
	row := c.row
	row.Version, row.UpdateTime = row.Version+1, c.now
	if err := c.writeVoucher(row); err != nil {
		return voucher.Voucher{}, err
	}
	if err := c.tx.Model(c.sale).Update("called_off", now).Error; err != nil {
		return voucher.Voucher{}, fmt.Errorf("writing that the sale is called off: %w", err)
	}
	begin, end := c.sale.BeginTime, c.sale.EndTime
	if err := c.writeSale([]operationRow{{
		Kind: order.CallingOff, Actor: order.ByAdmin(c.by.AdminID), Mode: order.SaleCalledOff,
		BeginTime: &begin, EndTime: &end,
	}}); err != nil {
		return voucher.Voucher{}, err
	}
	v := row.voucher()
	v.Sale = c.sale.sale(row)
	changes := append(voucher.Differences(before, v), voucher.FieldChange{Field: "why", To: why})
	if err := sqlkit.WriteAudit(c.tx, c.now, c.by,
		sqlkit.AuditRow{VoucherID: v.ID, Action: voucher.CalledOff, Changes: changes}); err != nil {
		return v, err
	}
	return v, c.store.calledOff(c.tx, v)
}
