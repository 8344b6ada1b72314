package sqlstore

import (
	"cmp"
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
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// Records writes the rows of accepted orders. It implements recorder.Ledger.
type Records struct{ *ledger }

// Insert implements recorder.Ledger: it inserts the whole batch or nothing.
func (s Records) Insert(ctx context.Context, claims []order.Claim) error {
	if len(claims) == 0 {
		return nil
	}
	what := fmt.Sprintf("recording %d orders", len(claims))
	takes, err := takesOf(claims)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	// Read the terms before the transaction begins: the sooner it ends, the shorter others wait for it.
	terms, err := s.terms.of(s.db.Read(ctx), sqlkit.Distinct(takes, func(t *take) int64 { return t.sale }))
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	for _, t := range takes {
		if _, ok := terms[t.sale]; !ok {
			return fmt.Errorf("%s: %w: there is no voucher %d", what, order.ErrConflict, t.sale)
		}
	}
	// All batches insert in the same order: two that meet then wait for each other instead of deadlocking.
	sorted := slices.SortedFunc(slices.Values(claims),
		func(a, b order.Claim) int { return cmp.Compare(a.OrderID, b.OrderID) })
	return sqlkit.WriteError(what, s.once(ctx, func(tx transaction) error {
		for part := range sqlkit.Chunks(sorted) {
			if err := tx.insertUnpaid(part, terms); err != nil {
				return err
			}
		}
		if err := tx.batchRecorded(sorted, terms); err != nil {
			return err
		}
		// Take the hot rows last, so that they are locked only from here to the commit.
		return tx.takeAll(takes)
	}))
}

// insertUnpaid inserts claims as unpaid orders in one statement. It is written out because recording speed depends on
// it: it sends seven values per order, where a GORM model would send sixteen. The values are numbers, so they
// are written into the text itself; as arguments, each would be boxed, copied and searched for.
func (tx transaction) insertUnpaid(claims []order.Claim, terms map[int64]order.Terms) error {
	const head = "INSERT INTO tb_voucher_order (id, user_id, voucher_id, quantity, amount, kind, status, " +
		"create_time, pay_deadline) VALUES "
	const longest = 128 // bytes of a row, about
	statement := append(make([]byte, 0, len(head)+longest*len(claims)), head...)
	var args []any
	now := tx.db.Clock()
	for i, c := range claims {
		if i > 0 {
			statement = append(statement, ',')
		}
		t := terms[c.VoucherID]
		amount, err := c.Quantity.Amount(t.Cents)
		if err != nil {
			return fmt.Errorf("order %d: %w", c.OrderID, err)
		}
		statement = strconv.AppendInt(append(statement, '('), c.OrderID, 10)
		statement = strconv.AppendInt(append(statement, ','), c.UserID, 10)
		statement = strconv.AppendInt(append(statement, ','), c.VoucherID, 10)
		statement = strconv.AppendInt(append(statement, ','), c.Quantity.Units(), 10)
		statement = strconv.AppendInt(append(statement, ','), amount, 10)
		if tx.db.Dialect() == sqlkit.SQLite {
			statement = append(statement, ",1,1,?,?)"...)
			args = append(args, now, t.Deadline(now))
		} else {
			statement = append(statement, ",1,1,UTC_TIMESTAMP(3),UTC_TIMESTAMP(3)+INTERVAL "...)
			statement = append(strconv.AppendInt(statement, int64(t.PayWithin/time.Second), 10), " SECOND)"...)
		}
	}
	// This bypasses GORM, which would search every character of the text for named parameters.
	if _, err := tx.Statement.ConnPool.ExecContext(tx.Statement.Context, string(statement), args...); err != nil {
		return fmt.Errorf("inserting %d orders: %w", len(claims), err)
	}
	return nil
}

// take is what a batch takes from one sale.
type take struct {
	sale     int64
	epoch    int64
	units    int64
	sequence int64 // the highest among the claims of the epoch
}

// takesOf adds up the claims of each sale, sorted by sale. It returns an error for claims of one sale with different
// epochs, as at most one of the epochs is the sale's.
func takesOf(claims []order.Claim) ([]*take, error) {
	bySale := make(map[int64]*take)
	for _, c := range claims {
		t, ok := bySale[c.VoucherID]
		if !ok {
			t = &take{sale: c.VoucherID, epoch: c.Epoch}
			bySale[c.VoucherID] = t
		}
		if t.epoch != c.Epoch {
			return nil, fmt.Errorf("%w: claims of epochs %d and %d of voucher %d",
				order.ErrConflict, t.epoch, c.Epoch, c.VoucherID)
		}
		t.units += c.Quantity.Units()
		t.sequence = max(t.sequence, c.Sequence)
	}
	return slices.SortedFunc(maps.Values(bySale), func(a, b *take) int { return cmp.Compare(a.sale, b.sale) }), nil
}

// takeAll lowers the stock of each sale as fromEpoch does, or returns order.ErrConflict.
func (tx transaction) takeAll(takes []*take) error {
	if tx.db.Dialect() == sqlkit.MySQL && len(takes) > 1 {
		return tx.takeTogether(takes)
	}
	for _, t := range takes {
		if err := t.fromEpoch(tx); err != nil {
			return err
		}
	}
	return nil
}

// takeTogether is takeAll in one statement, for MySQL: in a rush on many sales at once, a batch has few orders of each,
// and one statement per sale would cost more than all orders. STRAIGHT_JOIN makes it go through the takes in their
// order, so that concurrent batches lock rows in the same order.
func (tx transaction) takeTogether(takes []*take) error {
	for part := range sqlkit.Chunks(takes) {
		result := tx.Exec(takeStatement(part))
		if result.Error != nil {
			return fmt.Errorf("taking units of %d vouchers: %w", len(part), result.Error)
		}
		if missing := int64(len(part)) - result.RowsAffected; missing != 0 {
			return fmt.Errorf("%w: %d of %d vouchers have no sale with as many units at that epoch",
				order.ErrConflict, missing, len(part))
		}
	}
	return nil
}

// takeStatement lowers the stocks of several sales, for MySQL. Numbers are in the text itself, as in insertUnpaid.
func takeStatement(takes []*take) string {
	const head, longest = 512, 90 // bytes, about
	text := append(make([]byte, 0, head+longest*len(takes)), "UPDATE ("...)
	for i, t := range takes {
		if i == 0 {
			text = append(text, "SELECT "...)
		} else {
			text = append(text, " UNION ALL SELECT "...)
		}
		text = strconv.AppendInt(text, t.sale, 10)
		text = strconv.AppendInt(append(text, " AS id,"...), t.units, 10)
		text = strconv.AppendInt(append(text, " AS units,"...), t.sequence, 10)
		text = strconv.AppendInt(append(text, " AS sequence,"...), t.epoch, 10)
		text = append(text, " AS epoch"...)
	}
	text = append(text, ") AS taken STRAIGHT_JOIN tb_seckill_voucher AS sale ON sale.voucher_id = taken.id "+
		"SET sale.stock = sale.stock - taken.units, sale.sequence = GREATEST(sale.sequence, taken.sequence) "+
		"WHERE sale.stock >= taken.units AND sale.epoch = taken.epoch"...)
	return string(text)
}

// fromEpoch lowers the sale's stock if it is enough and the epoch is still the claims' own (rules 6 and 9,
// docs/architecture.md), and otherwise returns order.ErrConflict.
func (t take) fromEpoch(tx transaction) error {
	// units is at least 1, so a row that matches is really changed, and MySQL counts it.
	result := tx.Exec("UPDATE tb_seckill_voucher SET stock = stock - ?, "+
		"sequence = CASE WHEN sequence < ? THEN ? ELSE sequence END "+
		"WHERE voucher_id = ? AND stock >= ? AND epoch = ?",
		t.units, t.sequence, t.sequence, t.sale, t.units, t.epoch)
	switch {
	case result.Error != nil:
		return fmt.Errorf("taking %d units of voucher %d: %w", t.units, t.sale, result.Error)
	case result.RowsAffected != 1:
		return fmt.Errorf("%w: voucher %d has no sale with %d units at epoch %d",
			order.ErrConflict, t.sale, t.units, t.epoch)
	}
	return nil
}

// batchRecorded does what recorded does, for claims that a batch has just inserted: those of vouchers that a hook wants
// or that are free.
func (tx transaction) batchRecorded(claims []order.Claim, terms map[int64]order.Terms) error {
	concerned := make(map[int64]bool) // vouchers
	for id, t := range terms {
		if t.Cents == 0 ||
			slices.ContainsFunc(tx.hooks, func(h sqlkit.Hook) bool { return wantsChange(h, t, order.Unpaid) }) {
			concerned[id] = true
		}
	}
	if len(concerned) == 0 {
		return nil
	}
	return tx.recordedOf(claims, concerned)
}

// recordedOf reads the new rows of the concerned vouchers back, because the database set their times, and calls
// recorded.
func (tx transaction) recordedOf(claims []order.Claim, concerned map[int64]bool) error {
	var ids []int64
	for _, c := range claims {
		if concerned[c.VoucherID] {
			ids = append(ids, c.OrderID)
		}
	}
	for part := range sqlkit.Chunks(ids) {
		var rows []orderRow
		if err := tx.Where("id IN ?", part).Order("id").Find(&rows).Error; err != nil {
			return fmt.Errorf("reading %d recorded orders: %w", len(part), err)
		}
		if err := tx.recorded(rows, cause{by: order.ByRecorder, at: rows[0].CreateTime}); err != nil {
			return err
		}
	}
	return nil
}

// RecordDirectSale implements service.OrderLedger. Repeating it with the same order id is harmless too. It returns
// order.ErrUnavailable when nothing was written, and order.ErrUnknownChange when the answer to COMMIT was lost.
func (s Orders) RecordDirectSale(
	ctx context.Context, orderID, userID, voucherID int64, key idempotency.Key,
) (order.Order, error) {
	what := fmt.Sprintf("recording order %d of user %d for voucher %d", orderID, userID, voucherID)
	p := directPurchase{orderID: orderID, userID: userID, voucherID: voucherID, key: key}
	var row orderRow
	err := s.write(ctx, func(tx transaction) error {
		now, err := tx.now()
		if err != nil {
			return err
		}
		var fresh bool
		row, fresh, err = p.record(tx, now)
		if err == nil && fresh {
			rows := []orderRow{row}
			err = tx.recorded(rows, cause{by: order.Owner, at: now})
			row = rows[0]
		}
		return err
	})
	switch {
	case err == nil:
		return row.order(), nil
	case sqlkit.IsDuplicate(err):
		return order.Order{}, fmt.Errorf("%s: %w: %w", what, order.ErrConflict, err)
	default:
		return order.Order{}, sqlkit.ReadError(what, err)
	}
}

// directPurchase is a purchase of an ordinary voucher.
type directPurchase struct {
	orderID, userID, voucherID int64
	key                        idempotency.Key
}

// record returns the order, which it records unless it was recorded before. fresh reports whether it was not.
func (p directPurchase) record(tx transaction, now time.Time) (row orderRow, fresh bool, err error) {
	row, err = p.own(tx, p.orderID)
	if !errors.Is(err, gorm.ErrRecordNotFound) {
		return row, false, err
	}
	err = sqlkit.ClaimKey(tx.DB, now, p.key, strconv.FormatInt(p.orderID, 10))
	if before, done := errors.AsType[*idempotency.RepeatedError](err); done {
		row, err = p.madeBefore(tx, before.Made)
	}
	if row.ID != 0 || err != nil {
		return row, false, err
	}
	v, err := p.offered(tx, now)
	if err != nil {
		return row, false, err
	}
	if v.PerUser > 0 {
		if err := claimLimited(tx, v, p.userID); err != nil {
			return row, false, err
		}
	}
	deadline := now.Add(v.PayWithin)
	row = orderRow{
		ID: p.orderID, UserID: p.userID, VoucherID: p.voucherID, Kind: v.Kind, Quantity: 1, Amount: v.PayValue,
		Status: order.Unpaid, CreateTime: now, PayDeadline: &deadline,
	}
	if err := tx.Create(&row).Error; err != nil {
		return row, false, fmt.Errorf("order: %w", err)
	}
	return row, true, nil
}

// offered returns the voucher if it can be bought here at the time now.
func (p directPurchase) offered(tx transaction, now time.Time) (voucher.Voucher, error) {
	v, err := findVoucher(tx.DB, p.voucherID)
	switch {
	case err != nil:
		return v, err
	case v.Hidden(now), !v.Admits(p.userID): // before the kind, which a voucher that is not shown must not reveal
		return v, voucher.ErrNotFound
	case !v.Listed():
		return v, voucher.ErrOffShelf
	case v.Kind != voucher.Ordinary:
		return v, order.ErrSeckill
	case v.Redemption.Over(now):
		return v, voucher.ErrOffShelf
	}
	return v, nil
}

// madeBefore returns the order that an earlier request with the same key made, or idempotency.ErrGone.
func (p directPurchase) madeBefore(tx transaction, made string) (orderRow, error) {
	id, err := strconv.ParseInt(made, 10, 64)
	if err != nil {
		return orderRow{}, fmt.Errorf("the order of an idempotency key: %w", err)
	}
	row, err := p.own(tx, id)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, idempotency.ErrGone
	}
	return row, err
}

