package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/waitlist"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

const (
	// maxOffers is how many units of one transaction are offered at most; what is beyond goes on sale. It is more
	// than one transaction of the expirer gives back.
	maxOffers = 5000
	// headRows is how many places at the head of a list are read at a time.
	headRows = 250
	// maxRefused is about how many places of users who have bought one transaction refuses to find the next heads.
	// What nobody was found for then goes on sale, and the next transaction begins behind them.
	maxRefused = 2500
)

// keepForWaiting keeps units that the operations are about to put on sale for those who wait longest, as far as there
// are any: an order's units first, each as one offer. The sale's row is locked.
func (s *Store) keepForWaiting(tx *gorm.DB, sale *saleRow, ops []operationRow, now time.Time) error {
	if !sale.offers(now) {
		return nil
	}
	var units int64
	for i := range ops {
		if ops[i].returns() {
			units += ops[i].Delta
		}
	}
	kept, err := s.offer(tx, sale, make([]int64, min(units, maxOffers)), now)
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
	return r.OfferWithin > 0 && !r.Retired && !now.Before(r.BeginTime) && !r.over(now)
}

// over reports whether the sale's window has ended.
func (r saleRow) over(now time.Time) bool { return !now.Before(r.EndTime) }

// returns reports whether the operation puts units on sale that have not been offered yet.
func (r operationRow) returns() bool {
	return r.Delta > 0 && r.Kind != order.Unoffering
}

// offer offers units to the heads of a locked sale's waiting list and returns how many it could; attempts is how
// often each unit was offered before.
func (s *Store) offer(tx *gorm.DB, sale *saleRow, attempts []int64, now time.Time) (int64, error) {
	heads, err := lockHeads(tx, sale.VoucherID, len(attempts), now)
	if err != nil {
		return 0, err
	}
	deadline := now.Add(time.Duration(sale.OfferWithin) * time.Second)
	if deadline.After(sale.EndTime) {
		deadline = sale.EndTime
	}
	byAttempt := make(map[int64][]int64) // positions
	for i := range heads {
		head := &heads[i]
		head.State, head.OfferTime, head.Deadline, head.Attempt = waitlist.Offered, &now, &deadline, attempts[i]+1
		byAttempt[head.Attempt] = append(byAttempt[head.Attempt], head.Position)
	}
	for attempt, positions := range byAttempt {
		for part := range sqlkit.Chunks(positions) {
			err := tx.Model(&placeRow{}).Where("voucher_id = ? AND position IN ?", sale.VoucherID, part).
				Updates(map[string]any{
					"state": waitlist.Offered, "offer_time": now, "deadline": deadline, "attempt": attempt,
				}).Error
			if err != nil {
				return 0, fmt.Errorf("offering %d units of voucher %d: %w", len(positions), sale.VoucherID, err)
			}
		}
	}
	return int64(len(heads)), s.offered(tx, heads, now)
}

// lockHeads locks and returns up to n places that have waited longest. Those before them whose users have bought
// meanwhile are refused, so many of them as one transaction may: a list of thousands of such places must not keep the
// sale locked.
func lockHeads(tx *gorm.DB, voucherID int64, n int, now time.Time) ([]placeRow, error) {
	var heads []placeRow
	refused, size := 0, min(n, headRows)
	for after := int64(0); len(heads) < n && refused < maxRefused; size = headRows {
		rows, err := waitingAfter(tx, voucherID, after, size)
		if err != nil || len(rows) == 0 {
			return heads, err
		}
		live, err := usersWithOrders(tx, voucherID, sqlkit.Distinct(rows, func(r placeRow) int64 { return r.UserID }))
		if err != nil {
			return nil, err
		}
		var chosen, bought []placeRow
		for i := 0; i < len(rows) && len(heads)+len(chosen) < n; i++ {
			after = rows[i].Position
			if live[rows[i].UserID] {
				bought = append(bought, rows[i])
			} else {
				chosen = append(chosen, rows[i])
			}
		}
		if err := refuseWaiting(tx, voucherID, bought, now); err != nil {
			return nil, err
		}
		locked, err := lockWaiting(tx, voucherID, chosen)
		if err != nil {
			return nil, err
		}
		heads, refused = append(heads, locked...), refused+len(bought)
	}
	return heads, nil
}

// waitingAfter reads up to n places that wait, those after a position.
func waitingAfter(tx *gorm.DB, voucherID, position int64, n int) ([]placeRow, error) {
	var rows []placeRow
	err := tx.Where("voucher_id = ? AND state = ? AND position > ?", voucherID, waitlist.Waiting, position).
		Order("position").Limit(n).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("reading the head of the waiting list: %w", err)
	}
	return rows, nil
}

// refuseWaiting ends those of the places that wait still.
func refuseWaiting(tx *gorm.DB, voucherID int64, places []placeRow, now time.Time) error {
	if len(places) == 0 {
		return nil
	}
	err := tx.Model(&placeRow{}).Where("voucher_id = ? AND position IN ? AND state = ?", voucherID,
		positionsOf(places), waitlist.Waiting).
		Updates(map[string]any{"state": waitlist.Refused, "end_time": now}).Error
	if err != nil {
		return fmt.Errorf("refusing %d places: %w", len(places), err)
	}
	return nil
}

// lockWaiting locks those of the places that wait still: who only waits may leave without the sale's lock.
func lockWaiting(tx *gorm.DB, voucherID int64, places []placeRow) ([]placeRow, error) {
	if len(places) == 0 {
		return nil, nil
	}
	var rows []placeRow
	err := sqlkit.Locking(tx).Where("voucher_id = ? AND position IN ? AND state = ?", voucherID,
		positionsOf(places), waitlist.Waiting).
		Order("position").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("locking the head of the waiting list: %w", err)
	}
	return rows, nil
}

