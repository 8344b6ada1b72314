package sqlstore

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/payments"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// Features is for features that change orders, or take kept units, in transactions of their own. It implements
// sqlkit.Orders.
type Features struct{ *ledger }

// KeptUnits is a sqlkit.KeptUnits.
func (s Features) KeptUnits(in *gorm.DB, voucherID int64) (sqlkit.KeptSale, error) {
	tx := transaction{in, s.ledger}
	row, err := lockSale(tx, voucherID)
	if err != nil {
		return nil, err
	}
	return &keptSale{tx: tx, row: row}, nil
}

// keptSale is sqlkit.KeptSale.
type keptSale struct {
	tx  transaction
	row saleRow
}

// Sale implements sqlkit.KeptSale.
func (k *keptSale) Sale() voucher.Sale { return *k.row.sale(voucherRow{}) }

// SetOpen implements sqlkit.KeptSale.
func (k *keptSale) SetOpen(open bool) error {
	if k.row.ListOpen == open {
		return nil
	}
	k.row.ListOpen = open
	err := k.tx.Model(&k.row).Update("list_open", open).Error
	return sqlkit.Wrapf(err, "opening or closing the list of voucher %d", k.row.VoucherID)
}

// Ask implements sqlkit.KeptSale.
func (k *keptSale) Ask(acceptances []sqlkit.Acceptance, at time.Time) ([]int64, error) {
	if len(acceptances) == 0 {
		return nil, nil
	}
	ops := make([]operationRow, len(acceptances))
	undecided := int64(0)
	for i := range acceptances {
		a := &acceptances[i]
		ops[i] = operationRow{
			Kind: operation.Acceptance, Kept: -1, OrderID: &a.OrderID, UserID: &a.UserID, Actor: order.Owner,
		}
		if !a.Again {
			undecided++
		}
	}
	if err := k.tx.appendOperations(&k.row, ops, at); err != nil {
		return nil, err
	}
	k.row.Accepted += undecided
	err := k.tx.Model(&k.row).Update("accepted", gorm.Expr("accepted + ?", undecided)).Error
	return sqlkit.Map(ops, func(op *operationRow) int64 { return op.Number }),
		sqlkit.Wrapf(err, "counting %d acceptances of voucher %d", undecided, k.row.VoucherID)
}

// Outcomes implements sqlkit.KeptSale.
func (k *keptSale) Outcomes(numbers []int64) (map[int64]sqlkit.Outcome, error) {
	outcomes := make(map[int64]sqlkit.Outcome, len(numbers))
	for part := range sqlkit.Chunks(numbers) {
		var rows []operationRow
		err := k.tx.Select("number", "state").Where("voucher_id = ? AND number IN ?", k.row.VoucherID, part).
			Find(&rows).Error
		if err != nil {
			return nil, fmt.Errorf("reading what became of %d acceptances: %w", len(numbers), err)
		}
		for _, row := range rows {
			outcomes[row.Number] = row.State.ofAcceptance()
		}
	}
	return outcomes, nil
}

func (s operationState) ofAcceptance() sqlkit.Outcome {
	switch s {
	case operationPending:
		return sqlkit.Undecided
	case operationApplied:
		return sqlkit.Taken
	case operationVoid:
		return sqlkit.Voided
	default:
		return sqlkit.Refused
	}
}

// Release implements sqlkit.KeptSale.
func (k *keptSale) Release(units int64, at time.Time) error {
	if units <= 0 {
		return nil
	}
	return k.tx.appendOperations(&k.row,
		[]operationRow{{Kind: operation.Releasing, Delta: units, Kept: -units, Actor: order.ByWaitlist}}, at)
}

// Turned implements sqlkit.KeptSale.
func (k *keptSale) Turned(turns []order.Turn) error {
	if len(turns) == 0 {
		return nil
	}
	return k.tx.each(func(h sqlkit.Hook) error { return tell(k.tx, h.Turned, turns) })
}

// Lock implements sqlkit.Orders.
func (s Features) Lock(tx *gorm.DB, ids []int64) (map[int64]order.Order, error) {
	rows, err := lockOrders(transaction{tx, s.ledger}, ids)
	if err != nil {
		return nil, err
	}
	orders := make(map[int64]order.Order, len(rows))
	for id, row := range rows {
		orders[id] = row.order()
	}
	return orders, nil
}

// Advance implements sqlkit.Orders.
func (s Features) Advance(
	in *gorm.DB, action order.Action, at time.Time, steps []order.Step,
) ([]order.Order, error) {
	if len(steps) == 0 {
		return nil, nil
	}
	if action.GivesUnit() || action == order.Revive {
		return nil, fmt.Errorf("only the core moves units: %s", action)
	}
	rows := make([]orderRow, len(steps))
	lines := make([]order.Line, len(steps))
	for i, step := range steps {
		if err := action.Check(step.Order.ID, step.Order.Status); err != nil {
			return nil, err
		}
		rows[i] = rowOf(step.Order)
		lines[i] = order.Line{
			OrderID: step.Order.ID, Event: order.Event{Status: action.To(), At: at, By: step.By, Why: step.Why},
		}
	}
	tx := transaction{in, s.ledger}
	if err := move(tx, rows, action, at); err != nil {
		return nil, err
	}
	if err := note(in, lines); err != nil {
		return nil, err
	}
	return sqlkit.Map(rows, (*orderRow).order), tx.changedEach(rows, func(i int) order.Change {
		return order.Change{Action: action, By: steps[i].By, Why: steps[i].Why, At: at}
	})
}

// Note implements sqlkit.Orders.
func (Features) Note(tx *gorm.DB, lines []order.Line) error { return note(tx, lines) }

// Accounts implements sqlkit.Orders.
func (Features) Accounts(tx *gorm.DB, orders []int64) (map[int64][]payment.Account, error) {
	return payments.Accounts(tx, orders)
}

// Voucher implements sqlkit.Orders.
func (Features) Voucher(tx *gorm.DB, id int64) (voucher.Voucher, error) { return findVoucher(tx, id) }

// Terms implements sqlkit.Orders.
func (s Features) Terms(db *gorm.DB, vouchers []int64) (map[int64]order.Terms, error) {
	return s.terms.of(db, vouchers)
}

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
