package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// paidOnline is tb_voucher_order.pay_type of an order that was paid through the service.
const paidOnline = 1

// lockOrder locks and returns an order. It returns order.ErrNotFound if the order does not exist or is another user's;
// owner 0 is any user.
func lockOrder(tx *gorm.DB, id, owner int64) (orderRow, error) {
	var row orderRow
	err := sqlkit.Locking(tx).Where("id = ?", id).Take(&row).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound), err == nil && owner != 0 && row.UserID != owner:
		return orderRow{}, order.ErrNotFound
	case err != nil:
		return orderRow{}, fmt.Errorf("locking the order: %w", err)
	}
	return row, nil
}

// lockOrders locks orders and returns those that exist, by id.
func lockOrders(tx *gorm.DB, ids []int64) (map[int64]*orderRow, error) {
	locked := make(map[int64]*orderRow, len(ids))
	for part := range sqlkit.Chunks(slices.Sorted(slices.Values(ids))) {
		var rows []orderRow
		if err := sqlkit.Locking(tx).Where("id IN ?", part).Order("id").Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("locking %d orders: %w", len(ids), err)
		}
		for i := range rows {
			locked[rows[i].ID] = &rows[i]
		}
	}
	return locked, nil
}

func idsOf(rows []orderRow) []int64 {
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids
}

// cause is who does something to orders, when, and why.
type cause struct {
	by  order.Actor
	at  time.Time
	why order.Why
}

// advance takes an action on locked orders, which are in the right state for it. It writes the rows, a line of history
// for each, what features write and, when units go back on sale, the sales with an operation for each order.
func (s *Store) advance(tx *gorm.DB, rows []orderRow, action order.Action, c cause) error {
	if len(rows) == 0 {
		return nil
	}
	if err := move(tx, rows, action, c.at); err != nil {
		return err
	}
	if err := writeHistory(tx, rows, c); err != nil {
		return err
	}
	if err := s.changed(tx, rows, order.Change{Action: action, By: c.by, Why: c.why, At: c.at}); err != nil {
		return err
	}
	if action.GivesUnit() {
		return s.giveBackUnits(tx, rows, action, c)
	}
	return nil
}

// move writes the new state of locked orders, which are in the right state for the action.
func move(tx *gorm.DB, rows []orderRow, action order.Action, now time.Time) error {
	for i := range rows {
		rows[i] = rows[i].after(action, now)
	}
	ids := idsOf(rows)
	for part := range sqlkit.Chunks(ids) {
		if err := tx.Model(&orderRow{}).Where("id IN ?", part).Updates(rows[0].changed(action)).Error; err != nil {
			return fmt.Errorf("%s %d orders: %w", action, len(ids), err)
		}
	}
	return nil
}

// after returns the row as the action leaves it.
func (r orderRow) after(action order.Action, now time.Time) orderRow {
	r.Status = action.To()
	switch action {
	case order.Pay, order.Revive:
		r.PayTime, r.PayType = &now, paidOnline
	case order.Cancel, order.Expire:
		r.CancelTime = &now
	case order.RequestRefund:
		r.RefundingTime = &now
	case order.ConfirmRefund:
		r.RefundTime = &now
	case order.Redeem:
		r.RedeemTime = &now
	case order.Lapse:
		r.LapseTime = &now
	case order.Unredeem:
		r.RedeemTime = nil
	case order.Reinstate:
		r.LapseTime = nil
	case order.Extend:
	}
	r.Revision += action.Revisions()
	return r
}

// changed returns the columns that the action changes.
func (r orderRow) changed(action order.Action) map[string]any {
	columns := map[string]any{"status": r.Status}
	switch action {
	case order.Pay, order.Revive:
		columns["pay_time"], columns["pay_type"] = r.PayTime, r.PayType
	case order.Cancel, order.Expire:
		columns["cancel_time"] = r.CancelTime
	case order.RequestRefund:
		columns["refunding_time"] = r.RefundingTime
	case order.ConfirmRefund:
		columns["refund_time"] = r.RefundTime
	case order.Redeem, order.Unredeem:
		columns["redeem_time"] = r.RedeemTime
	case order.Lapse, order.Reinstate:
		columns["lapse_time"] = r.LapseTime
	case order.Extend:
	}
	if n := action.Revisions(); n > 0 {
		columns["revision"] = gorm.Expr("revision + ?", n)
	}
	return columns
}

