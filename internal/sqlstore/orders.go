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
	"seckill/internal/sqlstore/payments"
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
	named := f.OrderID != 0 || f.Payment != ""
	if index := orderIndex(f); index != "" && !named {
		query = query.Table(s.db.UsingIndex("tb_voucher_order", index))
	}
	if f.Payment != "" {
		ids, err := payments.ListsIn(s.db).Named(ctx, "order_id", f.Payment)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		query = query.Where("id IN ?", ids)
	}
	if f.VoucherID == 0 && f.UserID == 0 && !named && (f.ShopID != 0 || f.Status != order.Queued) {
		ids, err := s.ofVouchers(ctx, f, before, limit)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		f.ShopID, query = 0, query.Where("id IN ?", ids)
	}
	return sqlkit.List(filtered(query, f).Where("id < ?", before).Order("id DESC").Limit(limit), "listing orders",
		(*orderRow).order)
}

// ordersFrom are the orders of a voucher with an id from ID down.
type ordersFrom struct{ VoucherID, ID int64 }

// ofVouchers returns the ids of a shop's orders below before, or of those in a state, newest first, at most limit.
// Orders do not know their shop, but those of one voucher, and of one state there, stand in an index in the order of
// their ids, so it merges the lists of the vouchers: those with the newest orders first, and of each only what is newer
// than the last order of the page. So it reads some two entries for each voucher and a few for each order of the page,
// however many orders there are.
func (s Orders) ofVouchers(ctx context.Context, f order.Filter, before int64, limit int) (ids []int64, err error) {
	lists, err := s.newest(ctx, f, before)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(lists, func(a, b ordersFrom) int { return cmp.Compare(b.ID, a.ID) })
	for n := 1; len(lists) > 0; n *= 2 {
		part := lists[:min(n, listsAtATime, len(lists))]
		lists = lists[len(part):]
		read, err := s.readLists(ctx, f, part, limit)
		if err != nil {
			return nil, err
		}
		for _, o := range read {
			ids = append(ids, o.ID)
		}
		slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(b, a) })
		if len(ids) >= limit {
			ids, f.FirstID = ids[:limit], ids[limit-1]+1
			lists = slices.DeleteFunc(lists, func(l ordersFrom) bool { return l.ID < f.FirstID })
		}
	}
	return ids, nil
}

// newest returns the newest order below before of each voucher that has one in the filter's shop and state.
func (s Orders) newest(ctx context.Context, f order.Filter, before int64) (all []ordersFrom, err error) {
	if f.ShopID == 0 {
		// MariaDB skips all but one entry of each voucher only if the state is a range and one of the groups.
		orders := s.db.Read(ctx).Table(s.db.UsingIndex("tb_voucher_order", "idx_order_state")).
			Where("status >= ? AND status < ? AND id < ?", f.Status, f.Status+1, before)
		err := orders.Select("voucher_id, MAX(id) AS id").Group("status, voucher_id").Find(&all).Error
		return all, sqlkit.ReadError("reading which vouchers have orders "+f.Status.String(), err)
	}
	var vouchers []int64
	query := s.db.Read(ctx).Table("tb_voucher").Where("shop_id = ?", f.ShopID)
	if err := query.Pluck("id", &vouchers).Error; err != nil {
		return nil, sqlkit.ReadError(fmt.Sprintf("reading the vouchers of shop %d", f.ShopID), err)
	}
	for part := range slices.Chunk(vouchers, listsAtATime) {
		lists := sqlkit.Map(part, func(id *int64) ordersFrom { return ordersFrom{*id, before - 1} })
		read, err := s.readLists(ctx, f, lists, 1)
		if err != nil {
			return nil, err
		}
		all = append(all, read...)
	}
	return all, nil
}

// listsAtATime is how many lists one statement reads; SQLite takes 500.
const listsAtATime = 100

// readLists reads the newest orders of each list that the filter selects, at most n of each.
func (s Orders) readLists(
	ctx context.Context, f order.Filter, lists []ordersFrom, n int,
) (all []ordersFrom, err error) {
	index := orderIndex(order.Filter{VoucherID: lists[0].VoucherID, Status: f.Status})
	list := "(?)"
	if s.db.Dialect() == sqlkit.SQLite { // its UNION takes no list with a LIMIT of its own
		list = "SELECT * FROM (?)"
	}
	union, queries := make([]string, len(lists)), make([]any, len(lists))
	for i, l := range lists {
		orders := filtered(s.db.Read(ctx), order.Filter{VoucherID: l.VoucherID, Status: f.Status, FirstID: f.FirstID})
		union[i] = list
		queries[i] = orders.Table(s.db.UsingIndex("tb_voucher_order", index)).Select("id, voucher_id").
			Where("id <= ?", l.ID).Order("id DESC").Limit(n)
	}
	err = s.db.Read(ctx).Raw(strings.Join(union, " UNION ALL "), queries...).Find(&all).Error
	return all, sqlkit.ReadError("listing the orders of vouchers", err)
}

// OrdersAfter returns recorded orders of a voucher with an id above after, ascending, at most limit.
func (s Orders) OrdersAfter(ctx context.Context, voucherID, after int64, limit int) ([]order.Order, error) {
	index := orderIndex(order.Filter{VoucherID: voucherID})
	query := s.db.Read(ctx).Table(s.db.UsingIndex("tb_voucher_order", index))
	return sqlkit.List(query.Where("voucher_id = ? AND id > ?", voucherID, after).Order("id").Limit(limit),
		fmt.Sprintf("reading the orders of voucher %d", voucherID), (*orderRow).order)
}

// orderIndex returns the index in which the selected orders lie together; "" where the primary key has them. All but
// the buyers' are sorted by id. MariaDB would choose others for some pages, and read all orders before them.
func orderIndex(f order.Filter) string {
	switch {
	case f.UserID != 0:
		return "uk_order_live"
	case f.VoucherID != 0 && f.Status != order.Queued:
		return "idx_order_state"
	case f.VoucherID != 0:
		return "idx_order_voucher"
	default:
		return ""
	}
}

// filtered restricts a query to the orders that the filter lets through.
func filtered(query *gorm.DB, f order.Filter) *gorm.DB {
	query = sqlkit.Equal(query, map[string]int64{
		"user_id": f.UserID, "voucher_id": f.VoucherID, "id": f.OrderID, "status": int64(f.Status),
	})
	if f.ShopID != 0 {
		query = query.Where("voucher_id IN (SELECT id FROM tb_voucher WHERE shop_id = ?)", f.ShopID)
	}
	if f.FirstID != 0 {
		query = query.Where("id >= ?", f.FirstID)
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

// Transition implements service.OrderLedger.
func (s Orders) Transition(
	ctx context.Context, orderID, owner int64, action order.Action, by order.Actor,
) (order.Order, error) {
	step := func(tx transaction, rows []orderRow) error {
		row := rows[0]
		if err := action.Check(row.ID, row.Status); err != nil {
			return err
		}
		if action == order.Revive && row.Kind == liveKind { // Redis has to give the unit first (rule 1)
			return errors.New("only a completed operation takes a unit")
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
		due := tx.Table(s.db.UsingIndex("tb_voucher_order", "idx_order_due"))
		err = due.Clauses(skip).Where("status = ? AND pay_deadline <= ?", order.Unpaid, now).
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
	return expired, sqlkit.ReadError(fmt.Sprintf("expiring %d due orders", n), err)
}
