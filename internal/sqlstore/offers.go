package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/waitlist"
	"seckill/internal/voucher"
)

const (
	// maxOffers is how many units of one transaction are offered at most; what is beyond goes on sale. It is more than one
	// transaction of the expirer gives back.
	maxOffers = 5000
	// dueOffers is how many offers whose deadline has passed one transaction sees to.
	dueOffers = 500
	// overPlaces is how many places of an ended sale one transaction ends.
	overPlaces = 5000
	// offeredLists is how many waiting lists one call sees to.
	offeredLists = 100
)

// keepForWaiting keeps units that the operations are about to put on sale for those who wait longest, as far as there are
// any: an order's units first, each as one offer. The sale's row is locked.
func keepForWaiting(tx *gorm.DB, sale *saleRow, ops []operationRow, now time.Time) error {
	if !sale.offers(now) {
		return nil
	}
	var units int64
	for i := range ops {
		if ops[i].returns() {
			units += ops[i].Delta
		}
	}
	kept, err := offer(tx, sale, make([]int64, min(units, maxOffers)), now)
	if err != nil {
		return err
	}
	for i := range ops {
		if ops[i].returns() {
			ops[i].Offered = min(ops[i].Delta, kept)
			ops[i].Delta -= ops[i].Offered
			kept -= ops[i].Offered
		}
	}
	return nil
}

// offers reports whether units that come back at the time are offered.
func (r saleRow) offers(now time.Time) bool {
	return r.OfferWithin > 0 && !r.Retired && !now.Before(r.BeginTime) && now.Before(r.EndTime)
}

// returns reports whether the operation puts units on sale that have not been offered yet.
func (r operationRow) returns() bool { return r.Delta > 0 && r.Kind != order.Unoffering }

// offer offers units to the heads of a locked sale's waiting list and returns how many it could; attempts is how often each
// unit was offered before.
func offer(tx *gorm.DB, sale *saleRow, attempts []int64, now time.Time) (int64, error) {
	heads, err := lockHeads(tx, sale.VoucherID, len(attempts), now)
	if err != nil {
		return 0, err
	}
	deadline := now.Add(time.Duration(sale.OfferWithin) * time.Second)
	if deadline.After(sale.EndTime) {
		deadline = sale.EndTime
	}
	byAttempt := make(map[int64][]int64) // positions
	for i, head := range heads {
		byAttempt[attempts[i]+1] = append(byAttempt[attempts[i]+1], head.Position)
	}
	for attempt, positions := range byAttempt {
		for part := range chunks(positions) {
			err := tx.Model(&placeRow{}).Where("voucher_id = ? AND position IN ?", sale.VoucherID, part).
				Updates(map[string]any{"state": waitlist.Offered, "offer_time": now, "deadline": deadline, "attempt": attempt}).Error
			if err != nil {
				return 0, fmt.Errorf("offering %d units of voucher %d: %w", len(positions), sale.VoucherID, err)
			}
		}
	}
	return int64(len(heads)), nil
}

// lockHeads locks and returns up to n places that have waited longest. Those whose users have bought meanwhile are refused.
func lockHeads(tx *gorm.DB, voucherID int64, n int, now time.Time) ([]placeRow, error) {
	var heads []placeRow
	for after := int64(0); len(heads) < n; {
		var rows []placeRow
		err := locking(tx).Where("voucher_id = ? AND state = ? AND position > ?", voucherID, waitlist.Waiting, after).
			Order("position").Limit(min(n-len(heads), batchRows)).Find(&rows).Error
		if err != nil {
			return nil, fmt.Errorf("locking the head of the waiting list: %w", err)
		}
		if len(rows) == 0 {
			break
		}
		after = rows[len(rows)-1].Position
		live, err := usersWithOrders(tx, voucherID, distinct(rows, func(r placeRow) int64 { return r.UserID }))
		if err != nil {
			return nil, err
		}
		var refused []placeRow
		for _, row := range rows {
			if live[row.UserID] {
				refused = append(refused, row)
			} else {
				heads = append(heads, row)
			}
		}
		if err := endPlaces(tx, voucherID, refused, waitlist.Refused, now); err != nil {
			return nil, err
		}
	}
	return heads, nil
}

