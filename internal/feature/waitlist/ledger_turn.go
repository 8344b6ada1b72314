package waitlist

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

const (
	// turnPlaces bounds how many places one transaction invites, and how many missed windows it ends.
	turnPlaces = 250
	// refusedPlaces is how many refused places of users with an order end a transaction.
	refusedPlaces = 2500
	// overPlaces bounds how many places of an ended sale one transaction ends.
	overPlaces = 5000
)

// locked is a list in a transaction that has locked the list and its sale.
type locked struct {
	tx    *gorm.DB
	sale  sqlkit.KeptSale
	list  listRow
	was   listRow
	now   time.Time
	turns []order.Turn // for the hooks
}

// lock locks a sale and its list, and moves deadlines by the pauses since the list was last locked. Call finish before
// the commit: it saves the last operation whose pauses have been applied.
func (l *Ledger) lock(tx *gorm.DB, voucherID int64) (*locked, error) {
	sale, err := l.units(tx, voucherID)
	if err != nil {
		return nil, err
	}
	list, err := lockList(tx, voucherID)
	if err != nil {
		return nil, err
	}
	now, err := l.db.LedgerTime(tx)
	if err != nil {
		return nil, err
	}
	k := &locked{tx: tx, sale: sale, list: list, was: list, now: now}
	err = k.catchUp()
	return k, err
}

// catchUp applies the pauses among the sale's operations.
func (k *locked) catchUp() error {
	last := k.sale.Sale().LastOperation
	if last == k.list.LastOperation {
		return nil
	}
	var ops []struct {
		Mode       order.SaleMode
		CreateTime time.Time
	}
	err := k.tx.Table("tb_voucher_operation").Select("mode", "create_time").
		Where("voucher_id = ? AND number > ? AND mode <> ?", k.list.VoucherID, k.list.LastOperation, order.SaleMissing).
		Order("number").Find(&ops).Error
	if err != nil {
		return fmt.Errorf("reading pauses: %w", err)
	}
	for _, op := range ops {
		switch stands := op.Mode != order.SaleOpen; {
		case stands && k.list.PausedAt == nil:
			at := op.CreateTime
			k.list.PausedAt = &at
		case !stands && k.list.PausedAt != nil:
			if err := k.moveDeadlines(op.CreateTime.Sub(*k.list.PausedAt)); err != nil {
				return err
			}
			k.list.PausedAt = nil
		}
	}
	k.list.LastOperation = last
	return nil
}

// moveDeadlines moves all deadlines, the latest first, so that no deadline is moved twice. Places invited in one turn
// share a deadline.
func (k *locked) moveDeadlines(by time.Duration) error {
	if by <= 0 {
		return nil
	}
	var deadlines []time.Time
	err := k.in(Invited).Distinct().Order("deadline DESC").Pluck("deadline", &deadlines).Error
	for i := 0; err == nil && i < len(deadlines); i++ {
		err = k.in(Invited).Where("deadline = ?", deadlines[i]).Update("deadline", deadlines[i].Add(by)).Error
	}
	if err != nil {
		return fmt.Errorf("moving deadlines: %w", err)
	}
	return nil
}

// in selects the places of the list that are in a state.
func (k *locked) in(s State) *gorm.DB {
	return k.tx.Model(&placeRow{}).Where("voucher_id = ? AND state = ?", k.list.VoucherID, s)
}

// paused reports whether the sale is paused, which stops invitations and their deadlines.
func (k *locked) paused() bool { return k.list.PausedAt != nil }

// over reports whether the sale has ended.
func (k *locked) over() bool { s := k.sale.Sale(); return s.Retired || !k.now.Before(s.End) }

// finish writes the list, and calls the hooks.
func (k *locked) finish() error {
	if k.list != k.was {
		if err := k.list.save(k.tx); err != nil {
			return err
		}
	}
	return k.sale.Turned(k.turns)
}

