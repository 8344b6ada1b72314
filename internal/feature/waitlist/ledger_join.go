package waitlist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"seckill/internal/order/gate"
	"seckill/internal/sqlstore/sqlkit"
)

// Joining is a user who joins a list.
type Joining struct {
	UserID   int64
	Standing *bool // whether they give a standing yes: their next invitation is accepted at once; nil: unchanged
}

// yes reports whether the user gives a standing yes.
func (j Joining) yes() bool { return j.Standing != nil && *j.Standing }

// errClosed is the error if the list has to be opened first, under the sale's lock.
var errClosed = errors.New("the waiting list is closed")

// ErrBehind is the error while Redis has not applied all operations of the sale: one of them may put a unit on sale.
var ErrBehind = errors.New("redis has not applied all operations of the sale")

// Join implements Lists. The list's row is locked until the commit, so that lower positions are committed before higher
// ones. The first user to join opens the list, which locks the sale's row too; applied is the last operation that Redis
// had applied when it had no unit left.
func (l *Ledger) Join(ctx context.Context, voucherID int64, joining []Joining, applied int64) (map[int64]Place, error) {
	var places map[int64]Place
	join := func(opens bool) error {
		return l.db.WriteRetry(ctx, func(tx *gorm.DB) (err error) {
			places, err = l.join(tx, voucherID, joining, opens, applied)
			return err
		})
	}
	err := join(false)
	if errors.Is(err, errClosed) {
		err = join(true)
	}
	switch {
	case errors.Is(err, ErrBehind), errors.Is(err, gate.ErrEnded):
		return nil, err
	case err != nil:
		return nil, sqlkit.ReadError(fmt.Sprintf("joining the waiting list of voucher %d", voucherID), err)
	}
	return places, nil
}

// join is the transaction of Join. If opens is set, it may open the list, and locks the sale first.
func (l *Ledger) join(
	tx *gorm.DB, voucherID int64, joining []Joining, opens bool, applied int64,
) (map[int64]Place, error) {
	var sale sqlkit.KeptSale
	var err error
	if opens {
		if sale, err = l.units(tx, voucherID); err != nil {
			return nil, err
		}
	}
	list, err := lockList(tx, voucherID)
	if err != nil {
		return nil, err
	}
	if !list.Open && !opens {
		return nil, errClosed
	}
	first, err := firstWaiting(tx, voucherID)
	if err != nil {
		return nil, err
	}
	places, news, err := withoutOpen(tx, voucherID, joining, first)
	if err != nil {
		return nil, err
	}
	users := sqlkit.Distinct(news, func(j Joining) int64 { return j.UserID })
	live, err := usersWithOrders(tx, voucherID, users)
	if err != nil {
		return nil, err
	}
	news = slices.DeleteFunc(news, func(j Joining) bool { return live[j.UserID] })
	if len(news) == 0 {
		return places, nil
	}
	if !list.Open {
		if err := l.opening(tx, sale, &list, applied); err != nil {
			return nil, err
		}
	}
	return places, l.addPlaces(tx, list, news, first, places)
}

// opening opens a locked list of a locked sale, if no unit is on sale or on its way there.
func (l *Ledger) opening(tx *gorm.DB, sale sqlkit.KeptSale, list *listRow, applied int64) error {
	now, err := l.db.LedgerTime(tx)
	if err != nil {
		return err
	}
	s := sale.Sale()
	switch {
	case s.Retired || !now.Before(s.End):
		return gate.ErrEnded
	case s.LastOperation != applied:
		return ErrBehind
	}
	list.Open, list.Invited, list.PausedAt, list.LastOperation = true, 0, nil, s.LastOperation
	return sale.SetOpen(true)
}

