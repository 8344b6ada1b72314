package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/kit/idempotency"
	"seckill/internal/order"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/sqlstore/unpaid"
	"seckill/internal/voucher"
)

// Orders reads orders, records direct sales, and takes the actions that need no payment. It implements order.Reader and
// service.OrderLedger.
type Orders struct{ *ledger }

// OrdersByID implements order.Reader.
func (s Orders) OrdersByID(ctx context.Context, ids []int64) (map[int64]order.Order, error) {
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
func (s Orders) LiveOrder(ctx context.Context, key order.BuyerKey) (order.Order, error) {
	query := s.db.Read(ctx).Where("user_id = ? AND voucher_id = ? AND live = 1", key.UserID, key.VoucherID)
	row, err := sqlkit.Take[orderRow](query, order.ErrNotFound, "reading it")
	what := fmt.Sprintf("live order of user %d for voucher %d", key.UserID, key.VoucherID)
	return row.order(), sqlkit.ReadError(what, err)
}

// OrdersOf implements order.Reader. Pass math.MaxInt64 as before for the first page.
func (s Orders) OrdersOf(ctx context.Context, f order.Filter, before int64, limit int) ([]order.Order, int64, error) {
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
func (s Orders) Find(ctx context.Context, f order.Filter, before int64, limit int) ([]order.Order, error) {
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
	if f.ShopID != 0 && f.UserID == 0 && f.VoucherID == 0 && f.Payment == "" && f.OrderID == 0 {
		ids, all, err := s.few(ctx, f.Status)
		if err == nil && !all {
			ids, err = s.ofShop(ctx, f, before, limit)
			f.ShopID = 0
		}
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		query = query.Where("id IN ?", ids)
	}
	return sqlkit.List(filtered(query, f).Where("id < ?", before).Order("id DESC").Limit(limit), "listing orders",
		(*orderRow).order)
}

// fewOrders is how many orders in a state are at most read by it, whatever else the filter wants of them.
const fewOrders = 500

// few returns the ids of all orders in a state, if they are few: the index of states finds them.
func (s Orders) few(ctx context.Context, status order.Status) (ids []int64, all bool, err error) {
	if status == order.Queued {
		return nil, false, nil
	}
	query := s.db.Read(ctx).Model(&orderRow{}).Where("status = ?", status).Limit(fewOrders + 1)
	if err := query.Pluck("id", &ids).Error; err != nil {
		return nil, false, sqlkit.ReadError("reading the orders in state "+status.String(), err)
	}
	return ids, len(ids) <= fewOrders, nil
}

// shopList is what ofShop has still to read of the orders of one voucher: those with an id below before.
type shopList struct {
	voucher, before int64
}

// ofShop returns the ids of a shop's orders below before, newest first, at most limit. Orders do not know their shop,
// but those of one voucher stand in an index in the order of their ids, so it merges the lists of the shop's vouchers.
// It reads a few ids of each, and then more of those whose next ones could still be on the page: some two ids for each
// voucher and each order of the page, however many orders the shop has.
func (s Orders) ofShop(ctx context.Context, f order.Filter, before int64, limit int) ([]int64, error) {
	var vouchers []int64
	query := s.db.Read(ctx).Table("tb_voucher").Where("shop_id = ?", f.ShopID)
	if err := query.Pluck("id", &vouchers).Error; err != nil {
		return nil, sqlkit.ReadError(fmt.Sprintf("reading the vouchers of shop %d", f.ShopID), err)
	}
	unread := make([]shopList, len(vouchers))
	for i, v := range vouchers {
		unread[i] = shopList{v, before}
	}
	var ids []int64
	for least := 1; len(unread) > 0; least *= 2 {
		each := max(least, limit/len(unread))
		var err error
		if ids, unread, err = s.readOn(ctx, f, unread, ids, each); err != nil {
			return nil, err
		}
		slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(b, a) })
		if len(ids) >= limit {
			ids = ids[:limit]
			unread = slices.DeleteFunc(unread, func(l shopList) bool { return l.before <= ids[limit-1] })
		}
	}
	return ids, nil
}

// listsAtATime is how many lists one statement reads; SQLite takes 500.
const listsAtATime = 100

// readOn reads the next ids of each list, at most n, and returns the lists that may have more.
func (s Orders) readOn(
	ctx context.Context, f order.Filter, lists []shopList, ids []int64, n int,
) (all []int64, unread []shopList, err error) {
	next := s.byVoucher(s.db.Read(ctx).Model(&orderRow{})).Select("id, voucher_id").Order("id DESC").Limit(n)
	if f.FirstID != 0 {
		next = next.Where("id >= ?", f.FirstID)
	}
	if f.Status != order.Queued {
		next = next.Where("status = ?", f.Status)
	}
	list := "(?)"
	if s.db.Dialect() == sqlkit.SQLite { // its UNION takes no list with a LIMIT of its own
		list = "SELECT * FROM (?)"
	}
	for part := range slices.Chunk(lists, listsAtATime) {
		union := make([]string, len(part))
		queries := make([]any, len(part))
		for i, l := range part {
			union[i] = list
			queries[i] = next.Session(&gorm.Session{}).Where("voucher_id = ? AND id < ?", l.voucher, l.before)
		}
		var rows []struct{ ID, VoucherID int64 }
		err := s.db.Read(ctx).Raw(strings.Join(union, " UNION ALL "), queries...).Find(&rows).Error
		if err != nil {
			return nil, nil, sqlkit.ReadError(fmt.Sprintf("listing the orders of shop %d", f.ShopID), err)
		}
		read := map[int64]shopList{}
		found := map[int64]int{}
		for _, row := range rows {
			ids = append(ids, row.ID)
			found[row.VoucherID]++
			if last, has := read[row.VoucherID]; !has || row.ID < last.before {
				read[row.VoucherID] = shopList{row.VoucherID, row.ID}
			}
		}
		for voucherID, l := range read {
			if found[voucherID] == n {
				unread = append(unread, l)
			}
		}
	}
	return ids, unread, nil
}

