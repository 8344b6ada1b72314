package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"gorm.io/gorm"

	"seckill/internal/order"
)

// RequestMove implements outbox.MoveLedger. What is asked of a retired share is nothing: it has left Redis.
func (s *Store) RequestMove(ctx context.Context, from order.SaleID, to int, units int64) error {
	err := s.writeRetry(ctx, func(tx *gorm.DB) error {
		giving, err := lockSale(tx, from)
		if err != nil {
			return err
		}
		if units < 1 || to < 0 || to >= giving.Shares || to == from.Share {
			return fmt.Errorf("%d units cannot be moved from share %d to share %d of %d: at least 1, to another share that there is",
				units, from.Share, to, giving.Shares)
		}
		moving, err := hasPendingMove(tx, from, to)
		if err != nil || moving || giving.Retired {
			return err
		}
		now, err := s.ledgerTime(tx)
		if err != nil {
			return err
		}
		return s.appendOperations(tx, &giving, []operationRow{{Kind: order.Move, Delta: -units, Peer: &to, Actor: order.ByService}}, now)
	})
	if err != nil {
		return readError(fmt.Sprintf("asking voucher %s for %d units", from, units), err)
	}
	return nil
}

// hasPendingMove reports whether a move between the two shares is pending, in either direction, on either side.
func hasPendingMove(tx *gorm.DB, from order.SaleID, to int) (bool, error) {
	var numbers []int64
	shares := []int{from.Share, to}
	err := tx.Model(&operationRow{}).
		Where("state = ? AND voucher_id = ? AND share IN ? AND kind = ? AND peer IN ?", operationPending, from.VoucherID, shares, order.Move, shares).
		Limit(1).Pluck("number", &numbers).Error
	if err != nil {
		return false, fmt.Errorf("looking for pending moves of voucher %s: %w", from, err)
	}
	return len(numbers) > 0, nil
}

// lock locks the sale and the shares to which operations of it move units, in the order in which all transactions do.
func (c *completion) lock(id order.SaleID, ops []operationRow) error {
	ids := []order.SaleID{id}
	for _, op := range ops {
		if op.movesAway() && op.Peer != nil {
			ids = append(ids, order.SaleID{VoucherID: id.VoucherID, Share: *op.Peer})
		}
	}
	var err error
	if len(ids) == 1 {
		c.sale, err = lockSale(c.tx, id)
		return err
	}
	sales, err := lockSales(c.tx, ids)
	if err != nil {
		return err
	}
	sale, found := sales[id]
	if !found {
		return noSale(c.tx, id.VoucherID)
	}
	delete(sales, id)
	c.sale, c.peers = sale, sales
	return nil
}

// movesAway reports whether the operation takes units for another share.
func (r operationRow) movesAway() bool { return r.Kind == order.Move && r.Delta < 0 }

// move notes that what a move has taken is to be given to the other share. A row without one was not written by RequestMove: the
// units stay here, and the rebuild that the conflict brings about puts them on sale again.
func (c *completion) move(op operationRow) (lacking error) {
	var to order.SaleID
	if op.Peer != nil {
		to = order.SaleID{VoucherID: op.VoucherID, Share: *op.Peer}
	}
	if _, found := c.peers[to]; !found {
		return fmt.Errorf("%w: operation %d moves %d units to a share that is not there", order.ErrConflict, op.Number, -op.Delta)
	}
	from := op.Share
	if c.moves == nil {
		c.moves = make(map[order.SaleID][]operationRow)
	}
	c.moves[to] = append(c.moves[to], operationRow{Kind: order.Move, Delta: -op.Delta, Peer: &from, Actor: op.Actor})
	c.moved -= op.Delta
	return nil
}

// giveMoved writes what gives, to the shares to which units were moved.
func (c *completion) giveMoved() error {
	for _, to := range slices.SortedFunc(maps.Keys(c.moves), order.SaleID.Compare) {
		sale := c.peers[to]
		if err := c.store.appendOperations(c.tx, &sale, c.moves[to], c.now); err != nil {
			return err
		}
	}
	return nil
}