// passOn offers the units of locked places, whose offers are over, to the next who wait. What was offered often
// enough, or what nobody waits for, goes on sale.
func (s *Store) passOn(tx *gorm.DB, sale *saleRow, places []placeRow, now time.Time) error {
	var again []int64
	for _, p := range places {
		if p.Attempt < waitlist.MaxAttempts && sale.offers(now) {
			again = append(again, p.Attempt)
		}
	}
	kept, err := s.offer(tx, sale, again, now)
	if err != nil {
		return err
	}
	units := int64(len(places)) - kept
	if units == 0 {
		return nil
	}
	return s.appendOperations(tx, sale,
		[]operationRow{{Kind: order.Unoffering, Delta: units, Offered: -units, Actor: order.ByWaitlist}}, now)
}

// Accept implements waitlist.Ledger. The offer becomes an order once Redis has made its user a holder
// (completion.accept).
func (s *Store) Accept(ctx context.Context, voucherID, userID, orderID int64) (waitlist.Place, error) {
	var place waitlist.Place
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
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
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		if row.State != waitlist.Offered || !now.Before(sqlkit.At(row.Deadline)) || sale.over(now) || sale.Retired {
			return waitlist.ErrNoOffer
		}
		row.State, row.OrderID = waitlist.Accepted, &orderID
		rows := []placeRow{row}
		if err := s.askForPlaces(tx, &sale, rows, now); err != nil {
			return err
		}
		place = row.place()
		return rows[0].save(tx)
	})
	if err != nil {
		return waitlist.Place{}, sqlkit.ReadError(fmt.Sprintf("accepting the offer of user %d for voucher %d",
			userID, voucherID), err)
	}
	return place, nil
}

// askForPlaces has Redis asked whether the users of accepted offers have no other order, and names the operations in
// the rows, which are not written. The sale is locked.
func (s *Store) askForPlaces(tx *gorm.DB, sale *saleRow, rows []placeRow, now time.Time) error {
	ops := make([]operationRow, len(rows))
	for i := range rows {
		ops[i] = operationRow{
			Kind: order.Acceptance, Offered: -1, OrderID: rows[i].OrderID, UserID: &rows[i].UserID, Actor: order.Owner,
		}
	}
	if err := s.appendOperations(tx, sale, ops, now); err != nil {
		return err
	}
	for i := range rows {
		rows[i].Operation = &ops[i].Number
	}
	return nil
}

// Leave implements waitlist.Ledger. Who only waits locks nothing but their place: many may leave at once.
func (s *Store) Leave(ctx context.Context, voucherID, userID int64) (waitlist.Place, error) {
	var place waitlist.Place
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		now, err := s.db.LedgerTime(tx)
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
		return waitlist.Place{}, sqlkit.ReadError(fmt.Sprintf("user %d leaving the waiting list of voucher %d",
			userID, voucherID), err)
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
	now, err := s.db.LedgerTime(tx)
	if err != nil {
		return err
	}
	if row.State == waitlist.Waiting {
		return endPlaces(tx, voucherID, []placeRow{row}, waitlist.Left, now)
	}
	return s.endOffers(tx, &sale, []placeRow{row}, waitlist.Left, now)
}

// accept makes an accepted offer an order if its user became a holder by it, and otherwise passes the unit on.
func (c *completion) accept(op operationRow, taken bool) (accepted bool, lacking, err error) {
	if op.UserID == nil || op.OrderID == nil {
		return false, nil, fmt.Errorf("operation %d accepts nobody's offer", op.Number)
	}
	row, err := lockPlace(c.tx, op.VoucherID, *op.UserID)
	switch {
	case errors.Is(err, waitlist.ErrNoPlace), err == nil && !row.accepts(*op.OrderID):
		if taken {
			lacking = fmt.Errorf("%w: operation %d: there is no accepted offer of user %d",
				order.ErrConflict, op.Number, *op.UserID)
		}
		return false, lacking, nil
	case err != nil:
		return false, nil, err
	}
	if taken && row.OrderID == nil {
		lacking = fmt.Errorf("%w: operation %d: the accepted offer of user %d has no order id",
			order.ErrConflict, op.Number, row.UserID)
	}
	if taken && lacking == nil {
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
	c.passing = append(c.passing, row)
	if err := c.store.offered(c.tx, []placeRow{row}, c.now); err != nil {
		return false, nil, err
	}
	return false, lacking, row.save(c.tx)
}

// accepts reports whether the place waits for an order of that id, or, written by hand, for one of no id.
func (r placeRow) accepts(orderID int64) bool {
	return r.State == waitlist.Accepted && (r.OrderID == nil || *r.OrderID == orderID)
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
	if sqlkit.IsDuplicate(err) { // the statement changed nothing, and the transaction goes on
		return fmt.Errorf("%w: operation %d: order %d is there, or user %d has another live order",
			order.ErrConflict, op.Number, bought.ID, row.UserID), nil
	}
	if err != nil {
		return nil, fmt.Errorf("writing the order of an accepted offer: %w", err)
	}
	done := cause{by: order.ByWaitlist, at: c.now, why: order.OfferAccepted}
	if err := writeHistory(c.tx, []orderRow{bought}, done); err != nil {
		return nil, err
	}
	row.State, row.EndTime = waitlist.Bought, &c.now
	if err := c.store.offered(c.tx, []placeRow{row}, done.at); err != nil {
		return nil, err
	}
	bought.offer = row.offerID()
	recorded := order.Change{Recorded: true, By: done.by, Why: done.why, At: done.at}
	if err := c.store.changed(c.tx, []orderRow{bought}, recorded); err != nil {
		return nil, err
	}
	return nil, c.store.payForNothing(c.tx, []orderRow{bought}, done.at)
}
