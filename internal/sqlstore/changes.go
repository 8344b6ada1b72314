package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// ChangeVoucher implements voucher.Changes. It locks the voucher's row first and the sale's last, as the recorder waits
// for the sale's.
func (s Vouchers) ChangeVoucher(
	ctx context.Context, id int64, by voucher.Author, alter func(v *voucher.Voucher) error,
) (voucher.Voucher, error) {
	var v voucher.Voucher
	err := s.write(ctx, func(tx transaction) error {
		rows, err := lockVoucher(tx, id)
		if err != nil {
			return err
		}
		v = rows.voucher()
		if err := alter(&v); err != nil {
			return err
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		c := change{tx: tx, now: now, by: by, voucherRows: rows}
		v, err = c.write(v)
		return err
	})
	return v, sqlkit.ReadError(fmt.Sprintf("changing voucher %d", id), err)
}

// change is what an admin does to a locked voucher.
type change struct {
	tx  transaction
	now time.Time
	by  voucher.Author
	voucherRows
}

// write stores the fields of v that differ, and returns the changed voucher.
func (c *change) write(v voucher.Voucher) (voucher.Voucher, error) {
	row, before := c.row, c.voucher()
	row.Title, row.SubTitle, row.Rules, row.Status = v.Title, v.SubTitle, v.Rules, v.Status
	if v.Picture != before.Picture {
		row.Picture = sqlkit.OrNull(v.Picture)
	}
	if !v.VisibleFrom.Equal(before.VisibleFrom) {
		row.VisibleFrom = sqlkit.Stamp(v.VisibleFrom)
	}
	if !v.Archived.Equal(before.Archived) {
		row.Archived = sqlkit.Stamp(v.Archived)
		if err := c.archivable(v); err != nil {
			return v, err
		}
	}
	var ops []operationRow
	if c.sale != nil && v.Sale != nil {
		// If the guards have not changed, their stored text stays: a later version may have written more into it.
		if text := v.Sale.Guards.Text(); text != before.Sale.Guards.Text() {
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
	if slices.ContainsFunc(ops, func(op operationRow) bool { return op.Kind == operation.Resuming }) {
		if err := c.tx.resolve(v.ID, c.now); err != nil {
			return v, err
		}
	}
	c.row = row
	v = c.voucher()
	return v, c.audit(before, v)
}

// archivable returns ErrOrdersWait if the change archives the voucher while one of its orders is unpaid, or while Redis
// has still to decide about one.
func (c *change) archivable(v voucher.Voucher) error {
	if !v.IsArchived() {
		return nil
	}
	waits := v.Sale != nil && v.Sale.Accepted > 0
	for _, undecided := range []*gorm.DB{
		// An index that begins with the voucher might make it read all orders of the sale while it holds the sale.
		c.tx.Table(c.tx.db.UsingIndex("tb_voucher_order", "idx_order_due")).
			Where("voucher_id = ? AND status = ?", v.ID, order.Unpaid),
		c.tx.Model(&operationRow{}).Where("voucher_id = ? AND state = ?", v.ID, operationPending),
	} {
		var found []int64
		if err := undecided.Limit(1).Pluck("voucher_id", &found).Error; err != nil {
			return fmt.Errorf("looking for undecided orders: %w", err)
		}
		waits = waits || len(found) > 0
	}
	if waits {
		return voucher.ErrOrdersWait
	}
	return nil
}

// audit writes the audit entry of what has changed, if anything has.
func (c *change) audit(before, after voucher.Voucher) error {
	changes := voucher.Differences(before, after)
	if len(changes) == 0 {
		return nil
	}
	err := sqlkit.WriteAudit(c.tx.DB, c.now, c.by,
		sqlkit.AuditRow{VoucherID: after.ID, Action: voucher.ActionOf(changes), Changes: changes})
	if err != nil {
		return err
	}
	return c.tx.voucherChanged(after)
}

// voucherChanged runs the hooks for a voucher that this transaction has changed.
func (tx transaction) voucherChanged(v voucher.Voucher) error {
	return tx.each(func(h sqlkit.Hook) error { return tell(tx, h.VoucherChanged, v) })
}

// issuedChanged runs the hooks, if there are any, for a voucher whose sale has issued more or fewer units now.
func (tx transaction) issuedChanged(voucherID, by int64) error {
	if by == 0 || !slices.ContainsFunc(tx.hooks, func(h sqlkit.Hook) bool { return h.VoucherChanged != nil }) {
		return nil
	}
	v, err := findVoucher(tx.DB, voucherID)
	if err != nil {
		return err
	}
	return tx.voucherChanged(v)
}

// saleChanges changes the sale's row and returns the operations that apply it to Redis, one for each thing that
// changed. Each holds the mode and the window that the sale has afterwards.
func (c *change) saleChanges(to voucher.Sale, status voucher.Status) (ops []operationRow) {
	begin, end := to.Begin.UTC().Truncate(time.Millisecond), to.End.UTC().Truncate(time.Millisecond)
	to.CalledOff = sqlkit.At(c.sale.CalledOff) // nothing undoes that
	add := func(kind operation.Kind) {
		ops = append(ops, operationRow{
			Kind: kind, Actor: order.ByAdmin(c.by.AdminID), Mode: order.ModeOf(status, to),
			BeginTime: &begin, EndTime: &end,
		})
	}
	if status != c.row.Status {
		add(operation.Shelving)
	}
	if to.Paused != c.sale.Paused {
		kind := operation.Resuming
		if to.Paused {
			kind = operation.Pausing
		}
		add(kind)
	}
	if !begin.Equal(c.sale.BeginTime) || !end.Equal(c.sale.EndTime) {
		add(operation.Rescheduling)
	}
	c.sale.Paused, c.sale.BeginTime, c.sale.EndTime = to.Paused, begin, end
	return ops
}

func (c *change) writeVoucher(row voucherRow) error {
	err := c.tx.Model(&row).Select("title", "sub_title", "rules", "picture", "status", "visible_from", "guards",
		"archived", "version", "update_time").Updates(row).Error
	return sqlkit.Wrapf(err, "writing the voucher")
}

func (c *change) writeSale(ops []operationRow) error {
	err := c.tx.Model(c.sale).Select("paused", "begin_time", "end_time").Updates(c.sale).Error
	if err != nil {
		return fmt.Errorf("writing the sale: %w", err)
	}
	return c.tx.appendOperations(c.sale, ops, c.now)
}

// ChangeStock implements voucher.Changes.
func (s Vouchers) ChangeStock(
	ctx context.Context, id int64, by voucher.Author, delta int64, key string,
) (voucher.StockChange, error) {
	var op operationRow
	err := s.write(ctx, func(tx transaction) error {
		sale, err := lockSale(tx, id)
		if err != nil {
			return err
		}
		before, found, err := requested(tx, id, delta, key)
		if err == nil && !found {
			err = unarchived(tx, id)
		}
		switch {
		case err != nil:
			return err
		case found:
			op = before
			return nil
		case sale.CalledOff != nil:
			return voucher.ErrCalledOff
		case sale.Retired:
			return voucher.ErrRetired
		}
		if err := by.CheckIssued(sale.Issued, delta); err != nil {
			return err
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		ops := []operationRow{{
			Kind: operation.Restock, Delta: delta, Actor: order.ByAdmin(by.AdminID), IdempotencyKey: &key,
		}}
		if err := tx.appendOperations(&sale, ops, now); err != nil {
			return err
		}
		op = ops[0]
		if err := tx.issuedChanged(id, max(0, delta)); err != nil { // if it takes units, Redis decides first
			return err
		}
		return sqlkit.WriteAudit(tx.DB, now, by,
			sqlkit.AuditRow{VoucherID: id, Action: voucher.Restocked, Delta: delta, Operation: op.Number})
	})
	return voucher.StockChange{Delta: op.requestedDelta(), Number: op.Number, State: op.State.ofStock()},
		sqlkit.ReadError(fmt.Sprintf("changing the stock of voucher %d by %d", id, delta), err)
}

// unarchived returns voucher.ErrArchived if the voucher is archived. The caller has locked its sale, and so nobody can
// archive it meanwhile.
func unarchived(tx transaction, id int64) error {
	v, err := findVoucher(tx.DB, id)
	if err == nil && v.IsArchived() {
		err = voucher.ErrArchived
	}
	return err
}

// requestedDelta returns the delta that a change of stock was requested with, including what kept units covered.
func (r operationRow) requestedDelta() int64 { return r.Delta + r.Kept }

// requested returns the operation that was requested with the key, if there is one, or idempotency.ErrReused if that
// operation changes the stock by another delta.
func requested(tx transaction, voucherID, delta int64, key string) (op operationRow, found bool, err error) {
	err = tx.Where("voucher_id = ? AND idempotency_key = ?", voucherID, key).Take(&op).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return op, false, nil
	case err != nil:
		return op, false, fmt.Errorf("looking for the request: %w", err)
	case op.requestedDelta() != delta:
		return op, false, fmt.Errorf("%w: %d", idempotency.ErrReused, op.requestedDelta())
	}
	return op, true, nil
}

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

// Entries returns entries of the audit trail that the filter lets through, with an id below before, newest first, at
// most limit. Pass math.MaxInt64 as before for the first page.
func (s Vouchers) Entries(
	ctx context.Context, f voucher.AuditFilter, before int64, limit int,
) ([]voucher.Entry, error) {
	query := s.db.Read(ctx).Table("tb_audit a").Select("a.*, o.state").
		Joins("LEFT JOIN tb_voucher_operation o ON o.voucher_id = a.voucher_id AND o.number = a.operation").
		Where("a.id < ?", before).Order("a.id DESC").Limit(limit)
	query = sqlkit.Equal(query, map[string]int64{
		"a.voucher_id": f.VoucherID, "a.shop_id": f.ShopID, "a.admin_id": f.AdminID,
	})
	type entry struct {
		Audit sqlkit.AuditRow `gorm:"embedded"`
		State *operationState `gorm:"column:state"`
	}
	return sqlkit.List(query, "reading the audit trail", func(row *entry) voucher.Entry {
		a := row.Audit
		e := voucher.Entry{
			ID: a.ID, At: a.CreateTime, By: voucher.Author{AdminID: a.AdminID, Request: a.RequestID},
			Action: a.Action, VoucherID: a.VoucherID, ShopID: a.ShopID, Changes: a.Changes, Delta: a.Delta,
		}
		if row.State != nil {
			e.Outcome = row.State.ofStock()
		}
		return e
	})
}
