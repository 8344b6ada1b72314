package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// ChangeVoucher implements voucher.Changes. The voucher's row is locked first and the sale's last, as the recorder
// waits for that one.
func (s *Store) ChangeVoucher(
	ctx context.Context, id int64, by voucher.Author, alter func(v *voucher.Voucher) error,
) (voucher.Voucher, error) {
	var v voucher.Voucher
	err := s.writeRetry(ctx, func(tx *gorm.DB) error {
		row, shares, err := lockVoucher(tx, id)
		if err != nil {
			return err
		}
		if v = row.voucher(); shares != nil {
			v.Sale = saleOf(row, shares)
		}
		if err := alter(&v); err != nil {
			return err
		}
		now, err := s.ledgerTime(tx)
		if err != nil {
			return err
		}
		c := change{store: s, tx: tx, now: now, by: by, row: row, shares: shares}
		if v, err = c.write(v); err != nil {
			return err
		}
		return nil
	})
	if err != nil {
		return voucher.Voucher{}, readError(fmt.Sprintf("changing voucher %d", id), err)
	}
	return v, nil
}

// admin returns the actor that is the admin with the user id; 0 is the service itself.
func admin(id int64) order.Actor {
	if id == 0 {
		return order.ByService
	}
	return order.Actor(fmt.Sprintf("admin %d", id))
}

// lockVoucher locks a voucher and all shares of its sale; there are none of an ordinary one.
func lockVoucher(tx *gorm.DB, id int64) (voucherRow, []saleRow, error) {
	var row voucherRow
	err := locking(tx).Where("id = ?", id).Take(&row).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return row, nil, voucher.ErrNotFound
	case err != nil:
		return row, nil, fmt.Errorf("locking the voucher: %w", err)
	case row.Kind != voucher.Seckill:
		return row, nil, nil
	}
	shares, err := lockShares(tx, id)
	return row, shares, err
}

// change is what an admin does to a locked voucher.
type change struct {
	store *Store
	tx    *gorm.DB
	now   time.Time
	by    voucher.Author
	row   voucherRow
	// shares are those of its sale, in order; none of an ordinary voucher.
	shares []saleRow
}

// write stores what is different in v and returns the voucher as it is then.
func (c *change) write(v voucher.Voucher) (voucher.Voucher, error) {
	row, before := c.row, c.row.voucher()
	if c.shares != nil {
		before.Sale = saleOf(c.row, c.shares)
	}
	row.Title, row.SubTitle, row.Rules, row.Status = v.Title, v.SubTitle, v.Rules, v.Status
	if !v.VisibleFrom.Equal(before.VisibleFrom) {
		row.VisibleFrom = stamp(v.VisibleFrom)
	}
	var ops []operationRow // of each share
	if c.shares != nil && v.Sale != nil {
		if text := v.Sale.Guards.Text(); text != before.Sale.Guards.Text() { // else what a later version has written stays
			row.Guards = text
		}
		ops = c.saleChanges(*v.Sale, v.Status)
	}
	if row != c.row || len(ops) > 0 {
		row.Version, row.UpdateTime = row.Version+1, c.now
		if err := c.writeVoucher(row); err != nil {
			return v, err
		}
	}
	if len(ops) > 0 {
		if err := c.writeSale(ops); err != nil {
			return v, err
		}
	}
	v = row.voucher()
	if c.shares != nil {
		v.Sale = saleOf(row, c.shares)
	}
	return v, c.audit(before, v)
}

// audit writes the audit entry of what has changed, if anything has.
func (c *change) audit(before, after voucher.Voucher) error {
	changes := voucher.Differences(before, after)
	if len(changes) == 0 {
		return nil
	}
	return writeAuditEntry(c.tx, c.now, c.by, auditRow{VoucherID: after.ID, Action: voucher.ActionOf(changes), Changes: changes})
}

// saleChanges changes the rows of all shares and returns the operations that apply it to Redis, for each of them, one for each thing
// that changed. Each holds the mode and the window that the sale has afterwards.
func (c *change) saleChanges(to voucher.Sale, status voucher.Status) (ops []operationRow) {
	begin, end := to.Begin.UTC().Truncate(time.Millisecond), to.End.UTC().Truncate(time.Millisecond)
	add := func(kind order.OperationKind) {
		ops = append(ops, operationRow{
			Kind: kind, Actor: admin(c.by.AdminID), Mode: modeOf(status, to.Paused), BeginTime: &begin, EndTime: &end,
		})
	}
	if status != c.row.Status {
		add(order.Shelving)
	}
	if to.Paused != c.shares[0].Paused {
		kind := order.Resuming
		if to.Paused {
			kind = order.Pausing
		}
		add(kind)
	}
	if !begin.Equal(c.shares[0].BeginTime) || !end.Equal(c.shares[0].EndTime) {
		add(order.Rescheduling)
	}
	for i := range c.shares {
		c.shares[i].Paused, c.shares[i].BeginTime, c.shares[i].EndTime = to.Paused, begin, end
	}
	return ops
}

// modeOf returns a sale's mode, as a rebuild decides it.
func modeOf(status voucher.Status, paused bool) order.SaleMode {
	switch {
	case status != voucher.OnShelf:
		return order.SaleOffShelf
	case paused:
		return order.SalePaused
	default:
		return order.SaleOpen
	}
}

func (c *change) writeVoucher(row voucherRow) error {
	err := c.tx.Model(&row).Select("title", "sub_title", "rules", "status", "visible_from", "guards", "version", "update_time").Updates(row).Error
	if err != nil {
		return fmt.Errorf("writing the voucher: %w", err)
	}
	return nil
}

