package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"gorm.io/gorm"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/payments"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// paidOnline is tb_voucher_order.pay_type of an order that was paid through the service.
const paidOnline = 1

// withOrder runs f in a transaction that has claimed the key, if one is given, and locked an order, as lockOrder does.
// It returns the order as f leaves it. rows is the order alone.
func (l *ledger) withOrder(
	ctx context.Context, doing string, key idempotency.Key, id, owner int64,
	f func(tx transaction, rows []orderRow) error,
) (order.Order, error) {
	var rows []orderRow
	err := l.write(ctx, func(tx transaction) error {
		if err := tx.claimKey(key, strconv.FormatInt(id, 10)); err != nil {
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

// advance takes an action on locked orders, which are in the right state for it. It writes the rows, a line of history
// for each, what features write and, when units go back on sale, the sales with an operation for each order. Write
// payments first: features read them.
func (tx transaction) advance(rows []orderRow, action order.Action, c cause) error {
	if len(rows) == 0 {
		return nil
	}
	if err := move(tx, rows, action, c.at); err != nil {
		return err
	}
	if err := writeHistory(tx, rows, c); err != nil {
		return err
	}
	if err := tx.changed(rows, order.Change{Action: action, By: c.by, Why: c.why, At: c.at}); err != nil {
		return err
	}
	if action == order.Cancel || action == order.Expire {
		if err := payments.CancelOpen(tx.DB, tx.now, sqlkit.Map(rows, (*orderRow).id), ""); err != nil {
			return err
		}
	}
	if action.GivesUnit() {
		return tx.giveBackUnits(rows, action, c)
	}
	return nil
}

// move writes the new state of locked orders, which are in the right state for the action.
func move(tx transaction, rows []orderRow, action order.Action, now time.Time) error {
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
	for part := range sqlkit.Chunks(sqlkit.Map(rows, (*orderRow).id)) {
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
func (tx transaction) giveBackUnits(rows []orderRow, action order.Action, c cause) error {
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
		if err := tx.appendOperations(&sale, ops[id], c.at); err != nil {
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

// actForStaff takes an action on an order for staff. An order that is already in the resulting state stays as it is.
func (l *ledger) actForStaff(
	ctx context.Context, act order.StaffAct, action order.Action, audited voucher.Action,
	take func(tx transaction, rows []orderRow, c cause) error,
) (order.Order, error) {
	step := func(tx transaction, rows []orderRow) error {
		row := rows[0]
		if row.Status == action.To() || action == order.RequestRefund && row.Status == order.Refunded {
			return nil
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		c := cause{by: act.Actor(), at: now, why: reason.StaffDecided}
		if err := take(tx, rows, c); err != nil {
			return err
		}
		return sqlkit.WriteAudit(tx.DB, now, act.By, sqlkit.AuditRow{
			VoucherID: row.VoucherID, Action: audited, Changes: act.Audited(row.Status, rows[0].Status),
		})
	}
	return l.withOrder(ctx, "for staff: "+action.String(), act.By.Key, act.OrderID, 0, step)
}

// writeHistory writes an event for each order, with the state in which it is now.
func writeHistory(tx transaction, rows []orderRow, c cause) error {
	return note(tx.DB, sqlkit.Map(rows, func(r *orderRow) order.Line {
		return order.Line{OrderID: r.ID, Event: order.Event{Status: r.Status, At: c.at, By: c.by, Why: c.why}}
	}))
}

func note(tx *gorm.DB, lines []order.Line) error {
	events := sqlkit.Map(lines, func(l *order.Line) eventRow {
		return eventRow{
			OrderID: l.OrderID, Status: l.Event.Status, Actor: l.Event.By, Why: l.Event.Why, CreateTime: l.Event.At,
		}
	})
	err := sqlkit.CreateAll(tx, events)
	return sqlkit.Wrapf(err, "writing %d lines of history", len(lines))
}

// recorded runs the hooks for orders that this transaction has just inserted, and marks the free ones as paid: nobody
// ever sees them unpaid, and they have no payment. It uses advance, as every payment does, so that hooks see them paid.
func (tx transaction) recorded(rows []orderRow, c cause) error {
	if err := tx.changed(rows, order.Change{Recorded: true, By: c.by, Why: c.why, At: c.at}); err != nil {
		return err
	}
	var free []orderRow
	var at []int
	for i := range rows {
		if rows[i].paidAtOnce() {
			free, at = append(free, rows[i]), append(at, i)
		}
	}
	err := tx.advance(free, order.Pay, cause{by: order.ByPayments, at: c.at, why: reason.NothingToPay})
	for i := range free {
		rows[at[i]] = free[i]
	}
	return err
}