// OrdersAfter returns recorded orders of a voucher with an id above after, ascending, at most limit.
func (s Orders) OrdersAfter(ctx context.Context, voucherID, after int64, limit int) ([]order.Order, error) {
	query := s.byVoucher(s.db.Read(ctx)).Where("voucher_id = ? AND id > ?", voucherID, after).Order("id").Limit(limit)
	return sqlkit.List(query, fmt.Sprintf("reading the orders of voucher %d", voucherID), (*orderRow).order)
}

// byVoucher makes a query read orders by the index of their voucher, in which they are sorted by id. MariaDB would look
// up the voucher there and skip all orders before the page, so that paging through a sale takes quadratic time. SQLite
// does not.
func (s Orders) byVoucher(query *gorm.DB) *gorm.DB {
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
func (s Orders) Recorded(ctx context.Context, ids []int64) (map[int64]order.Status, error) {
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
func (s Orders) OrderIDs(ctx context.Context, from, to int64, yield func(int64)) (err error) {
	what := fmt.Sprintf("reading order ids from %d to %d", from, to)
	permits := s.db.Bulkhead()
	permit, err := permits.Acquire(ctx)
	if err != nil {
		return sqlkit.ReadError(what, err)
	}
	defer permit.Release()
	rows, err := s.db.Read(permits.Holding(ctx)).Model(&orderRow{}).Select("id").
		Where("id >= ? AND id < ? AND reason <> ?", from, to, reason.IDCollision).Order("id").Rows()
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

// History implements service.OrderLedger. An order without a row has none.
func (s Orders) History(ctx context.Context, orderID int64) ([]order.Event, error) {
	// Events of one order are written under its lock, so their ids are in the order of the events.
	return sqlkit.List(s.db.Read(ctx).Where("order_id = ?", orderID).Order("id"),
		fmt.Sprintf("reading the history of order %d", orderID), func(r *eventRow) order.Event {
			return order.Event{Status: r.Status, At: r.CreateTime, By: r.Actor, Why: r.Why}
		})
}

// errTakes: an order of a sale cannot be revived directly, as Redis has to give the unit first (rule 1,
// docs/architecture.md).
var errTakes = errors.New("only a completed operation takes a unit")

// Transition implements service.OrderLedger.
func (s Orders) Transition(
	ctx context.Context, orderID, owner int64, action order.Action, by order.Actor,
) (order.Order, error) {
	step := func(tx transaction, rows []orderRow) error {
		row := rows[0]
		if err := action.Check(row.ID, row.Status); err != nil {
			return err
		}
		if action == order.Revive && row.Kind == liveKind {
			return errTakes
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		c := cause{by: by, at: now}
		if by == order.Owner {
			if err := tx.may(row, action, c); err != nil {
				return err
			}
		}
		return tx.advance(rows, action, c)
	}
	return s.withOrder(ctx, action.String(), idempotency.Key{}, orderID, owner, step)
}

// CancelForStaff implements service.OrderLedger.
func (s Orders) CancelForStaff(ctx context.Context, act order.StaffAct) (order.Order, error) {
	return s.actForStaff(ctx, act, order.Cancel, voucher.OrderCancelled, transaction.cancel)
}

// cancel cancels a locked order.
func (tx transaction) cancel(rows []orderRow, c cause) error {
	if err := order.Cancel.Check(rows[0].ID, rows[0].Status); err != nil {
		return err
	}
	if err := tx.may(rows[0], order.Cancel, c); err != nil {
		return err
	}
	return tx.advance(rows, order.Cancel, c)
}

// ExpireDue implements service.OrderLedger. An order that another transaction has locked is left for the next call.
// After the ledger was away nothing expires for a while (sqlkit.NoteDeadlines).
func (s Orders) ExpireDue(ctx context.Context, token int64, n int) (expired []order.Order, err error) {
	err = s.write(ctx, func(tx transaction) error {
		if err := sqlkit.RaiseFence(tx.DB, order.ExpirerJob, token); err != nil {
			return err
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		expired = nil
		if stopped, err := sqlkit.NoteDeadlines(tx.DB, now); err != nil || stopped {
			return err
		}
		var rows []orderRow
		skip := clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked}
		err = tx.Clauses(skip).Where("status = ? AND pay_deadline <= ?", order.Unpaid, now).
			Order("pay_deadline, id").Limit(n).Find(&rows).Error
		if err != nil {
			return fmt.Errorf("locking unpaid orders: %w", err)
		}
		if err := tx.advance(rows, order.Expire,
			cause{by: order.ByExpirer, at: now, why: reason.NotPaidInTime}); err != nil {
			return err
		}
		expired = sqlkit.Map(rows, (*orderRow).order)
		return unpaid.Count(tx.DB, tx.db.Dialect(), expired, now)
	})
	if err != nil {
		return nil, sqlkit.ReadError(fmt.Sprintf("expiring %d due orders", n), err)
	}
	return expired, nil
}
