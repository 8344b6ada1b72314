package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/waitlist"
	"seckill/internal/sqlstore/sqlkit"
)

const (
	// dueOffers is how many offers whose deadline has passed one transaction sees to.
	dueOffers = 500
	// askedPlaces is about how many accepted offers one transaction has Redis asked again.
	askedPlaces = 250
	// overPlaces is how many places of an ended sale one transaction ends.
	overPlaces = 5000
	// offeredLists is how many waiting lists one call sees to.
	offeredLists = 100
	// listTimeout is how long one transaction for one of them may take: one whose rows are locked does not stop the
	// others.
	listTimeout = 6 * time.Second
)

// SeeToOffers implements waitlist.Ledger. A list that fails does not stop the others.
func (s *Store) SeeToOffers(ctx context.Context, token int64) (waitlist.Pass, error) {
	var pass waitlist.Pass
	lists, err := s.listsWithNews(ctx)
	if err != nil {
		return pass, sqlkit.ReadError("looking for offers that are due", err)
	}
	var failed error
	for _, voucherID := range lists {
		one, err := s.seeToList(ctx, voucherID, token)
		if err != nil {
			failed = errors.Join(failed,
				sqlkit.ReadError(fmt.Sprintf("seeing to the offers of voucher %d", voucherID), err))
			if ctx.Err() != nil || errors.Is(err, order.ErrSuperseded) {
				break
			}
			continue
		}
		pass = pass.Plus(one)
	}
	return pass, failed
}

// seeToList is one transaction for one list.
func (s *Store) seeToList(ctx context.Context, voucherID, token int64) (pass waitlist.Pass, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	err = s.db.WriteRetry(ctx, func(tx *gorm.DB) (err error) {
		if err := sqlkit.RaiseFence(tx, order.OffererJob, token); err != nil {
			return err
		}
		pass, err = s.seeTo(tx, voucherID)
		return err
	})
	return pass, err
}

// listsWithNews returns the open waiting lists with which something is to be done. A list of an ended sale of which
// only accepted offers are left, about which Redis is being asked, waits.
func (s *Store) listsWithNews(ctx context.Context) ([]int64, error) {
	var ids []int64
	places := func(where string) string {
		return "EXISTS (SELECT 1 FROM tb_place p WHERE p.voucher_id = l.voucher_id AND " + where + ")"
	}
	err := s.db.Read(ctx).Raw("SELECT l.voucher_id FROM tb_waiting_list l JOIN tb_seckill_voucher s "+
		"ON s.voucher_id = l.voucher_id WHERE l.open = @open AND ("+places("p.state = @offered AND p.deadline <= @now")+
		" OR "+places("p.state = @accepted AND "+unasked)+
		" OR s.end_time <= @now AND ("+places("p.state = @waiting")+" OR "+places("p.state = @offered")+
		" OR NOT "+places("p.state = @accepted")+
		")) ORDER BY l.voucher_id LIMIT @limit",
		map[string]any{
			"open": true, "now": s.db.LedgerClock(), "waiting": waitlist.Waiting, "offered": waitlist.Offered,
			"accepted": waitlist.Accepted, "pending": operationPending, "limit": offeredLists,
		}).Find(&ids).Error
	return ids, err
}

// unasked is the condition that no pending operation asks Redis about a place: a rebuild has voided it.
const unasked = "NOT EXISTS (SELECT 1 FROM tb_voucher_operation o " +
	"WHERE o.voucher_id = p.voucher_id AND o.number = p.operation AND o.state = @pending)"

// seeTo ends the offers of a sale whose deadline has passed, sends accepted offers to Redis again whose operation a
// rebuild voided, and closes the list of a sale that is over. Locks are taken in the order sale, list, places.
func (s *Store) seeTo(tx *gorm.DB, voucherID int64) (waitlist.Pass, error) {
	var pass waitlist.Pass
	sale, err := lockSale(tx, voucherID)
	if err != nil {
		return pass, err
	}
	now, err := s.db.LedgerTime(tx)
	if err != nil {
		return pass, err
	}
	if sale.over(now) { // nobody joins while it is seen whether the list can be closed
		if _, err := lockWaitingList(tx, voucherID); err != nil {
			return pass, err
		}
	}
	before := sale.LastOperation
	if pass.Missed, err = s.endDueOffers(tx, &sale, now); err != nil {
		return pass, err
	}
	if pass.Asked, err = s.askAgain(tx, &sale, now); err != nil {
		return pass, err
	}
	if sale.over(now) {
		if pass.Over, err = closeList(tx, voucherID, now); err != nil {
			return pass, err
		}
	}
	if sale.LastOperation > before {
		pass.Vouchers = []int64{voucherID}
	}
	return pass, nil
}