// Turn does the due work of one list, as much as fits into one transaction. ids are order ids for places with a
// standing yes. Error: order.ErrUnavailable.
func (l *Ledger) Turn(ctx context.Context, voucherID int64, ids []int64) (Pass, error) {
	var pass Pass
	// In a transaction of its own: while the sale is locked, nothing else is waited for.
	err := l.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		_, err := sqlkit.NoteDeadlines(tx, now)
		return err
	})
	if err != nil {
		return pass, sqlkit.ReadError("noting that the ledger is there", err)
	}
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		pass = Pass{}
		k, err := l.lock(tx, voucherID)
		if err != nil || !k.list.Open {
			return err
		}
		if err := k.turn(&pass, ids); err != nil {
			return err
		}
		return k.finish()
	})
	if err != nil {
		return Pass{}, sqlkit.ReadError(fmt.Sprintf("the turns of the waiting list of voucher %d", voucherID), err)
	}
	return pass, nil
}

// turn does the due work of a list, while the list and its sale are locked.
func (k *locked) turn(pass *Pass, ids []int64) error {
	if err := k.decide(pass); err != nil {
		return err
	}
	switch {
	case k.over():
		if err := k.end(pass); err != nil {
			return err
		}
	case !k.paused():
		if err := k.miss(pass); err != nil {
			return err
		}
		if err := k.invite(pass, ids); err != nil {
			return err
		}
	}
	if pass.More || pass.NeedsIDs {
		return nil
	}
	return k.release(pass)
}

// decide ends the acceptances that Redis has decided, and asks Redis again where a rebuild voided the operation.
func (k *locked) decide(pass *Pass) error {
	var rows []placeRow
	if err := k.in(Accepted).Order("position").Find(&rows).Error; err != nil || len(rows) == 0 {
		return err
	}
	numbers := make([]int64, len(rows))
	for i, row := range rows {
		if row.Operation != nil {
			numbers[i] = *row.Operation
		}
	}
	outcomes, err := k.sale.Outcomes(numbers)
	if err != nil {
		return err
	}
	var bought, refused, again []placeRow
	for i, row := range rows {
		switch outcomes[numbers[i]] {
		case sqlkit.Undecided:
		case sqlkit.Taken:
			bought = append(bought, row)
		case sqlkit.Voided:
			again = append(again, row)
		default:
			refused = append(refused, row)
		}
	}
	pass.Bought, pass.Refused, pass.Again = int64(len(bought)), int64(len(refused)), int64(len(again))
	if err := k.endAs(bought, Bought, ""); err != nil {
		return err
	}
	if err := k.endAs(refused, Refused, order.TurnEnded); err != nil {
		return err
	}
	return k.ask(again, true)
}

// miss ends the windows that have passed.
func (k *locked) miss(pass *Pass) error {
	if stopped, err := sqlkit.DeadlinesStopped(k.tx, k.now); err != nil || stopped {
		return err
	}
	var due []placeRow
	err := k.in(Invited).Where("deadline <= ?", k.now).Order("deadline, position").Limit(turnPlaces).Find(&due).Error
	if err != nil || len(due) == 0 {
		return err
	}
	var back, ended []placeRow
	for _, row := range due {
		if row.Missed++; row.Missed < MaxMissed {
			back = append(back, row)
		} else {
			ended = append(ended, row)
		}
	}
	pass.Missed, pass.More = int64(len(due)), len(due) == turnPlaces
	k.list.Invited -= pass.Missed
	if err := k.update(back, order.TurnMissed, map[string]any{"state": Waiting, "missed": gorm.Expr("missed + 1")},
		func(r *placeRow) { r.State = Waiting }); err != nil {
		return err
	}
	return k.update(ended, order.TurnMissed,
		map[string]any{"state": Missed, "missed": gorm.Expr("missed + 1"), "end_time": k.now},
		func(r *placeRow) { r.State, r.EndTime = Missed, &k.now })
}

