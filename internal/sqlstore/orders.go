package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/sqlkit"
)

// OrdersByID implements order.Reader.
func (s *Store) OrdersByID(ctx context.Context, ids []int64) (map[int64]order.Order, error) {
	orders := make(map[int64]order.Order, len(ids))
	for part := range sqlkit.Chunks(ids) {
		var rows []orderRow
		if err := s.db.Read(ctx).Where("id IN ?", part).Find(&rows).Error; err != nil {
			return nil, sqlkit.ReadError(fmt.Sprintf("reading %d orders", len(ids)), err)
		}
		for _, row := range rows {
			orders[row.ID] = row.order()
		}
	}
	return orders, nil
}

// LiveOrder implements order.Reader.
func (s *Store) LiveOrder(ctx context.Context, key order.BuyerKey) (order.Order, error) {
	query := s.db.Read(ctx).Where("user_id = ? AND voucher_id = ? AND live = 1", key.UserID, key.VoucherID)
	row, err := sqlkit.Take[orderRow](query, order.ErrNotFound, "reading it")
	what := fmt.Sprintf("live order of user %d for voucher %d", key.UserID, key.VoucherID)
	return row.order(), sqlkit.ReadError(what, err)
}

// OrdersOf implements order.Reader. Pass math.MaxInt64 as before for the first page.
func (s *Store) OrdersOf(ctx context.Context, f order.Filter, before int64, limit int) ([]order.Order, int64, error) {
	orders, err := s.Find(ctx, f, before, limit)
	if err != nil || f.Waiting {
		return nil, 0, err
	}
	if before == math.MaxInt64 && len(orders) < limit { // the usual case: these are all
		return orders, int64(len(orders)), nil
	}
	var total int64
	if err := filtered(s.db.Read(ctx), f).Model(&orderRow{}).Count(&total).Error; err != nil {
		return nil, 0, sqlkit.ReadError(fmt.Sprintf("counting the orders of user %d", f.UserID), err)
	}
	return orders, total, nil
}

// Find implements service.OrderLedger. Pass math.MaxInt64 as before for the first page.
func (s *Store) Find(ctx context.Context, f order.Filter, before int64, limit int) ([]order.Order, error) {
	if f.Waiting {
		return nil, nil // an order that has a row is not waiting to be recorded
	}
	query := s.db.Read(ctx)
	if f.VoucherID != 0 && f.UserID == 0 && f.Status == order.Queued {
		query = s.byVoucher(query)
	}
	if f.Payment != "" {
		ids, err := s.ofPaymentsNamed(ctx, "order_id", f.Payment)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		query = query.Where("id IN ?", ids)
	}
	return sqlkit.List(filtered(query, f).Where("id < ?", before).Order("id DESC").Limit(limit), "listing orders",
		(*orderRow).order)
}

// OrdersAfter returns recorded orders of a voucher with an id above after, ascending, at most limit.
func (s *Store) OrdersAfter(ctx context.Context, voucherID, after int64, limit int) ([]order.Order, error) {
	query := s.byVoucher(s.db.Read(ctx)).Where("voucher_id = ? AND id > ?", voucherID, after).Order("id").Limit(limit)
	return sqlkit.List(query, fmt.Sprintf("reading the orders of voucher %d", voucherID), (*orderRow).order)
}

// byVoucher makes a query read orders by the index of their voucher, in which they are sorted by id. MariaDB would look
// up the voucher there and skip all orders before the page, so that paging through a sale takes quadratic time. SQLite
// does not.
func (s *Store) byVoucher(query *gorm.DB) *gorm.DB {
	if s.db.Dialect() == sqlkit.SQLite {
		return query
	}
	return query.Table("tb_voucher_order FORCE INDEX (idx_order_voucher)")
}

// filtered restricts a query to the orders that the filter lets through.
func filtered(query *gorm.DB, f order.Filter) *gorm.DB {
	if f.UserID != 0 {
		query = query.Where("user_id = ?", f.UserID)
	}
	if f.VoucherID != 0 {
		query = query.Where("voucher_id = ?", f.VoucherID)
	}
	if f.ShopID != 0 {
		query = query.Where("voucher_id IN (SELECT id FROM tb_voucher WHERE shop_id = ?)", f.ShopID)
	}
	if f.OrderID != 0 {
		query = query.Where("id = ?", f.OrderID)
	}
	if f.FirstID != 0 {
		query = query.Where("id >= ?", f.FirstID)
	}
	if f.Status != order.Queued {
		query = query.Where("status = ?", f.Status)
	}
	return query
}

// Recorded implements order.Reader.
func (s *Store) Recorded(ctx context.Context, ids []int64) (map[int64]order.Status, error) {
	statuses := make(map[int64]order.Status, len(ids))
	for part := range sqlkit.Chunks(ids) {
		var rows []orderRow
		if err := s.db.Read(ctx).Select("id", "status").Where("id IN ?", part).Find(&rows).Error; err != nil {
			return nil, sqlkit.ReadError(fmt.Sprintf("looking for %d orders", len(ids)), err)
		}
		for _, row := range rows {
			statuses[row.ID] = row.Status
		}
	}
	return statuses, nil
}

// OrderIDs calls yield with every order id in [from, to), ascending. It leaves out substitute ids, which do not come
// from the day's numbers (order.Claim.RowID). It holds one connection meanwhile. Ids that were yielded before an error
// are real.
func (s *Store) OrderIDs(ctx context.Context, from, to int64, yield func(int64)) (err error) {
	what := fmt.Sprintf("reading order ids from %d to %d", from, to)
	db, release, err := s.db.Streamed(ctx)
	if err != nil {
		return sqlkit.ReadError(what, err)
	}
	defer release()
	rows, err := db.Model(&orderRow{}).Select("id").Where("id >= ? AND id < ? AND reason <> ?", from, to,
		reason.IDCollision).Order("id").Rows()
	if err != nil {
		return sqlkit.ReadError(what, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return sqlkit.ReadError(what, err)
		}
		yield(id)
	}
	return sqlkit.ReadError(what, rows.Err())
}

type eventRow struct {
	ID         int64        `gorm:"column:id;primaryKey"`
	OrderID    int64        `gorm:"column:order_id"`
	Status     order.Status `gorm:"column:status"`
	Actor      order.Actor  `gorm:"column:actor"`
	Why        reason.Why   `gorm:"column:why"`
	CreateTime time.Time    `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (eventRow) TableName() string { return "tb_order_event" }

// writeHistory writes an event for each order, with the state in which it is now.
func writeHistory(tx *gorm.DB, rows []orderRow, c cause) error {
	events := make([]eventRow, len(rows))
	for i := range rows {
		events[i] = eventRow{OrderID: rows[i].ID, Status: rows[i].Status, Actor: c.by, Why: c.why, CreateTime: c.at}
	}
	if err := sqlkit.CreateAll(tx, events); err != nil {
		return fmt.Errorf("writing the history of %d orders: %w", len(rows), err)
	}
	return nil
}

// History implements service.OrderLedger. An order without a row has none.
func (s *Store) History(ctx context.Context, orderID int64) ([]order.Event, error) {
	// Events of one order are written under its lock, so that their ids are in the order of what happened.
	return sqlkit.List(s.db.Read(ctx).Where("order_id = ?", orderID).Order("id"),
		fmt.Sprintf("reading the history of order %d", orderID), func(r *eventRow) order.Event {
			return order.Event{Status: r.Status, At: r.CreateTime, By: r.Actor, Why: r.Why}
		})
}
