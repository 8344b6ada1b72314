package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/order/figures"
	"seckill/internal/order/operation"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// Sales rebuilds sales, retires them, and empties rehearsals. It implements recovery.SaleLedger.
type Sales struct{ *ledger }

// SalesToKeep implements recovery.SaleLedger.
func (s Sales) SalesToKeep(ctx context.Context) ([]voucher.Voucher, error) {
	// Selecting by the sale's column lets an index find the few sales that are not retired.
	vs, err := scanVouchers(joined(s.db.Read(ctx)).Where("s.retired = ?", false).Order("v.id"))
	return vs, sqlkit.ReadError("reading the sales to keep", err)
}

// SalesAbove is service.LookupStores.NewSales.
func (s Sales) SalesAbove(ctx context.Context, voucherID int64) (ids []int64, err error) {
	err = s.db.Read(ctx).Model(&saleRow{}).Where("voucher_id > ? AND retired = ?", voucherID,
		false).Order("voucher_id").Pluck("voucher_id", &ids).Error
	return ids, sqlkit.ReadError("reading the newest sales", err)
}

// RaiseEpoch implements recovery.SaleLedger. It returns voucher.ErrNotFound or voucher.ErrNotSeckill when there is no
// sale. When the reply to COMMIT is lost the epoch may have been raised; raising it again is harmless.
func (s Sales) RaiseEpoch(ctx context.Context, id, above int64, seen order.SaleView) (raised order.Raised, err error) {
	err = s.once(ctx, func(tx transaction) error {
		sale, err := lockSale(tx, id)
		if err != nil {
			return err
		}
		raised, err = tx.raise(&sale, above, seen)
		return err
	})
	return raised, sqlkit.Wrapf(err, "raising the epoch of voucher %d", id)
}

// Snapshot implements recovery.SaleLedger. It voids pending operations that take units, because the rebuilt sale gets
// all units that the ledger has. Changes of the sale's stock wait until it has been read: a second or two for a million
// orders.
func (s Sales) Snapshot(ctx context.Context, id int64, epoch int64) (order.Snapshot, error) {
	var snap order.Snapshot
	err := s.write(ctx, func(tx transaction) error {
		sale, err := lockSale(tx, id)
		if err != nil {
			return err
		}
		if sale.Epoch != epoch {
			return fmt.Errorf("%w: the sale is at epoch %d, not %d", order.ErrSuperseded, sale.Epoch, epoch)
		}
		void, err := pendingAdmissions(tx, id)
		if err != nil {
			return err
		}
		if err := tx.absorbOperations(id); err != nil {
			return err
		}
		v, err := findVoucher(tx.DB, id)
		if err != nil {
			return err
		}
		snap = order.Snapshot{Voucher: v, Operation: sale.LastOperation, Identity: v.Sale.LastIdentity, Void: void}
		if snap.Decided, err = lastDecision(tx, id, sale.LastOperation); err != nil {
			return err
		}
		if snap.Admitted, err = admissions(tx, id); err != nil {
			return err
		}
		if err := readHolders(tx, id, &snap); err != nil {
			return err
		}
		return forgetAccepted(tx, id, &snap)
	})
	return snap, sqlkit.Wrapf(err, "snapshot of voucher %d", id)
}

// absorbOperations completes all pending operations. Those that gave units back are included in the stock that Redis is
// about to get. Those that take units become void and have to be requested again, even if with the same key.
func (tx transaction) absorbOperations(id int64) error {
	now, err := tx.now()
	if err != nil {
		return err
	}
	err = tx.Exec("UPDATE tb_voucher_operation SET settle_time = ?, "+
		"idempotency_key = CASE WHEN delta < 0 THEN NULL ELSE idempotency_key END, "+
		"state = CASE WHEN delta < 0 OR kind = ? THEN ? ELSE ? END WHERE voucher_id = ? AND state = ?",
		now, operation.Acceptance, operationVoid, operationAbsorbed, id, operationPending).Error
	return sqlkit.Wrapf(err, "absorbing operations")
}