// end ends the waiting and invited places of a sale that has ended.
func (k *locked) end(pass *Pass) error {
	var waiting, invited []placeRow
	open := func(s State, rows *[]placeRow) error {
		return sqlkit.Locking(k.in(s)).Order("position").Limit(overPlaces).Find(rows).Error
	}
	if err := open(Waiting, &waiting); err != nil {
		return fmt.Errorf("locking places of an ended sale: %w", err)
	}
	if err := open(Invited, &invited); err != nil {
		return fmt.Errorf("locking invitations of an ended sale: %w", err)
	}
	k.list.Invited -= int64(len(invited))
	pass.Over = int64(len(waiting) + len(invited))
	pass.More = len(waiting) == overPlaces || len(invited) == overPlaces
	as := Over
	if s := k.sale.Sale(); s.IsCalledOff() {
		as = CalledOff
	}
	if err := k.endAs(waiting, as, ""); err != nil {
		return err
	}
	return k.endAs(invited, as, order.TurnEnded)
}

// release closes the list and puts its kept units on sale, once nobody waits or is invited and every acceptance is
// decided. Both happen in one transaction: a user who joins while those units are on their way to the public has to
// open the list, and cannot before Redis has applied the operation (ErrBehind).
func (k *locked) release(pass *Pass) error {
	sale := k.sale.Sale()
	if k.list.Invited > 0 || sale.Accepted > 0 {
		return nil
	}
	var waiting []int64
	err := k.in(Waiting).Limit(1).Pluck("position", &waiting).Error
	if err != nil || len(waiting) > 0 {
		return err
	}
	if pass.Released = sale.Kept; pass.Released > 0 {
		if err := k.sale.Release(pass.Released, k.now); err != nil {
			return err
		}
		if s := k.sale.Sale(); !s.IsCalledOff() { // units of a sale that was called off are not for sale
			k.turns = append(k.turns, order.Turn{
				ID: order.PlaceID{VoucherID: k.list.VoucherID}, Kind: order.TurnReleased,
				Number: s.LastOperation, Units: pass.Released, At: k.now,
			})
		}
	}
	k.list.Open = false
	return k.sale.SetOpen(false)
}

// endAs gives places their final state. With a kind, the hooks are called.
func (k *locked) endAs(places []placeRow, state State, kind order.TurnKind) error {
	return k.update(places, kind, map[string]any{"state": state, "end_time": k.now},
		func(r *placeRow) { r.State, r.EndTime = state, &k.now })
}

// update writes columns of places, and sets the same fields in the rows. With a kind, the hooks are called.
func (k *locked) update(
	places []placeRow, kind order.TurnKind, columns map[string]any, after func(r *placeRow),
) error {
	if len(places) == 0 {
		return nil
	}
	if kind != "" {
		columns["turns"] = gorm.Expr("turns + 1")
	}
	for part := range sqlkit.Chunks(places) {
		err := k.tx.Model(&placeRow{}).Where("voucher_id = ? AND position IN ?", k.list.VoucherID, positionsOf(part)).
			Updates(columns).Error
		if err != nil {
			return fmt.Errorf("writing %d places: %w", len(places), err)
		}
	}
	for i := range places {
		after(&places[i])
		if kind != "" {
			places[i].Turns++
			k.turns = append(k.turns, places[i].turn(kind, k.now))
		}
	}
	return nil
}

// answerable returns nil if invitations can be accepted now, else an error with the reason.
func (k *locked) answerable(v voucher.Voucher) error {
	s := k.sale.Sale()
	switch {
	case s.IsCalledOff():
		return voucher.ErrCalledOff
	case v.Status != voucher.OnShelf:
		return voucher.ErrOffShelf
	case k.paused():
		return gate.ErrPaused
	case k.over():
		return ErrNotInvited
	default:
		return nil
	}
}