// addPlaces inserts places at the end of a locked list.
func (l *Ledger) addPlaces(
	tx *gorm.DB, list listRow, news []Joining, first []turnOf, places map[int64]Place,
) error {
	now, err := l.db.LedgerTime(tx)
	if err != nil {
		return err
	}
	ahead := int64(0)
	for ahead < int64(len(first)) && first[ahead].Missed == 0 {
		ahead++
	}
	rows := make([]placeRow, len(news))
	for i, j := range news {
		list.LastPosition++
		rows[i] = placeRow{
			VoucherID: list.VoucherID, Position: list.LastPosition, UserID: j.UserID, State: Waiting, CreateTime: now,
			Standing: j.yes(),
		}
		rows[i].Claimed = rows[i].Standing
		place := rows[i].placeBehind(ahead + int64(i))
		place.Claims = place.Claimed
		places[j.UserID] = place
	}
	if err := sqlkit.CreateAll(tx, rows); err != nil {
		return fmt.Errorf("inserting %d places: %w", len(rows), err)
	}
	return list.save(tx)
}

// placeBehind returns the place together with the number of places before it.
func (r placeRow) placeBehind(ahead int64) Place {
	p := r.place()
	p.Ahead = min(ahead, MaxCounted)
	return p
}

// turnOf orders places: those that have missed fewer invitations come first, then those that joined earlier.
type turnOf struct{ Missed, Position int64 }

func (t turnOf) compare(o turnOf) int {
	return cmp.Or(cmp.Compare(t.Missed, o.Missed), cmp.Compare(t.Position, o.Position))
}

// firstWaiting returns the turns of the first MaxCounted waiting places. From them a batch knows how many wait before
// each of its places, without a query for each.
func firstWaiting(tx *gorm.DB, voucherID int64) ([]turnOf, error) {
	var first []turnOf
	err := tx.Model(&placeRow{}).Select("missed", "position").Where("voucher_id = ? AND state = ?", voucherID, Waiting).
		Order("missed, position").Limit(MaxCounted).Find(&first).Error
	if err != nil {
		return nil, fmt.Errorf("reading who waits longest: %w", err)
	}
	return first, nil
}

// withoutOpen returns the open places of the users who have one, after writing their standing yes or no. It also
// returns the users without an open place, each once. first comes from firstWaiting.
func withoutOpen(
	tx *gorm.DB, voucherID int64, joining []Joining, first []turnOf,
) (places map[int64]Place, others []Joining, err error) {
	places = make(map[int64]Place, len(joining))
	says := make(map[int64]*bool, len(joining))
	for _, j := range joining {
		if _, twice := says[j.UserID]; !twice || j.Standing != nil {
			says[j.UserID] = j.Standing
		}
	}
	users := sqlkit.Distinct(joining, func(j Joining) int64 { return j.UserID })
	for part := range sqlkit.Chunks(users) {
		var rows []placeRow
		err := tx.Where("voucher_id = ? AND user_id IN ? AND open = 1", voucherID, part).Find(&rows).Error
		if err != nil {
			return nil, nil, fmt.Errorf("reading open places: %w", err)
		}
		for _, row := range rows {
			claimed := row.place().Claimed
			if row, err = row.say(tx, says[row.UserID]); err != nil {
				return nil, nil, err
			}
			place := row.place()
			if row.State == Waiting {
				ahead, _ := slices.BinarySearchFunc(first, turnOf{row.Missed, row.Position}, turnOf.compare)
				place = row.placeBehind(int64(ahead))
			}
			place.Claims = place.Claimed && !claimed
			places[row.UserID] = place
		}
	}
	for _, user := range users {
		if _, has := places[user]; !has {
			others = append(others, Joining{user, says[user]})
		}
	}
	return places, others, nil
}

// say stores the user's standing yes or no, and returns the changed place; nil leaves the place unchanged. It does not
// answer a current invitation.
func (r placeRow) say(tx *gorm.DB, standing *bool) (placeRow, error) {
	if standing == nil || *standing == r.Standing {
		return r, nil
	}
	r.Standing, r.Claimed = *standing, r.Claimed || *standing
	err := tx.Model(&placeRow{}).Where("voucher_id = ? AND position = ?", r.VoucherID, r.Position).
		Updates(map[string]any{"standing": r.Standing, "claimed": r.Claimed}).Error
	if err != nil {
		return r, fmt.Errorf("writing a standing yes: %w", err)
	}
	return r, nil
}
