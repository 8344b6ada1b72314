package sqlstore

import (
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

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

// errMovesUnits: units of a sale come and go with its row, which only the core changes.
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
