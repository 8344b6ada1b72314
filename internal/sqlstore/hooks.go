package sqlstore

import (
	"cmp"
	"slices"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// each runs a function of every feature's hook, in their order, until one returns an error.
func (tx transaction) each(run func(h sqlkit.Hook) error) error {
	for _, h := range tx.hooks {
		if err := sqlkit.HookError(h.Feature, run(h)); err != nil {
			return err
		}
	}
	return nil
}

// tell calls a function of a hook, unless the feature has none.
func tell[A any](tx transaction, hook func(tx *gorm.DB, a A) error, a A) error {
	if hook == nil {
		return nil
	}
	return hook(tx.DB, a)
}

// changed runs the hooks for orders that this transaction has just written, all with the same change. It leaves out an
// order that the transaction has still to pay for.
func (tx transaction) changed(rows []orderRow, as order.Change) error {
	return tx.changedEach(rows, func(int) order.Change { return as })
}

// changedEach is changed for rows with different changes: as returns the change of the row with the index. If no hook
// wants the changes, it costs one call for each hook, voucher and state.
func (tx transaction) changedEach(rows []orderRow, as func(i int) order.Change) error {
	if len(rows) == 0 || !slices.ContainsFunc(tx.hooks, func(h sqlkit.Hook) bool { return h.Changed != nil }) {
		return nil
	}
	terms, err := tx.terms.of(tx.DB, sqlkit.Distinct(rows, func(r orderRow) int64 { return r.VoucherID }))
	if err != nil {
		return err
	}
	return tx.each(func(h sqlkit.Hook) error {
		changes := changesFor(h, rows, terms, as)
		if len(changes) == 0 {
			return nil
		}
		return h.Changed(tx.DB, changes)
	})
}

// changesFor returns the changes that the hook wants, sorted by order id.
func changesFor(
	h sqlkit.Hook, rows []orderRow, terms map[int64]order.Terms, as func(i int) order.Change,
) []order.Change {
	if h.Changed == nil {
		return nil
	}
	type question struct {
		voucherID int64
		to        order.Status
	}
	asked := make(map[question]bool)
	var changes []order.Change
	for i := range rows {
		row := &rows[i]
		if row.paidAtOnce() {
			continue
		}
		q := question{row.VoucherID, row.Status}
		wants, known := asked[q]
		if !known {
			wants = wantsChange(h, terms[row.VoucherID], row.Status)
			asked[q] = wants
		}
		if wants {
			c := as(i)
			c.Order, c.Terms = row.order(), terms[row.VoucherID]
			changes = append(changes, c)
		}
	}
	slices.SortFunc(changes, func(a, b order.Change) int { return cmp.Compare(a.Order.ID, b.Order.ID) })
	return changes
}

func wantsChange(h sqlkit.Hook, t order.Terms, to order.Status) bool {
	return h.Changed != nil && (h.Wants == nil || h.Wants(t, to))
}

// may asks the hooks whether the owner of a locked order, or staff, may take the action now.
func (tx transaction) may(row orderRow, action order.Action, c cause) error {
	if action != order.Cancel && action != order.RequestRefund ||
		!slices.ContainsFunc(tx.hooks, func(h sqlkit.Hook) bool { return h.May != nil }) {
		return nil
	}
	terms, err := tx.terms.of(tx.DB, []int64{row.VoucherID})
	if err != nil {
		return err
	}
	asked := order.Change{
		Order: row.order(), Terms: terms[row.VoucherID], Action: action, By: c.by, At: c.at,
	}
	for _, h := range tx.hooks {
		if h.May == nil {
			continue
		}
		if err := h.May(tx.DB, asked); err != nil {
			return err
		}
	}
	return nil
}
