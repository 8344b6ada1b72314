package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// maxDetail is how many characters of a failure's detail are kept: the width of tb_voucher_order.detail.
const maxDetail = 512

// Settle implements recorder.Ledger. It locks the sales' rows first, so that the view that decide gets stays true until
// the commit: other transactions that take a unit or begin a rebuild wait. Without claims it only tries a transaction.
// A batch that is being inserted at the same time has locked its orders' rows and waits for the sale's. If Settle wants
// the same orders, the database ends the deadlock.
func (s Records) Settle(
	ctx context.Context, claims []order.Claim, decide func(order.LedgerView) []order.Decision,
) error {
	if len(claims) == 0 {
		return sqlkit.WriteError("trying a transaction", s.db.TryWrite(ctx))
	}
	err := s.once(ctx, func(tx transaction) error {
		sales, err := lockSales(tx, sqlkit.Distinct(claims, func(c order.Claim) int64 { return c.VoucherID }))
		if err != nil {
			return err
		}
		view, err := viewOf(tx, claims, sales)
		if err != nil {
			return err
		}
		return tx.apply(decide(view), sales)
	})
	return sqlkit.WriteError(fmt.Sprintf("settling %d orders", len(claims)), err)
}

// viewOf reads what the ledger holds of the claims.
func viewOf(tx transaction, claims []order.Claim, sales map[int64]saleRow) (order.LedgerView, error) {
	view := order.LedgerView{
		Sales:   make(map[int64]order.LedgerSale, len(sales)),
		Rows:    make(map[int64]order.Order),
		Live:    make(map[order.BuyerKey]order.Held),
		Pending: make(map[int64]bool),
	}
	for id, sale := range sales {
		view.Sales[id] = order.LedgerSale{
			Stock: sale.Stock, Epoch: sale.Epoch, FirstEpoch: sale.FirstEpoch, Operation: sale.LastOperation,
		}
	}
	// Look under the claims' own ids; a claim that finds another order there is looked up under its next id.
	for try, left := 0, claims; len(left) > 0; try++ {
		for part := range sqlkit.Chunks(sqlkit.Distinct(left, func(c order.Claim) int64 { return c.RowID(try) })) {
			var rows []orderRow
			if err := tx.Where("id IN ?", part).Find(&rows).Error; err != nil {
				return view, fmt.Errorf("reading orders by id: %w", err)
			}
			for _, row := range rows {
				view.Rows[row.ID] = row.order()
			}
			if err := readPending(tx, rows, view.Pending); err != nil {
				return view, err
			}
		}
		left = slices.DeleteFunc(slices.Clone(left), func(c order.Claim) bool {
			row, taken := view.Rows[c.RowID(try)]
			return !taken || c.HasRow(row)
		})
	}
	return view, readLive(tx, claims, view.Live)
}

// readPending finds the cancelled and refunded orders with a pending operation.
func readPending(tx transaction, rows []orderRow, pending map[int64]bool) error {
	freed := make(map[int64][]int64) // by voucher id
	for _, row := range rows {
		if row.Status == order.Cancelled || row.Status == order.Refunded {
			freed[row.VoucherID] = append(freed[row.VoucherID], row.ID)
		}
	}
	for voucherID, ids := range freed {
		var found []int64
		err := tx.Model(&operationRow{}).Where("voucher_id = ? AND state = ? AND order_id IN ?",
			voucherID, operationPending, ids).
			Pluck("order_id", &found).Error
		if err != nil {
			return fmt.Errorf("reading the pending operations of orders of voucher %d: %w", voucherID, err)
		}
		for _, id := range found {
			pending[id] = true
		}
	}
	return nil
}