// passOn offers the units of locked places, whose offers are over, to the next who wait. What was offered often enough, or
// what nobody waits for, goes on sale.
func passOn(tx *gorm.DB, sale *saleRow, places []placeRow, now time.Time) error {
	var again []int64
	for _, p := range places {
		if p.Attempt < waitlist.MaxAttempts && sale.offers(now) {
			again = append(again, p.Attempt)
		}
	}
	kept, err := offer(tx, sale, again, now)
	if err != nil {
		return err
	}
	units := int64(len(places)) - kept
	if units == 0 {
		return nil
	}
	return appendOperations(tx, sale, []operationRow{{Kind: order.Unoffering, Delta: units, Offered: -units, Actor: order.ByWaitlist}}, now)
}

// Accept implements waitlist.Ledger. The offer becomes an order once Redis has made its user a holder (completion.accept).
func (s *Store) Accept(ctx context.Context, voucherID, userID, orderID int64) (waitlist.Place, error) {
	var place waitlist.Place
	err := s.writeRetry(ctx, func(tx *gorm.DB) error {
		sale, err := lockSale(tx, voucherID)
		if err != nil {
			return err
		}
		row, err := lockPlace(tx, voucherID, userID)
		if errors.Is(err, waitlist.ErrNoPlace) { // it may have been accepted before, by a call whose answer was lost
			if place, err = latestPlace(tx, voucherID, userID); err == nil && place.State != waitlist.Bought {
				err = waitlist.ErrNoOffer
			}
			return err
		}
		if err != nil {
			return err
		}
		place = row.place()
		if row.State == waitlist.Accepted {
			return nil
		}
		now, err := s.ledgerTime(tx)
		if err != nil {
			return err
		}
		if row.State != waitlist.Offered || !now.Before(at(row.Deadline)) || sale.Retired {
			return waitlist.ErrNoOffer
		}
		row.State, row.OrderID = waitlist.Accepted, &orderID
		if err := askForPlace(tx, &sale, &row, now); err != nil {
			return err
		}
		place = row.place()
		return nil
	})
	if err != nil {
		return waitlist.Place{}, readError(fmt.Sprintf("accepting the offer of user %d for voucher %d", userID, voucherID), err)
	}
	return place, nil
}

// askForPlace has Redis asked whether the user of an accepted offer has no other order. Sale and place are locked.
func askForPlace(tx *gorm.DB, sale *saleRow, row *placeRow, now time.Time) error {
	ops := []operationRow{{Kind: order.Acceptance, Offered: -1, OrderID: row.OrderID, UserID: &row.UserID, Actor: order.Owner}}
	if err := appendOperations(tx, sale, ops, now); err != nil {
		return err
	}
	row.Operation = &ops[0].Number
	return row.save(tx)
}

// Leave implements waitlist.Ledger. Who only waits locks nothing but their place: many may leave at once.
func (s *Store) Leave(ctx context.Context, voucherID, userID int64) (waitlist.Place, error) {
	var place waitlist.Place
	err := s.writeRetry(ctx, func(tx *gorm.DB) error {
		now, err := s.ledgerTime(tx)
		if err != nil {
			return err
		}
		left := tx.Model(&placeRow{}).
			Where("voucher_id = ? AND user_id = ? AND open = 1 AND state = ?", voucherID, userID, waitlist.Waiting).
			Updates(map[string]any{"state": waitlist.Left, "end_time": now})
		if left.Error != nil {
			return fmt.Errorf("leaving: %w", left.Error)
		}
		if left.RowsAffected == 0 {
			if err := s.decline(tx, voucherID, userID); err != nil {
				return err
			}
		}
		place, err = latestPlace(tx, voucherID, userID)
		return err
	})
	if err != nil {
		return waitlist.Place{}, readError(fmt.Sprintf("user %d leaving the waiting list of voucher %d", userID, voucherID), err)
	}
	return place, nil
}

// decline gives up an offer, and the unit goes to the next. Without an open place there is nothing to be done.
func (s *Store) decline(tx *gorm.DB, voucherID, userID int64) error {
	sale, err := lockSale(tx, voucherID)
	if err != nil {
		return err
	}
	row, err := lockPlace(tx, voucherID, userID)
	switch {
	case errors.Is(err, waitlist.ErrNoPlace):
		return nil
	case err != nil:
		return err
	case row.State == waitlist.Accepted:
		return waitlist.ErrAccepted
	}
	now, err := s.ledgerTime(tx)
	if err != nil {
		return err
	}
	places := []placeRow{row}
	if err := endPlaces(tx, voucherID, places, waitlist.Left, now); err != nil || row.State == waitlist.Waiting {
		return err
	}
	return passOn(tx, &sale, places, now)
}