// pendingAdmissions counts the pending operations that would make a user a holder.
func pendingAdmissions(tx transaction, id int64) (n int64, err error) {
	err = tx.Model(&operationRow{}).Where("voucher_id = ? AND state = ? AND kind IN ?", id, operationPending,
		[]operation.Kind{operation.Revival, operation.Acceptance}).Count(&n).Error
	return n, sqlkit.Wrapf(err, "counting pending operations")
}

// admissions returns the marks of the sale's operations that were admissions.
func admissions(tx transaction, id int64) (marks []order.Mark, err error) {
	err = tx.Model(&operationRow{}).Where("voucher_id = ? AND sequence > 0", id).
		Select("epoch", "sequence").Find(&marks).Error
	return marks, sqlkit.Wrapf(err, "reading the admissions of operations")
}

// readHolders reads all orders of the sale row by row into the snapshot's maps, without a slice of a million rows in
// between.
func readHolders(tx transaction, id int64, snap *order.Snapshot) (err error) {
	rows, err := tx.Raw("SELECT id, user_id, status, quantity FROM tb_voucher_order WHERE voucher_id = ? AND kind = ?",
		id, liveKind).Rows()
	if err != nil {
		return fmt.Errorf("reading orders: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	snap.Live, snap.Dead = make(map[int64]order.Held), make(map[int64]bool)
	for rows.Next() {
		var orderID, userID, units int64
		var status order.Status
		if err := rows.Scan(&orderID, &userID, &status, &units); err != nil {
			return fmt.Errorf("reading orders: %w", err)
		}
		if status.Live() {
			snap.Live[userID] = order.Held{OrderID: orderID, Quantity: order.QuantityOf(units)}
		} else {
			snap.Dead[orderID] = true
		}
	}
	if err := rows.Err(); err != nil { // the connection may end before the rows do
		return fmt.Errorf("reading orders: %w", err)
	}
	return nil
}

// Retire implements recovery.SaleLedger.
func (s Sales) Retire(ctx context.Context, id int64, lastOperation int64) (retired bool, err error) {
	err = s.write(ctx, func(tx transaction) error {
		retired = false
		sale, err := lockSale(tx, id)
		if err != nil || sale.Retired {
			retired = sale.Retired
			return err
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		var pending []int64
		err = tx.Model(&operationRow{}).Where("voucher_id = ? AND state = ?", id, operationPending).
			Order("number").Limit(1).Pluck("number", &pending).Error
		if err != nil {
			return fmt.Errorf("looking for pending operations: %w", err)
		}
		if len(pending) > 0 || sale.LastOperation != lastOperation || now.Before(sale.EndTime) || sale.ListOpen {
			return nil
		}
		retired = true
		return tx.Model(&saleRow{}).Where("voucher_id = ?", id).Update("retired", true).Error
	})
	return retired, sqlkit.Wrapf(err, "retiring the sale of voucher %d", id)
}

// LedgerTotals is audit.Stores.Totals. It is one statement, so that all sums are from the same moment. It walks the
// voucher's orders by their index: a million of them take about a second, without locks.
func (s Sales) LedgerTotals(ctx context.Context, id int64, applied int64) (audit.LedgerTotals, error) {
	var rows []struct {
		Stock, Kept, Issued, Epoch, Sequence, LastOperation, Live, Extra, Pending, Ahead, Open int64
	}
	err := s.db.Read(ctx).Raw("SELECT s.stock, s.kept, s.issued, s.epoch, s.sequence, "+
		"s.last_operation, l.live, l.extra, (SELECT COUNT(*) FROM tb_voucher_operation p WHERE p.state = @pending "+
		"AND p.voucher_id = s.voucher_id) AS pending, "+
		// Operations above applied: the ledger counts units that one gives once it is committed, and units that one
		// takes once it is completed. Kept units are in neither store's sum until they are put on sale or accepted.
		"(SELECT COALESCE(SUM(CASE WHEN p.kind = @restock THEN CASE WHEN p.delta > 0 OR p.state = @done "+
		"THEN p.delta ELSE 0 END WHEN p.kind = @accept AND p.state <> @done THEN 0 ELSE -p.kept END), 0) "+
		"FROM tb_voucher_operation p WHERE p.voucher_id = s.voucher_id AND p.number > @applied) AS ahead, "+
		"(SELECT COUNT(*) FROM tb_voucher_operation p WHERE p.state = @pending AND p.voucher_id = s.voucher_id "+
		"AND p.number <= @applied AND (p.kind = @restock AND p.delta < 0 OR p.kind = @accept)) AS open "+
		"FROM tb_seckill_voucher s CROSS JOIN (SELECT COUNT(*) AS live, COALESCE(SUM(o.quantity - 1), 0) AS extra "+
		"FROM tb_voucher_order o WHERE o.voucher_id = @voucher AND o.live = 1) l WHERE s.voucher_id = @voucher",
		map[string]any{
			"pending": operationPending, "done": operationApplied, "applied": applied,
			"restock": operation.Restock, "accept": operation.Acceptance, "voucher": id,
		}).Find(&rows).Error
	what := fmt.Sprintf("the totals of voucher %d", id)
	switch {
	case err != nil:
		return audit.LedgerTotals{}, sqlkit.ReadError("reading "+what, err)
	case len(rows) == 0:
		return audit.LedgerTotals{}, fmt.Errorf("%s: %w", what, voucher.ErrNotSeckill)
	}
	r := rows[0]
	return audit.LedgerTotals{
		Mark: order.Mark{Epoch: r.Epoch, Sequence: r.Sequence}, Operation: r.LastOperation, Stock: r.Stock,
		Kept: r.Kept, Issued: r.Issued,
		Live: r.Live, Extra: r.Extra, Pending: r.Pending, Ahead: r.Ahead, Open: r.Open,
	}, nil
}

// PurgedSale is a sale whose orders were purged: its units, in the ledger's row, in orders that are left, and in those
// that are gone.
type PurgedSale struct {
	At                  time.Time
	Orders              int64 // that are gone
	Issued, Stock, Kept int64
	Live, Gone          int64 // units of live orders that are left, and of live ones that are gone
}

// Difference returns how many units too many the sale has; below 0: too few.
func (p PurgedSale) Difference() int64 { return p.Stock + p.Kept + p.Live + p.Gone - p.Issued }

// Purged returns a sale of which something was purged, by one statement, or voucher.ErrNotSeckill.
func (s Sales) Purged(ctx context.Context, id int64) (PurgedSale, error) {
	var rows []struct {
		PurgedSale PurgedSale `gorm:"embedded"`
		Figures    string
	}
	err := s.db.Read(ctx).Raw("SELECT g.create_time AS at, g.orders, g.figures, s.issued, s.stock, s.kept, "+
		"(SELECT COALESCE(SUM(o.quantity), 0) FROM tb_voucher_order o "+
		"WHERE o.voucher_id = s.voucher_id AND o.live = 1) AS live FROM tb_purge g "+
		"JOIN tb_seckill_voucher s ON s.voucher_id = g.voucher_id WHERE g.voucher_id = ?",
		id).Find(&rows).Error
	what := fmt.Sprintf("reading what was purged of voucher %d", id)
	switch {
	case err != nil:
		return PurgedSale{}, sqlkit.ReadError(what, err)
	case len(rows) == 0:
		return PurgedSale{}, fmt.Errorf("%s: %w", what, voucher.ErrNotSeckill)
	}
	var gone figures.Orders
	if err := json.Unmarshal([]byte(rows[0].Figures), &gone); err != nil {
		return PurgedSale{}, fmt.Errorf("%s: %w", what, err)
	}
	purged := rows[0].PurgedSale
	purged.Gone = gone.Sold().Units
	return purged, nil
}

// RetiredRehearsals returns the vouchers of rehearsals whose sale is retired.
func (s Sales) RetiredRehearsals(ctx context.Context) (ids []int64, err error) {
	err = s.db.Read(ctx).Table("tb_voucher v").
		Where("v.shop_id = ? AND v.type = ? AND NOT EXISTS (SELECT 1 FROM tb_seckill_voucher s WHERE s.voucher_id = "+
			"v.id AND s.retired = ?)",
			voucher.RehearsalShop, voucher.Seckill, false).Order("v.id").Pluck("v.id", &ids).Error
	return ids, sqlkit.ReadError("looking for rehearsals", err)
}

// EmptyRehearsal removes up to n orders of a retired rehearsal, with all that belongs to them. When the rehearsal has
// no orders left, it removes the voucher itself, and is done. For any other voucher it returns an error and removes
// nothing: each transaction checks that under the lock of the sale's row. The entries of tb_audit stay.
func (s Sales) EmptyRehearsal(ctx context.Context, voucherID int64, n int) (done bool, err error) {
	err = s.write(ctx, func(tx transaction) error {
		done = false
		sale, err := lockSale(tx, voucherID)
		if errors.Is(err, voucher.ErrNotFound) { // an earlier try removed it, but its reply was lost
			done = true
			return nil
		}
		if err != nil {
			return err
		}
		v, err := findVoucher(tx.DB, voucherID)
		if err != nil {
			return err
		}
		if !v.Rehearsal() || !sale.Retired {
			return errors.New("not a rehearsal that is over")
		}
		var ids []int64
		if err := tx.Model(&orderRow{}).Where("voucher_id = ?",
			voucherID).Order("id").Limit(n).Pluck("id", &ids).Error; err != nil {
			return err
		}
		if len(ids) > 0 {
			return tx.removeOrders(ids)
		}
		done = true
		return removeVoucher(tx, voucherID)
	})
	return err == nil && done, sqlkit.ReadError(fmt.Sprintf("emptying the rehearsal of voucher %d", voucherID), err)
}

// removeOrders removes orders and the rows that belong to them.
func (tx transaction) removeOrders(ids []int64) error {
	if err := tx.each(func(h sqlkit.Hook) error { return tell(tx, h.Removed, ids) }); err != nil {
		return err
	}
	for _, from := range []string{
		"tb_order_event WHERE order_id IN ?",
		"tb_refund WHERE payment_id IN (SELECT id FROM tb_payment WHERE order_id IN ?)",
		"tb_payment_cancel WHERE payment_id IN (SELECT id FROM tb_payment WHERE order_id IN ?)",
		"tb_payment WHERE order_id IN ?",
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
func removeVoucher(tx transaction, id int64) error {
	for _, from := range []string{
		"tb_sale_minute WHERE voucher_id = ?", "tb_voucher_operation WHERE voucher_id = ?",
		"tb_lost_decision WHERE voucher_id = ?",
		"tb_seckill_voucher WHERE voucher_id = ?", "tb_voucher WHERE id = ?",
	} {
		if err := tx.Exec("DELETE FROM "+from, id).Error; err != nil {
			return fmt.Errorf("removing from %s: %w", from, err)
		}
	}
	return nil
}

// forgetAccepted marks the orders of void acceptances as dead in a rebuild's snapshot. Otherwise the rebuild would take
// their users, who may be holders in Redis, for buyers whose order is lost. Their order is written once a new operation
// has asked Redis again.
func forgetAccepted(tx transaction, voucherID int64, snap *order.Snapshot) error {
	var undecided []int64
	err := tx.Model(&operationRow{}).Where("voucher_id = ? AND state = ? AND kind = ?", voucherID, operationVoid,
		operation.Acceptance).Distinct().Pluck("order_id", &undecided).Error
	if err != nil {
		return fmt.Errorf("reading undecided acceptances: %w", err)
	}
	if len(undecided) == 0 {
		return nil
	}
	live := make(map[int64]bool, len(snap.Live))
	for _, held := range snap.Live {
		live[held.OrderID] = true
	}
	for _, id := range undecided {
		if !live[id] {
			snap.Dead[id] = true
		}
	}
	return nil
}