// readLive finds the buyers' live orders, voucher by voucher: MariaDB does not use an index for a list of pairs.
func readLive(tx transaction, claims []order.Claim, live map[order.BuyerKey]order.Held) error {
	users := make(map[int64][]int64)
	for _, key := range sqlkit.Distinct(claims, order.Claim.Buyer) {
		users[key.VoucherID] = append(users[key.VoucherID], key.UserID)
	}
	for voucherID, userIDs := range users {
		for part := range sqlkit.Chunks(userIDs) {
			var rows []orderRow
			err := tx.Select("id", "user_id", "quantity").
				Where("voucher_id = ? AND live = 1 AND user_id IN ?", voucherID, part).Find(&rows).Error
			if err != nil {
				return fmt.Errorf("reading the live orders of voucher %d: %w", voucherID, err)
			}
			for _, row := range rows {
				live[order.BuyerKey{VoucherID: voucherID, UserID: row.UserID}] = order.Held{
					OrderID: row.ID, Quantity: row.units(),
				}
			}
		}
	}
	return nil
}

// apply writes the decisions: orders sorted by id, and last the stock of each sale.
func (tx transaction) apply(decisions []order.Decision, sales map[int64]saleRow) error {
	ids := sqlkit.Distinct(decisions, func(d order.Decision) int64 { return d.Claim.VoucherID })
	terms, err := tx.terms.of(tx.DB, ids)
	if err != nil {
		return err
	}
	now, err := tx.now()
	if err != nil {
		return err
	}
	var rows []orderRow
	for _, d := range decisions {
		switch d.Verb {
		case order.Keep:
		case order.Insert:
			row, err := newOrderRow(d.Claim, terms[d.Claim.VoucherID], now)
			if err != nil {
				return fmt.Errorf("order %d: %w", d.Claim.OrderID, err)
			}
			rows = append(rows, row)
		case order.Fail:
			rows = append(rows, failedRow(d, terms[d.Claim.VoucherID], now))
		default:
			return fmt.Errorf("order %d: no such verb %d", d.Claim.OrderID, d.Verb)
		}
	}
	slices.SortFunc(rows, func(a, b orderRow) int { return cmp.Compare(a.ID, b.ID) })
	if err := sqlkit.CreateAll(tx.DB, rows); err != nil {
		return fmt.Errorf("inserting %d decided orders: %w", len(rows), err)
	}
	if err := tx.recorded(rows, cause{by: order.ByRecorder, at: now}); err != nil {
		return err
	}
	for _, t := range takesOfDecisions(decisions, sales) {
		if err := t.fromLocked(tx, sales[t.sale]); err != nil {
			return err
		}
	}
	return nil
}

// failedRow returns a row that can be inserted for any claim: no value is too long, and it refers to nothing
// that must exist.
func failedRow(d order.Decision, terms order.Terms, now time.Time) orderRow {
	row, _ := newOrderRow(d.Claim, terms, now) // an amount that overflows is 0: nothing is owed
	row.ID, row.Status, row.FailTime, row.PayDeadline = d.RowID, order.Failed, &now, nil
	row.Reason, row.Detail = d.Reason, sqlkit.Truncate(d.Detail, maxDetail)
	return row
}

// takesOfDecisions adds up what the decisions take from each locked sale, sorted by sale. The sequence rises with
// every claim of the sale's epoch that has an outcome, also a failed one: Redis has admitted it.
func takesOfDecisions(decisions []order.Decision, sales map[int64]saleRow) []take {
	bySale := make(map[int64]take)
	for _, d := range decisions {
		t := bySale[d.Claim.VoucherID]
		t.sale = d.Claim.VoucherID
		if d.Verb == order.Insert {
			t.units += d.Claim.Quantity.Units()
		}
		if sale, ok := sales[t.sale]; ok && sale.Epoch == d.Claim.Epoch {
			t.sequence = max(t.sequence, d.Claim.Sequence)
		}
		bySale[t.sale] = t
	}
	return slices.SortedFunc(maps.Values(bySale), func(a, b take) int { return cmp.Compare(a.sale, b.sale) })
}

// fromLocked lowers the stock of a sale whose row this transaction has locked. It does not check the epoch, which the
// decision has taken into account. It returns order.ErrConflict when the decision took more than there is.
func (t take) fromLocked(tx transaction, sale saleRow) error {
	if t.units == 0 && t.sequence <= sale.Sequence {
		return nil
	}
	t.epoch, t.sequence = sale.Epoch, max(t.sequence, sale.Sequence)
	return t.fromEpoch(tx)
}