// endDueOffers ends offers whose deadline has passed, or whose sale is over, and passes their units on.
func (s *Store) endDueOffers(tx *gorm.DB, sale *saleRow, now time.Time) (int64, error) {
	var due []placeRow
	offers := sqlkit.Locking(tx).Where("voucher_id = ? AND state = ?", sale.VoucherID, waitlist.Offered)
	if !sale.over(now) { // its end may have been moved to before the deadline
		offers = offers.Where("deadline <= ?", now)
	}
	err := offers.Order("deadline, position").Limit(dueOffers).Find(&due).Error
	if err != nil {
		return 0, fmt.Errorf("locking due offers: %w", err)
	}
	return int64(len(due)), s.endOffers(tx, sale, due, waitlist.Missed, now)
}

// askAgain gives accepted offers a new operation whose own did not decide: a rebuild has voided it. Those about which
// Redis cannot be asked end, and their units are passed on.
func (s *Store) askAgain(tx *gorm.DB, sale *saleRow, now time.Time) (int64, error) {
	var rows []placeRow // which nobody else changes, as the sale is locked
	err := tx.Table("tb_place p").Where("p.voucher_id = @voucher AND p.state = @accepted AND "+unasked,
		map[string]any{"voucher": sale.VoucherID, "accepted": waitlist.Accepted, "pending": operationPending}).
		Order("p.position").Limit(askedPlaces).Find(&rows).Error
	if err != nil {
		return 0, fmt.Errorf("reading accepted offers: %w", err)
	}
	var asked, nameless []placeRow
	for _, row := range rows {
		if row.OrderID == nil { // not written by Accept
			nameless = append(nameless, row)
		} else {
			asked = append(asked, row)
		}
	}
	if err := s.endOffers(tx, sale, nameless, waitlist.Refused, now); err != nil {
		return 0, err
	}
	if sale.Retired { // Redis is never asked again
		err = s.endOffers(tx, sale, asked, waitlist.Over, now)
	} else {
		err = s.askForAll(tx, sale, asked, now)
	}
	return int64(len(rows)), err
}

// askForAll is askForPlaces for places of which only the operation changes, which it writes with one statement.
func (s *Store) askForAll(tx *gorm.DB, sale *saleRow, rows []placeRow, now time.Time) error {
	if len(rows) == 0 {
		return nil
	}
	if err := s.askForPlaces(tx, sale, rows, now); err != nil {
		return err
	}
	numbers := make([]any, 0, 2*len(rows))
	for _, row := range rows {
		numbers = append(numbers, row.Position, *row.Operation)
	}
	err := tx.Model(&placeRow{}).Where("voucher_id = ? AND position IN ?", sale.VoucherID, positionsOf(rows)).
		Update("operation",
			gorm.Expr("CASE position"+strings.Repeat(" WHEN ? THEN ?", len(rows))+" END", numbers...)).Error
	if err != nil {
		return fmt.Errorf("naming the operations of %d places: %w", len(rows), err)
	}
	return nil
}

// endOffers ends places with an offer and passes their units on. The sale is locked.
func (s *Store) endOffers(tx *gorm.DB, sale *saleRow, places []placeRow, state waitlist.State, now time.Time) error {
	if len(places) == 0 {
		return nil
	}
	if err := endPlaces(tx, sale.VoucherID, places, state, now); err != nil {
		return err
	}
	ended := slices.Clone(places)
	for i := range ended {
		ended[i].State, ended[i].EndTime = state, &now
	}
	if err := s.offered(tx, ended, now); err != nil {
		return err
	}
	return s.passOn(tx, sale, places, now)
}

// closeList ends the places of those who wait for a sale that is over, and closes the list once none is open. The
// list is locked: a place of somebody who joined meanwhile would wait on a closed one.
func closeList(tx *gorm.DB, voucherID int64, now time.Time) (int64, error) {
	var waiting []placeRow
	err := sqlkit.Locking(tx).Where("voucher_id = ? AND state = ?", voucherID,
		waitlist.Waiting).Order("position").Limit(overPlaces).Find(&waiting).Error
	if err != nil {
		return 0, fmt.Errorf("locking places of an ended sale: %w", err)
	}
	if err := endPlaces(tx, voucherID, waiting, waitlist.Over, now); err != nil || len(waiting) == overPlaces {
		return int64(len(waiting)), err
	}
	var open int64
	if err := tx.Model(&placeRow{}).Where("voucher_id = ? AND state IN ?", voucherID,
		[]waitlist.State{waitlist.Waiting, waitlist.Offered, waitlist.Accepted}).
		Count(&open).Error; err != nil {
		return 0, fmt.Errorf("counting open places: %w", err)
	}
	if open > 0 {
		return int64(len(waiting)), nil
	}
	err = tx.Model(&waitingListRow{}).Where("voucher_id = ?", voucherID).Update("open", false).Error
	return int64(len(waiting)), err
}
