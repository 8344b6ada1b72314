package sqlstore

import (
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/order/reason"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// KeptUnits is a sqlkit.KeptUnits.
func (s *Store) KeptUnits(tx *gorm.DB, voucherID int64) (sqlkit.KeptSale, error) {
	row, err := lockSale(tx, voucherID)
	if err != nil {
		return nil, err
	}
	return &keptSale{store: s, tx: tx, row: row}, nil
}

// keptSale is sqlkit.KeptSale.
type keptSale struct {
	store *Store
	tx    *gorm.DB
	row   saleRow
}

// Sale implements sqlkit.KeptSale.
func (k *keptSale) Sale() voucher.Sale { return *k.row.sale(voucherRow{}) }

// SetOpen implements sqlkit.KeptSale.
func (k *keptSale) SetOpen(open bool) error {
	if k.row.ListOpen == open {
		return nil
	}
	k.row.ListOpen = open
	if err := k.tx.Model(&k.row).Update("list_open", open).Error; err != nil {
		return fmt.Errorf("opening or closing the list of voucher %d: %w", k.row.VoucherID, err)
	}
	return nil
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
	if err := k.store.appendOperations(k.tx, &k.row, ops, at); err != nil {
		return nil, err
	}
	k.row.Accepted += undecided
	err := k.tx.Model(&k.row).Update("accepted", gorm.Expr("accepted + ?", undecided)).Error
	if err != nil {
		return nil, fmt.Errorf("counting %d acceptances of voucher %d: %w", undecided, k.row.VoucherID, err)
	}
	numbers := make([]int64, len(ops))
	for i := range ops {
		numbers[i] = ops[i].Number
	}
	return numbers, nil
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

// ofAcceptance converts the state of an operation to the outcome of an acceptance.
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
	return k.store.appendOperations(k.tx, &k.row,
		[]operationRow{{Kind: operation.Releasing, Delta: units, Kept: -units, Actor: order.ByWaitlist}}, at)
}

// Turned implements sqlkit.KeptSale.
func (k *keptSale) Turned(turns []order.Turn) error { return k.store.turned(k.tx, turns) }

// keep keeps the units that the operations are about to put on sale, if the sale's list is open. The sale is locked.
func (s *Store) keep(tx *gorm.DB, sale *saleRow, ops []operationRow, now time.Time) {
	if !sale.keeps(now) {
		return
	}
	kept := false
	for i := range ops {
		if ops[i].returns() {
			ops[i].Kept, ops[i].Delta, kept = ops[i].Delta, 0, true
		}
	}
	if kept {
		s.kept(tx, sale.VoucherID)
	}
}

// kept tells the hooks, after the commit, that units were kept, or acceptances completed.
func (s *Store) kept(tx *gorm.DB, voucherID int64) {
	for _, h := range s.hooks {
		if h.Kept != nil {
			sqlkit.AfterCommit(tx, func() { h.Kept(voucherID) })
		}
	}
}

// keeps reports whether units that come back at the time are kept for the waiting list.
func (r saleRow) keeps(now time.Time) bool {
	return r.ListOpen && !r.Retired && !now.Before(r.BeginTime) && now.Before(r.EndTime)
}

// returns reports whether the operation puts new units on sale, or units of an order.
func (r operationRow) returns() bool {
	return r.Delta > 0 && r.Kind != operation.Releasing
}

// spare returns how many kept units are promised to nobody. The sale is locked.
func (s *Store) spare(tx *gorm.DB, sale saleRow) (int64, error) {
	spare := sale.Kept - sale.Accepted
	for _, h := range s.hooks {
		if h.Promised == nil || spare <= 0 {
			continue
		}
		promised, err := h.Promised(tx, sale.VoucherID)
		if err != nil {
			return 0, sqlkit.HookError(h.Feature, err)
		}
		spare -= promised
	}
	return spare, nil
}

// accept writes the order of an acceptance if the operation made its user a holder in Redis (taken).
func (c *completion) accept(op operationRow, taken bool) (accepted bool, lacking, err error) {
	if op.UserID == nil || op.OrderID == nil {
		return false, nil, fmt.Errorf("operation %d accepts nothing for nobody", op.Number)
	}
	c.accepted++
	if !taken {
		return false, nil, nil
	}
	if c.sale.Kept-c.kept < 1 {
		return false, fmt.Errorf("%w: no unit is kept for operation %d", order.ErrConflict, op.Number), nil
	}
	lacking, err = c.buy(op)
	if err != nil || lacking != nil {
		return false, lacking, err
	}
	c.kept++
	return true, nil, nil
}

// buy writes the order of an acceptance, or returns why it cannot.
func (c *completion) buy(op operationRow) (lacking, err error) {
	terms, err := c.store.terms.of(c.tx, []int64{op.VoucherID})
	if err != nil {
		return nil, err
	}
	t, found := terms[op.VoucherID]
	if !found {
		return nil, voucher.ErrNotFound
	}
	bought, err := newOrderRow(order.Claim{
		OrderID: *op.OrderID, UserID: *op.UserID, VoucherID: op.VoucherID, Quantity: op.operation().Held().Quantity,
	}, t, c.now)
	if err != nil {
		return nil, fmt.Errorf("order %d: %w", *op.OrderID, err)
	}
	err = c.tx.Create(&bought).Error
	if sqlkit.IsDuplicate(err) { // the statement changed nothing, and the transaction goes on
		return fmt.Errorf("%w: operation %d: order %d is there, or user %d has another live order",
			order.ErrConflict, op.Number, bought.ID, bought.UserID), nil
	}
	if err != nil {
		return nil, fmt.Errorf("writing the order of an acceptance: %w", err)
	}
	done := cause{by: order.ByWaitlist, at: c.now, why: reason.InvitedToBuy}
	if err := writeHistory(c.tx, []orderRow{bought}, done); err != nil {
		return nil, err
	}
	recorded := order.Change{Recorded: true, By: done.by, Why: done.why, At: done.at}
	if err := c.store.changed(c.tx, []orderRow{bought}, recorded); err != nil {
		return nil, err
	}
	return nil, c.store.payForNothing(c.tx, []orderRow{bought}, done.at)
}

// takeKept lets an admin's removal of stock, when there was too little on sale, take kept units that are promised to
// nobody.
func (c *completion) takeKept(op *operationRow) (taken bool, err error) {
	sale := c.sale
	sale.Kept, sale.Accepted = sale.Kept-c.kept, sale.Accepted-c.accepted
	spare, err := c.store.spare(c.tx, sale)
	if err != nil || spare < -op.Delta {
		return false, err
	}
	op.Kept, op.Delta = op.Delta, 0
	c.kept, c.issued = c.kept-op.Kept, c.issued-op.Kept
	err = c.tx.Model(op).Updates(map[string]any{"delta": op.Delta, "kept": op.Kept}).Error
	if err != nil {
		return false, fmt.Errorf("taking %d kept units of voucher %d: %w", -op.Kept, op.VoucherID, err)
	}
	return true, nil
}

// forgetAccepted marks the orders of void acceptances as dead in a rebuild's snapshot. Otherwise the rebuild would take
// their users, who may be holders in Redis, for buyers whose order is lost. Their order is written once a new operation
// has asked Redis again.
func forgetAccepted(tx *gorm.DB, voucherID int64, snap *order.Snapshot) error {
	var undecided []int64
	err := tx.Model(&operationRow{}).Where("voucher_id = ? AND state = ? AND kind = ?", voucherID, operationVoid,
		operation.Acceptance).Distinct().Pluck("order_id", &undecided).Error
	if err != nil {
		return fmt.Errorf("reading undecided acceptances: %w", err)
	}
	if len(undecided) == 0 {
		return nil
	}
	live := make(map[int64]bool, len(snap.Live))
	for _, held := range snap.Live {
		live[held.OrderID] = true
	}
	for _, id := range undecided {
		if !live[id] {
			snap.Dead[id] = true
		}
	}
	return nil
}