// writeSale writes what all shares have in common, and the operations of each.
func (c *change) writeSale(ops []operationRow) error {
	sale := c.shares[0]
	err := c.tx.Model(&sale).Select("paused", "begin_time", "end_time").Updates(sale).Error // by the voucher: all rows
	if err != nil {
		return fmt.Errorf("writing the sale: %w", err)
	}
	for i := range c.shares {
		if err := c.store.appendOperations(c.tx, &c.shares[i], slices.Clone(ops), c.now); err != nil {
			return err
		}
	}
	return nil
}

// ChangeStock implements voucher.Changes. What is given to a split sale levels its shares.
func (s *Store) ChangeStock(ctx context.Context, id int64, by voucher.Author, delta int64, key string) (voucher.StockChange, error) {
	var ops []operationRow
	err := s.writeRetry(ctx, func(tx *gorm.DB) error {
		shares, err := lockShares(tx, id)
		if err != nil {
			return err
		}
		before, err := requested(tx, id, delta, key)
		// What a share of a split sale has refused, others may have had: it is begun again.
		again := len(shares) > 1 && len(before) > 0 && stateOfStock(before) == voucher.StockRefused
		switch {
		case err != nil:
			return err
		case len(before) > 0 && !again:
			ops = before
			return nil
		case slices.ContainsFunc(shares, func(share saleRow) bool { return share.Retired }):
			return voucher.ErrRetired
		case again:
			if err := freeKey(tx, id, key); err != nil {
				return err
			}
		}
		now, err := s.ledgerTime(tx)
		if err != nil {
			return err
		}
		if ops, err = s.restock(tx, shares, operationRow{Kind: order.Restock, Delta: delta, Actor: admin(by.AdminID), IdempotencyKey: &key}, now); err != nil {
			return err
		}
		return writeAuditEntry(tx, now, by, auditRow{VoucherID: id, Action: voucher.Restocked, Delta: delta, Operation: ops[0].Number})
	})
	if err != nil {
		return voucher.StockChange{}, readError(fmt.Sprintf("changing the stock of voucher %d by %d", id, delta), err)
	}
	return stockChange(ops), nil
}

// FindStockChange implements voucher.Changes.
func (s *Store) FindStockChange(ctx context.Context, id, delta int64, key string) (change voucher.StockChange, found bool, err error) {
	ops, err := requested(s.read(ctx), id, delta, key)
	switch {
	case err != nil:
		return change, false, readError(fmt.Sprintf("looking for a change of the stock of voucher %d", id), err)
	case len(ops) == 0:
		return change, false, nil
	}
	return stockChange(ops), true, nil
}

// stockChange is the change of stock that has these operations.
func stockChange(ops []operationRow) voucher.StockChange {
	return voucher.StockChange{Delta: restocked(ops), Number: ops[0].Number, State: stateOfStock(ops)}
}

// restock writes the operation that changes the stock of a sale, for each of its locked shares that gets some of it; share 0 has one
// always. What takes is share 0's: units of other shares were moved there before.
func (s *Store) restock(tx *gorm.DB, shares []saleRow, op operationRow, now time.Time) ([]operationRow, error) {
	var issued int64
	stocks := make([]int64, len(shares))
	for i, share := range shares {
		issued += share.Issued
		stocks[i] = share.Stock
	}
	if err := voucher.CheckIssued(issued, op.Delta); err != nil {
		return nil, err
	}
	if len(shares) == 1 || op.Delta < 0 {
		ops := []operationRow{op}
		return ops, s.appendOperations(tx, &shares[0], ops, now)
	}
	var written []operationRow
	for i, units := range voucher.Level(stocks, op.Delta) {
		if units == 0 && i > 0 {
			continue
		}
		share := op
		share.Delta = units
		ops := []operationRow{share}
		if err := s.appendOperations(tx, &shares[i], ops, now); err != nil {
			return nil, err
		}
		written = append(written, ops[0])
	}
	return written, nil
}

// restocked returns the delta that a change of stock was asked for with: what became offers went on sale to those who wait.
func restocked(ops []operationRow) (delta int64) {
	for _, op := range ops {
		delta += op.Delta + op.Offered
	}
	return delta
}

// requested returns the operations that were asked for with the key, one for each share that they change; voucher.ErrKeyReused if they
// change the stock by another delta.
func requested(tx *gorm.DB, voucherID, delta int64, key string) ([]operationRow, error) {
	var ops []operationRow
	if err := tx.Where("voucher_id = ? AND idempotency_key = ?", voucherID, key).Order("share").Find(&ops).Error; err != nil {
		return nil, fmt.Errorf("looking for the request: %w", err)
	}
	if len(ops) > 0 && restocked(ops) != delta {
		return nil, fmt.Errorf("%w: %d", voucher.ErrKeyReused, restocked(ops))
	}
	return ops, nil
}

// freeKey lets a change of stock be begun anew under the key of one that was refused.
func freeKey(tx *gorm.DB, voucherID int64, key string) error {
	err := tx.Model(&operationRow{}).Where("voucher_id = ? AND idempotency_key = ? AND state = ?", voucherID, key, operationRefused).
		Update("idempotency_key", nil).Error
	if err != nil {
		return fmt.Errorf("freeing a refused request's key: %w", err)
	}
	return nil
}

// stateOfStock returns the state of a change of stock: it is pending until no share's operation is.
func stateOfStock(ops []operationRow) voucher.StockState {
	for _, op := range ops {
		if op.State == operationPending {
			return voucher.StockPending
		}
	}
	return ops[0].State.ofStock()
}

// ofStock returns the state as that of a change of stock.
func (s operationState) ofStock() voucher.StockState {
	switch s {
	case operationApplied, operationAbsorbed:
		return voucher.StockDone
	case operationRefused:
		return voucher.StockRefused
	case operationVoid:
		return voucher.StockVoid
	default:
		return voucher.StockPending
	}
}
