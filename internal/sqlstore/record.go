package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
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