// SeeToOffers implements waitlist.Ledger.
func (s *Store) SeeToOffers(ctx context.Context, token int64) (waitlist.Pass, error) {
	var pass waitlist.Pass
	lists, err := s.listsWithNews(ctx)
	if err != nil {
		return pass, readError("looking for offers that are due", err)
	}
	for _, voucherID := range lists {
		var one waitlist.Pass
		err := s.writeRetry(ctx, func(tx *gorm.DB) (err error) {
			one = waitlist.Pass{}
			if err := raiseFence(tx, offererFence, token); err != nil {
				return err
			}
			one, err = s.seeTo(tx, voucherID)
			return err
		})
		if err != nil {
			return pass, readError(fmt.Sprintf("seeing to the offers of voucher %d", voucherID), err)
		}
		pass = pass.Plus(one)
	}
	return pass, nil
}

// offererFence names the fence of the job that sees to offers.
const offererFence = "offerer"

// listsWithNews returns the open waiting lists with which something is to be done.
func (s *Store) listsWithNews(ctx context.Context) ([]int64, error) {
	var ids []int64
	err := s.read(ctx).Raw("SELECT l.voucher_id FROM tb_waiting_list l JOIN tb_seckill_voucher s ON s.voucher_id = l.voucher_id "+
		"WHERE l.open = @open AND (s.end_time <= @now "+
		"OR EXISTS (SELECT 1 FROM tb_place p WHERE p.voucher_id = l.voucher_id AND p.state = @offered AND p.deadline <= @now) "+
		"OR EXISTS (SELECT 1 FROM tb_place p JOIN tb_voucher_operation o ON o.voucher_id = p.voucher_id AND o.number = p.operation "+
		"WHERE p.voucher_id = l.voucher_id AND p.state = @accepted AND o.state <> @pending)) ORDER BY l.voucher_id LIMIT @limit",
		map[string]any{
			"open": true, "now": s.ledgerClock(), "offered": waitlist.Offered, "accepted": waitlist.Accepted, "pending": operationPending, "limit": offeredLists,
		}).Find(&ids).Error
	return ids, err
}

// seeTo ends the offers of a sale whose deadline has passed, asks Redis again where a rebuild came between, and closes the
// list of a sale that is over.
func (s *Store) seeTo(tx *gorm.DB, voucherID int64) (waitlist.Pass, error) {
	var pass waitlist.Pass
	sale, err := lockSale(tx, voucherID)
	if err != nil {
		return pass, err
	}
	now, err := s.ledgerTime(tx)
	if err != nil {
		return pass, err
	}
	before := sale.LastOperation
	if pass.Missed, err = endDueOffers(tx, &sale, now); err != nil {
		return pass, err
	}
	if pass.Asked, err = askAgain(tx, &sale, now); err != nil {
		return pass, err
	}
	if !now.Before(sale.EndTime) {
		if pass.Over, err = closeList(tx, voucherID, now); err != nil {
			return pass, err
		}
	}
	if sale.LastOperation > before {
		pass.Vouchers = []int64{voucherID}
	}
	return pass, nil
}

// endDueOffers ends offers whose deadline has passed and passes their units on.
func endDueOffers(tx *gorm.DB, sale *saleRow, now time.Time) (int64, error) {
	var due []placeRow
	err := locking(tx).Where("voucher_id = ? AND state = ? AND deadline <= ?", sale.VoucherID, waitlist.Offered, now).
		Order("deadline, position").Limit(dueOffers).Find(&due).Error
	if err != nil {
		return 0, fmt.Errorf("locking due offers: %w", err)
	}
	if len(due) == 0 {
		return 0, nil
	}
	if err := endPlaces(tx, sale.VoucherID, due, waitlist.Missed, now); err != nil {
		return 0, err
	}
	return int64(len(due)), passOn(tx, sale, due, now)
}

// askAgain gives accepted offers a new operation whose own did not decide: a rebuild has voided it.
func askAgain(tx *gorm.DB, sale *saleRow, now time.Time) (int64, error) {
	var rows []placeRow
	err := locking(tx).Where("voucher_id = ? AND state = ?", sale.VoucherID, waitlist.Accepted).Order("position").Find(&rows).Error
	if err != nil {
		return 0, fmt.Errorf("locking accepted offers: %w", err)
	}
	var asked int64
	for i := range rows {
		var pending int64
		err := tx.Model(&operationRow{}).Where("voucher_id = ? AND number = ? AND state = ?", sale.VoucherID, rows[i].Operation, operationPending).
			Count(&pending).Error
		switch {
		case err != nil:
			return asked, fmt.Errorf("looking for the operation of place %d: %w", rows[i].Position, err)
		case pending > 0:
			continue
		case sale.Retired: // Redis is never asked again
			if err := endPlaces(tx, sale.VoucherID, rows[i:i+1], waitlist.Over, now); err != nil {
				return asked, err
			}
			err = passOn(tx, sale, rows[i:i+1], now)
		default:
			err = askForPlace(tx, sale, &rows[i], now)
		}
		if err != nil {
			return asked, err
		}
		asked++
	}
	return asked, nil
}

