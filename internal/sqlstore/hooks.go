package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// Use makes the ledger's transactions run features' hooks, after the hooks of earlier calls. Call it before anything is
// written.
func (s *Store) Use(hooks ...sqlkit.Hook) {
	for _, h := range hooks {
		if h.Prepare != nil {
			s.db.Before(func(ctx context.Context, db *gorm.DB) error {
				return sqlkit.HookError(h.Feature, h.Prepare(ctx, db))
			})
		}
	}
	s.hooks = append(s.hooks, hooks...)
}

// changed runs the hooks for orders that this transaction has just written, all with the same change. It leaves out an
// order that the transaction has still to pay for.
func (s *Store) changed(tx *gorm.DB, rows []orderRow, as order.Change) error {
	return s.changedEach(tx, rows, func(int) order.Change { return as })
}

// changedEach is changed for rows with different changes: as returns the change of the row with the index. If no hook
// wants the changes, it costs one call for each hook, voucher and state.
func (s *Store) changedEach(tx *gorm.DB, rows []orderRow, as func(i int) order.Change) error {
	if len(rows) == 0 || !slices.ContainsFunc(s.hooks, func(h sqlkit.Hook) bool { return h.Changed != nil }) {
		return nil
	}
	terms, err := s.terms.of(tx, sqlkit.Distinct(rows, func(r orderRow) int64 { return r.VoucherID }))
	if err != nil {
		return err
	}
	for _, h := range s.hooks {
		changes := changesFor(h, rows, terms, as)
		if len(changes) == 0 {
			continue
		}
		if err := sqlkit.HookError(h.Feature, h.Changed(tx, changes)); err != nil {
			return err
		}
	}
	return nil
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

// recorded runs the hooks for claims that a batch has just inserted, and marks free orders as paid. It reads the new
// rows back, because the database set their times, but only those of vouchers that a hook wants or that are free.
func (s *Store) recorded(tx *gorm.DB, claims []order.Claim, terms map[int64]order.Terms) error {
	concerned := make(map[int64]bool) // vouchers
	for id, t := range terms {
		if t.Cents == 0 ||
			slices.ContainsFunc(s.hooks, func(h sqlkit.Hook) bool { return wantsChange(h, t, order.Unpaid) }) {
			concerned[id] = true
		}
	}
	if len(concerned) == 0 {
		return nil
	}
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
		at := rows[0].CreateTime
		if err := s.changed(tx, rows, order.Change{Recorded: true, By: order.ByRecorder, At: at}); err != nil {
			return err
		}
		if err := s.payForNothing(tx, rows, at); err != nil {
			return err
		}
	}
	return nil
}

// may asks the hooks whether the owner of a locked order, or staff, may take the action now.
func (s *Store) may(tx *gorm.DB, row orderRow, action order.Action, c cause) error {
	if action != order.Cancel && action != order.RequestRefund ||
		!slices.ContainsFunc(s.hooks, func(h sqlkit.Hook) bool { return h.May != nil }) {
		return nil
	}
	terms, err := s.terms.of(tx, []int64{row.VoucherID})
	if err != nil {
		return err
	}
	asked := order.Change{
		Order: row.order(), Terms: terms[row.VoucherID], Action: action, By: c.by, At: c.at,
	}
	for _, h := range s.hooks {
		if h.May == nil {
			continue
		}
		if err := h.May(tx, asked); err != nil {
			return err
		}
	}
	return nil
}

// turned runs the hooks for places on one sale's waiting list whose turns the transaction has begun or ended.
func (s *Store) turned(tx *gorm.DB, turns []order.Turn) error {
	if len(turns) == 0 {
		return nil
	}
	for _, h := range s.hooks {
		if h.Turned == nil {
			continue
		}
		if err := sqlkit.HookError(h.Feature, h.Turned(tx, turns)); err != nil {
			return err
		}
	}
	return nil
}