// own returns the user's order of the voucher with an id, or gorm.ErrRecordNotFound.
func (p directPurchase) own(tx transaction, id int64) (row orderRow, err error) {
	err = tx.Where("id = ? AND user_id = ? AND voucher_id = ?", id, p.userID, p.voucherID).Take(&row).Error
	return row, sqlkit.Wrapf(err, "looking for the order")
}

// limitedBuyerRow is written by each transaction that adds a live order of a limited ordinary voucher for this user.
type limitedBuyerRow struct {
	VoucherID int64 `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	UserID    int64 `gorm:"column:user_id;primaryKey;autoIncrement:false"`
	Writes    int64 `gorm:"column:writes"`
}

// TableName implements gorm's schema.Tabler.
func (limitedBuyerRow) TableName() string { return "tb_limited_buyer" }

// claimLimited returns *order.LimitError if the user has as many live orders of the voucher as a user may have. Until
// the transaction ends, no other transaction can add one: its claim waits for the row that this one writes. The row is
// written and not just locked, because the nodes of a Galera cluster share no locks, and only refuse to commit the
// second transaction that changed a row. It counts the orders themselves, so that no counter has to be kept in step
// when an order is cancelled or refunded.
func claimLimited(tx transaction, v voucher.Voucher, userID int64) error {
	claim := clause.OnConflict{
		Columns:   []clause.Column{{Name: "voucher_id"}, {Name: "user_id"}},
		DoUpdates: clause.Assignments(map[string]any{"writes": gorm.Expr("writes + 1")}),
	}
	if err := tx.Clauses(claim).Create(&limitedBuyerRow{VoucherID: v.ID, UserID: userID, Writes: 1}).Error; err != nil {
		return fmt.Errorf("claiming one of %d orders of voucher %d: %w", v.PerUser, v.ID, err)
	}
	var found []order.Status
	// At READ COMMITTED this sees all orders that were committed before this transaction locked the row.
	if err := tx.Model(&orderRow{}).Where("user_id = ? AND voucher_id = ?", userID,
		v.ID).Pluck("status", &found).Error; err != nil {
		return fmt.Errorf("counting the orders of a user: %w", err)
	}
	live := int64(0)
	for _, status := range found {
		if status.Live() {
			live++
		}
	}
	if live >= v.PerUser {
		return &order.LimitError{PerUser: v.PerUser}
	}
	return nil
}