// giveBackUnits gives the units of seckill orders back to their sales.
func (s *Store) giveBackUnits(tx *gorm.DB, rows []orderRow, action order.Action, c cause) error {
	ops := make(map[int64][]operationRow)
	for i := range rows {
		if rows[i].Kind == liveKind {
			ops[rows[i].VoucherID] = append(ops[rows[i].VoucherID], orderOperation(rows[i], operationKind(action),
				rows[i].units().Units(), c.by))
		}
	}
	ids := slices.Sorted(maps.Keys(ops))
	sales, err := lockSales(tx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		sale, ok := sales[id]
		if !ok {
			return fmt.Errorf("voucher %d has orders and no sale", id)
		}
		if err := s.appendOperations(tx, &sale, ops[id], c.at); err != nil {
			return err
		}
	}
	return nil
}

// operationKind returns the kind of the operation with which an action gives a unit back.
func operationKind(action order.Action) order.OperationKind {
	switch action {
	case order.Cancel:
		return order.Cancellation
	case order.ConfirmRefund:
		return order.Refund
	default:
		return order.Expiration
	}
}

// errTakes: an order of a sale cannot be revived directly, as Redis has to give the unit first (rule 1,
// docs/architecture.md).
var errTakes = errors.New("only a completed operation takes a unit")

// Transition implements service.OrderLedger.
func (s *Store) Transition(
	ctx context.Context, orderID, owner int64, action order.Action, by order.Actor,
) (order.Order, error) {
	var rows []orderRow
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		row, err := lockOrder(tx, orderID, owner)
		if err != nil {
			return err
		}
		if err := action.Check(row.ID, row.Status); err != nil {
			return err
		}
		if action == order.Revive && row.Kind == liveKind {
			return errTakes
		}
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		if by == order.Owner {
			if err := s.may(tx, row, action, cause{by: by, at: now}); err != nil {
				return err
			}
		}
		rows = []orderRow{row}
		return s.advance(tx, rows, action, cause{by: by, at: now})
	})
	if err != nil {
		return order.Order{}, sqlkit.ReadError(fmt.Sprintf("%s order %d", action, orderID), err)
	}
	return rows[0].order(), nil
}

// ExpireDue implements service.OrderLedger. An order that another transaction has locked is left for the next call.
func (s *Store) ExpireDue(ctx context.Context, token int64, n int) ([]order.Order, error) {
	var rows []orderRow
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		if err := sqlkit.RaiseFence(tx, order.ExpirerJob, token); err != nil {
			return err
		}
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		if rows, err = lockUnpaid(tx.Where("pay_deadline <= ?", now).Order("pay_deadline, id").Limit(n)); err != nil {
			return err
		}
		if err := s.advance(tx, rows, order.Expire,
			cause{by: order.ByExpirer, at: now, why: order.NotPaidInTime}); err != nil {
			return err
		}
		return s.countUnpaid(tx, rows, now)
	})
	if err != nil {
		return nil, sqlkit.ReadError(fmt.Sprintf("expiring %d due orders", n), err)
	}
	expired := make([]order.Order, len(rows))
	for i := range rows {
		expired[i] = rows[i].order()
	}
	return expired, nil
}

// lockUnpaid locks and returns the unpaid orders that no other transaction has locked.
func lockUnpaid(query *gorm.DB) ([]orderRow, error) {
	var rows []orderRow
	locking := clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked}
	if err := query.Clauses(locking).Where("status = ?", order.Unpaid).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("locking unpaid orders: %w", err)
	}
	return rows, nil
}
