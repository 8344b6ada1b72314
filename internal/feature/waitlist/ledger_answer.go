package waitlist

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// Accept implements Lists. It writes the operation that asks Redis; the place becomes an order once Redis has made the
// user a holder. Past the deadline, ErrNotInvited is the answer unless deadlines have stopped.
func (l *Ledger) Accept(ctx context.Context, v voucher.Voucher, userID, orderID int64) (Place, error) {
	var place Place
	err := l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		k, err := l.lock(tx, v.ID)
		if err != nil {
			return err
		}
		row, err := lockPlace(tx, v.ID, userID)
		if errors.Is(err, ErrNoPlace) { // the place may have been accepted before, by a call whose answer was lost
			if place, err = latestPlace(tx, v.ID, userID); err == nil && place.State != Bought {
				err = ErrNotInvited
			}
			if err != nil {
				return err
			}
			return k.finish()
		}
		if err != nil {
			return err
		}
		if row.State == Accepted {
			place = row.place()
			return k.finish()
		}
		if err := k.answerable(v); err != nil {
			return err
		}
		if row.State != Invited {
			return ErrNotInvited
		}
		if !k.now.Before(sqlkit.At(row.Deadline)) {
			stopped, err := sqlkit.DeadlinesStopped(tx, k.now)
			if err != nil {
				return err
			}
			if !stopped {
				return ErrNotInvited
			}
		}
		claimed := row.Claimed
		row.OrderID = &orderID
		rows := []placeRow{row}
		if err := k.ask(rows, false); err != nil {
			return err
		}
		k.list.Invited--
		place = rows[0].place()
		place.Claims = !claimed
		return k.finish()
	})
	return place, sqlkit.ReadError(fmt.Sprintf("accepting the invitation of user %d for voucher %d", userID, v.ID), err)
}

// Leave implements Lists. An invitation goes to the next user; a place that has ended stays as it is. For a waiting
// place, Leave locks only the place, because many users may leave at once.
func (l *Ledger) Leave(ctx context.Context, voucherID, userID int64) (Place, error) {
	var place Place
	err := l.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		left := tx.Model(&placeRow{}).
			Where("voucher_id = ? AND user_id = ? AND open = 1 AND state = ?", voucherID, userID, Waiting).
			Updates(map[string]any{"state": Left, "end_time": now})
		if left.Error != nil {
			return fmt.Errorf("leaving: %w", left.Error)
		}
		if left.RowsAffected == 0 {
			if err := l.decline(tx, voucherID, userID); err != nil {
				return err
			}
		}
		latest, err := latestPlace(tx, voucherID, userID)
		place = latest
		return err
	})
	return place, sqlkit.ReadError(fmt.Sprintf("user %d leaving the waiting list of voucher %d", userID, voucherID),
		err)
}

// decline gives up the user's invitation, if there is one.
func (l *Ledger) decline(tx *gorm.DB, voucherID, userID int64) error {
	k, err := l.lock(tx, voucherID)
	if err != nil {
		return err
	}
	row, err := lockPlace(tx, voucherID, userID)
	switch {
	case errors.Is(err, ErrNoPlace):
		return k.finish()
	case err != nil:
		return err
	case row.State == Accepted:
		return ErrAccepted
	case row.State == Waiting: // its window has passed meanwhile
		err = k.endAs([]placeRow{row}, Left, "")
	default:
		k.list.Invited--
		err = k.endAs([]placeRow{row}, Declined, order.TurnDeclined)
	}
	if err != nil {
		return err
	}
	return k.finish()
}
