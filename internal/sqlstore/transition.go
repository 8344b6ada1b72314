package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// paidOnline is tb_voucher_order.pay_type of an order that was paid through the service.
const paidOnline = 1

// lockOrder locks and returns an order. It returns order.ErrNotFound if the order does not exist or is another user's;
// owner 0 is any user.
func lockOrder(tx *gorm.DB, id, owner int64) (orderRow, error) {
	row, err := sqlkit.Take[orderRow](sqlkit.Locking(tx).Where("id = ?", id), order.ErrNotFound, "locking the order")
	if err == nil && owner != 0 && row.UserID != owner {
		return orderRow{}, order.ErrNotFound
	}
	return row, err
}

// withOrder runs f in a transaction that has claimed the key, if one is given, and locked an order, as lockOrder does.
// It returns the order as f leaves it. rows is the order alone.
func (s *Store) withOrder(
	ctx context.Context, doing string, key idempotency.Key, id, owner int64, f func(tx *gorm.DB, rows []orderRow) error,
) (order.Order, error) {
	var rows []orderRow
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		if err := s.claimKey(tx, key, strconv.FormatInt(id, 10)); err != nil {
			return err
		}
		row, err := lockOrder(tx, id, owner)
		if err != nil {
			return err
		}
		rows = []orderRow{row}
		return f(tx, rows)
	})
	if err != nil {
		return order.Order{}, sqlkit.ReadError(fmt.Sprintf("%s order %d", doing, id), err)
	}
	return rows[0].order(), nil
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
	why reason.Why
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
	at := &now
	if action == order.Unredeem || action == order.Reinstate {
		at = nil
	}
	columns := map[string]any{"status": action.To()}
	for i := range rows {
		row := &rows[i]
		row.Status, row.Revision = action.To(), row.Revision+action.Revisions()
		if column, field := timeOf(row, action); field != nil {
			*field, columns[column] = at, at
		}
		if action.Pays() {
			row.PayType, columns["pay_type"] = paidOnline, paidOnline
		}
	}
	if n := action.Revisions(); n > 0 {
		columns["revision"] = gorm.Expr("revision + ?", n)
	}
	for part := range sqlkit.Chunks(idsOf(rows)) {
		if err := tx.Model(&orderRow{}).Where("id IN ?", part).Updates(columns).Error; err != nil {
			return fmt.Errorf("%s %d orders: %w", action, len(rows), err)
		}
	}
	return nil
}

// timeOf returns the column that an action sets, or takes back, and its field; nil for one that has no time of its own.
func timeOf(r *orderRow, action order.Action) (column string, field **time.Time) {
	switch action {
	case order.Pay, order.Revive:
		return "pay_time", &r.PayTime
	case order.Cancel, order.Expire:
		return "cancel_time", &r.CancelTime
	case order.RequestRefund:
		return "refunding_time", &r.RefundingTime
	case order.ConfirmRefund:
		return "refund_time", &r.RefundTime
	case order.Redeem, order.Unredeem:
		return "redeem_time", &r.RedeemTime
	case order.Lapse, order.Reinstate:
		return "lapse_time", &r.LapseTime
	default: // order.Extend
		return "", nil
	}
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
func operationKind(action order.Action) operation.Kind {
	switch action {
	case order.Cancel:
		return operation.Cancellation
	case order.ConfirmRefund:
		return operation.Refund
	default:
		return operation.Expiration
	}
}

// errTakes: an order of a sale cannot be revived directly, as Redis has to give the unit first (rule 1,
// docs/architecture.md).
var errTakes = errors.New("only a completed operation takes a unit")

// Transition implements service.OrderLedger.
func (s *Store) Transition(
	ctx context.Context, orderID, owner int64, action order.Action, by order.Actor,
) (order.Order, error) {
	step := func(tx *gorm.DB, rows []orderRow) error {
		row := rows[0]
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
		c := cause{by: by, at: now}
		if by == order.Owner {
			if err := s.may(tx, row, action, c); err != nil {
				return err
			}
		}
		return s.advance(tx, rows, action, c)
	}
	return s.withOrder(ctx, action.String(), idempotency.Key{}, orderID, owner, step)
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
		rows = nil
		skip := clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked}
		err = tx.Clauses(skip).Where("status = ? AND pay_deadline <= ?", order.Unpaid, now).
			Order("pay_deadline, id").Limit(n).Find(&rows).Error
		if err != nil {
			return fmt.Errorf("locking unpaid orders: %w", err)
		}
		if err := s.advance(tx, rows, order.Expire,
			cause{by: order.ByExpirer, at: now, why: reason.NotPaidInTime}); err != nil {
			return err
		}
		return s.countUnpaid(tx, rows, now)
	})
	if err != nil {
		return nil, sqlkit.ReadError(fmt.Sprintf("expiring %d due orders", n), err)
	}
	return sqlkit.Map(rows, (*orderRow).order), nil
}

// CancelForStaff implements service.OrderLedger.
func (s *Store) CancelForStaff(ctx context.Context, act order.StaffAct) (order.Order, error) {
	return s.actForStaff(ctx, act, order.Cancel, voucher.OrderCancelled, s.cancel)
}

// RefundForStaff implements service.PaymentLedger.
func (s *Store) RefundForStaff(ctx context.Context, act order.StaffAct) (order.Order, error) {
	return s.actForStaff(ctx, act, order.RequestRefund, voucher.OrderRefunded, s.refund)
}

// actForStaff takes an action on an order for staff. An order that is already in the resulting state stays as it is.
func (s *Store) actForStaff(
	ctx context.Context, act order.StaffAct, action order.Action, audited voucher.Action,
	take func(tx *gorm.DB, rows []orderRow, c cause) error,
) (order.Order, error) {
	step := func(tx *gorm.DB, rows []orderRow) error {
		row := rows[0]
		if row.Status == action.To() || action == order.RequestRefund && row.Status == order.Refunded {
			return nil
		}
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		c := cause{by: act.Actor(), at: now, why: reason.StaffDecided}
		if err := take(tx, rows, c); err != nil {
			return err
		}
		return sqlkit.WriteAudit(tx, now, act.By, sqlkit.AuditRow{
			VoucherID: row.VoucherID, Action: audited, Changes: act.Audited(row.Status, rows[0].Status),
		})
	}
	return s.withOrder(ctx, "for staff: "+action.String(), act.By.Key, act.OrderID, 0, step)
}

// cancel cancels a locked order.
func (s *Store) cancel(tx *gorm.DB, rows []orderRow, c cause) error {
	if err := order.Cancel.Check(rows[0].ID, rows[0].Status); err != nil {
		return err
	}
	if err := s.may(tx, rows[0], order.Cancel, c); err != nil {
		return err
	}
	return s.advance(tx, rows, order.Cancel, c)
}