// removed runs the hooks for orders that this transaction removes.
func (s *Store) removed(tx *gorm.DB, orders []int64) error {
	for _, h := range s.hooks {
		if h.Removed == nil {
			continue
		}
		if err := sqlkit.HookError(h.Feature, h.Removed(tx, orders)); err != nil {
			return err
		}
	}
	return nil
}

// calledOff runs the hooks for a sale that this transaction has called off.
func (s *Store) calledOff(tx *gorm.DB, v voucher.Voucher) error {
	for _, h := range s.hooks {
		if h.CalledOff == nil {
			continue
		}
		if err := sqlkit.HookError(h.Feature, h.CalledOff(tx, v)); err != nil {
			return err
		}
	}
	return nil
}

// created runs the hooks for a voucher that this transaction has created.
func (s *Store) created(tx *gorm.DB, v voucher.Voucher, by voucher.Author) error {
	for _, h := range s.hooks {
		if h.Created == nil {
			continue
		}
		if err := sqlkit.HookError(h.Feature, h.Created(tx, v, by)); err != nil {
			return err
		}
	}
	return nil
}

// hookedOrders is sqlkit.Orders.
type hookedOrders struct{ store *Store }

// Orders returns the orders to features that bring them to another state in transactions of their own.
func (s *Store) Orders() sqlkit.Orders { return hookedOrders{s} }

// Lock implements sqlkit.Orders.
func (hookedOrders) Lock(tx *gorm.DB, ids []int64) (map[int64]order.Order, error) {
	rows, err := lockOrders(tx, ids)
	if err != nil {
		return nil, err
	}
	orders := make(map[int64]order.Order, len(rows))
	for id, row := range rows {
		orders[id] = row.order()
	}
	return orders, nil
}

// errMovesUnits: a feature asked for an action that moves units, but only the core changes a sale's row.
var errMovesUnits = errors.New("only the core moves units")

// Advance implements sqlkit.Orders.
func (o hookedOrders) Advance(
	tx *gorm.DB, action order.Action, at time.Time, steps []order.Step,
) ([]order.Order, error) {
	if len(steps) == 0 {
		return nil, nil
	}
	if action.GivesUnit() || action == order.Revive {
		return nil, fmt.Errorf("%w: %s", errMovesUnits, action)
	}
	rows := make([]orderRow, len(steps))
	lines := make([]order.Line, len(steps))
	for i, s := range steps {
		if err := action.Check(s.Order.ID, s.Order.Status); err != nil {
			return nil, err
		}
		rows[i] = rowOf(s.Order)
		lines[i] = order.Line{
			OrderID: s.Order.ID, Event: order.Event{Status: action.To(), At: at, By: s.By, Why: s.Why},
		}
	}
	if err := move(tx, rows, action, at); err != nil {
		return nil, err
	}
	if err := o.Note(tx, lines); err != nil {
		return nil, err
	}
	orders := make([]order.Order, len(rows))
	for i := range rows {
		orders[i] = rows[i].order()
	}
	return orders, o.store.changedEach(tx, rows, func(i int) order.Change {
		return order.Change{Action: action, By: steps[i].By, Why: steps[i].Why, At: at}
	})
}

// Note implements sqlkit.Orders.
func (hookedOrders) Note(tx *gorm.DB, lines []order.Line) error {
	events := make([]eventRow, len(lines))
	for i, l := range lines {
		events[i] = eventRow{
			OrderID: l.OrderID, Status: l.Event.Status, Actor: l.Event.By, Why: l.Event.Why, CreateTime: l.Event.At,
		}
	}
	if err := sqlkit.CreateAll(tx, events); err != nil {
		return fmt.Errorf("writing %d lines of history: %w", len(lines), err)
	}
	return nil
}

// Terms implements sqlkit.Orders.
func (o hookedOrders) Terms(db *gorm.DB, vouchers []int64) (map[int64]order.Terms, error) {
	return o.store.terms.of(db, vouchers)
}
