package sqlstore

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
)

// maxWhy is how many characters of a reason are kept: the width of tb_order_event.why.
const maxWhy = 255

type eventRow struct {
	ID         int64        `gorm:"column:id;primaryKey"`
	OrderID    int64        `gorm:"column:order_id"`
	Status     order.Status `gorm:"column:status"`
	Actor      order.Actor  `gorm:"column:actor"`
	Why        string       `gorm:"column:why"`
	CreateTime time.Time    `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (eventRow) TableName() string { return "tb_order_event" }

// record writes one line of history for each order, with the state in which it is now.
func record(tx *gorm.DB, rows []orderRow, c cause) error {
	events := make([]eventRow, len(rows))
	for i := range rows {
		events[i] = eventRow{OrderID: rows[i].ID, Status: rows[i].Status, Actor: c.by, Why: truncate(c.why, maxWhy), CreateTime: c.at}
	}
	if err := createAll(tx, events); err != nil {
		return fmt.Errorf("writing the history of %d orders: %w", len(rows), err)
	}
	return nil
}

// History implements order.Books. An order without a row has none.
func (s *Store) History(ctx context.Context, orderID int64) ([]order.Event, error) {
	var rows []eventRow
	// Lines of one order are written under its lock, so that their ids have the order of what happened.
	if err := s.read(ctx).Where("order_id = ?", orderID).Order("id").Find(&rows).Error; err != nil {
		return nil, readError(fmt.Sprintf("reading the history of order %d", orderID), err)
	}
	events := make([]order.Event, len(rows))
	for i, row := range rows {
		events[i] = order.Event{Status: row.Status, At: row.CreateTime, By: row.Actor, Why: row.Why}
	}
	return events, nil
}
