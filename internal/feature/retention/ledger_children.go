package retention

import (
	"fmt"
	"slices"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/migrations"
)

// children are the rows that belong to what is deleted, by what they name.
type children struct {
	orders   []int64
	payments []string
	subjects []order.Subject
}

// delete deletes them as migrations.Tables says.
func (c children) delete(tx *gorm.DB) error {
	numbers, err := among[int64](tx, "tb_webhook_event", "number", "subject IN ? AND number IS NOT NULL", c.subjects)
	if err != nil {
		return err
	}
	for _, table := range migrations.Tables() {
		switch rows := table.Purge; rows.By {
		case migrations.ByOrder:
			err = deleteBy(tx, table.Name, rows.Column, c.orders)
		case migrations.ByEndpoint:
			err = deleteRetries(tx, table.Name, rows.Column, c.subjects)
		case migrations.ByPayment:
			err = deleteBy(tx, table.Name, rows.Column, c.payments)
		case migrations.BySubject:
			err = deleteBy(tx, table.Name, rows.Column, c.subjects)
		case migrations.ByEvent:
			err = deleteBy(tx, table.Name, rows.Column, numbers)
		case migrations.BySale, migrations.ByUser, migrations.ByBuyer: // a part of its own; none
		}
		if err != nil {
			return err
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	// A reader of the stream of events that has not come so far is told that these are gone. The row is locked last, in
	// the same order as by the job that deletes old events.
	last := slices.Max(numbers)
	err = tx.Exec("UPDATE tb_event_stream SET gone = ? WHERE id = 1 AND gone < ?", last, last).Error
	if err != nil {
		return fmt.Errorf("noting which events are gone: %w", err)
	}
	return nil
}

// deleteRetries deletes the rows of subjects from a table whose key begins with an endpoint: of those that have any.
func deleteRetries(tx *gorm.DB, table, column string, subjects []order.Subject) error {
	var endpoints []int64
	if err := tx.Table(table).Distinct().Pluck("endpoint_id", &endpoints).Error; err != nil {
		return fmt.Errorf("reading endpoints of %s: %w", table, err)
	}
	for _, id := range endpoints {
		if err := deleteBy(tx, table, "endpoint_id = "+digits(id)+" AND "+column, subjects); err != nil {
			return err
		}
	}
	return nil
}

// among returns a column of the rows that a condition selects, each value once. The condition begins with a list of
// values: "order_id IN ?".
func among[T, K any](tx *gorm.DB, table, column, where string, values []K, more ...any) (all []T, err error) {
	for part := range sqlkit.Chunks(values) {
		var found []T
		err := tx.Table(table).Where(where, append([]any{part}, more...)...).Distinct().Pluck(column, &found).Error
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", table, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// deleteBy deletes the rows of a table whose column is one of the values; conditions may stand before the column.
func deleteBy[T any](tx *gorm.DB, table, column string, values []T) error {
	for part := range sqlkit.Chunks(values) {
		if err := tx.Exec("DELETE FROM "+table+" WHERE "+column+" IN ?", part).Error; err != nil {
			return fmt.Errorf("deleting from %s: %w", table, err)
		}
	}
	return nil
}
