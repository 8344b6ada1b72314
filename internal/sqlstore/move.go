package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"seckill/internal/order"
)

// errTakes: an order of a sale cannot be revived by itself, as Redis has to give the unit first (rule 1,
// docs/architecture.md).
var errTakes = errors.New("only a settled operation takes a unit")

// Move implements order.Books.
func (s *Store) Move(
	ctx context.Context, orderID, owner int64, action order.Action, by order.Actor, why string,
) (order.Order, error) {
	var rows []orderRow
	err := s.writeAgain(ctx, func(tx *gorm.DB) error {
		row, err := lockOrder(tx, orderID, owner)
		if err != nil {
			return err
		}
		if err := action.Check(row.ID, row.Status); err != nil {
			return err
		}
		if action == order.Revive && row.Kind == liveKind {
			return errTakes
		}
		now, err := s.moment(tx)
		if err != nil {
			return err
		}
		rows = []orderRow{row}
		return advance(tx, rows, action, cause{by: by, at: now, why: why})
	})
	if err != nil {
		return order.Order{}, readError(fmt.Sprintf("%s order %d", action, orderID), err)
	}
	return rows[0].order(), nil
}