// closeList ends the places of those who wait for a sale that is over, and closes the list once none is open.
func closeList(tx *gorm.DB, voucherID int64, now time.Time) (int64, error) {
	var waiting []placeRow
	err := locking(tx).Where("voucher_id = ? AND state = ?", voucherID, waitlist.Waiting).Order("position").Limit(overPlaces).Find(&waiting).Error
	if err != nil {
		return 0, fmt.Errorf("locking places of an ended sale: %w", err)
	}
	if err := endPlaces(tx, voucherID, waiting, waitlist.Over, now); err != nil || len(waiting) == overPlaces {
		return int64(len(waiting)), err
	}
	var open int64
	if err := tx.Model(&placeRow{}).Where("voucher_id = ? AND state IN ?", voucherID, []waitlist.State{waitlist.Waiting, waitlist.Offered, waitlist.Accepted}).
		Count(&open).Error; err != nil {
		return 0, fmt.Errorf("counting open places: %w", err)
	}
	if open > 0 {
		return int64(len(waiting)), nil
	}
	err = tx.Model(&waitingListRow{}).Where("voucher_id = ?", voucherID).Update("open", false).Error
	return int64(len(waiting)), err
}

// accept makes an accepted offer an order if its user became a holder by it, and otherwise passes the unit on.
func (c *completion) accept(op operationRow, taken bool) (accepted bool, lacking, err error) {
	if op.UserID == nil || op.OrderID == nil {
		return false, nil, fmt.Errorf("operation %d accepts nobody's offer", op.Number)
	}
	row, err := lockPlace(c.tx, op.VoucherID, *op.UserID)
	switch {
	case errors.Is(err, waitlist.ErrNoPlace), err == nil && (row.State != waitlist.Accepted || *row.OrderID != *op.OrderID):
		if taken {
			lacking = fmt.Errorf("%w: operation %d: there is no accepted offer of user %d", order.ErrConflict, op.Number, *op.UserID)
		}
		return false, lacking, nil
	case err != nil:
		return false, nil, err
	}
	if taken {
		lacking, err = c.buy(row, op)
		if err != nil {
			return false, nil, err
		}
		if lacking == nil {
			row.State, row.EndTime = waitlist.Bought, &c.now
			c.offered++
			return true, nil, row.save(c.tx)
		}
	}
	row.State, row.EndTime = waitlist.Refused, &c.now
	if err := row.save(c.tx); err != nil {
		return false, nil, err
	}
	return false, lacking, passOn(c.tx, &c.sale, []placeRow{row}, c.now)
}

// buy writes the order of an accepted offer, or returns why it cannot.
func (c *completion) buy(row placeRow, op operationRow) (lacking, err error) {
	terms, err := c.store.terms.of(c.tx, []int64{op.VoucherID})
	if err != nil {
		return nil, err
	}
	t, found := terms[op.VoucherID]
	if !found {
		return nil, voucher.ErrNotFound
	}
	bought, err := newOrderRow(order.Claim{
		OrderID: *row.OrderID, UserID: row.UserID, VoucherID: row.VoucherID, Quantity: op.operation().Held().Quantity,
	}, t, c.now)
	if err != nil {
		return nil, fmt.Errorf("order %d: %w", *row.OrderID, err)
	}
	err = c.tx.Create(&bought).Error
	if isDuplicate(err) { // the statement changed nothing, and the transaction goes on
		return fmt.Errorf("%w: operation %d: order %d is there, or user %d has another live order", order.ErrConflict, op.Number, bought.ID, row.UserID), nil
	}
	if err != nil {
		return nil, fmt.Errorf("writing the order of an accepted offer: %w", err)
	}
	done := cause{by: order.ByWaitlist, at: c.now, why: "an offer of the waiting list was accepted"}
	if err := writeHistory(c.tx, []orderRow{bought}, done); err != nil {
		return nil, err
	}
	return nil, c.store.announce(c.tx, []orderRow{bought}, done.at, done.why)
}
