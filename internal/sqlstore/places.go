package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/waitlist"
	"seckill/internal/sqlstore/sqlkit"
)

// placeRow has no field for the column open, which the database computes.
type placeRow struct {
	VoucherID  int64          `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	Position   int64          `gorm:"column:position;primaryKey;autoIncrement:false"`
	UserID     int64          `gorm:"column:user_id"`
	State      waitlist.State `gorm:"column:state"`
	CreateTime time.Time      `gorm:"column:create_time"`
	OfferTime  *time.Time     `gorm:"column:offer_time"`
	Deadline   *time.Time     `gorm:"column:deadline"`
	Attempt    int64          `gorm:"column:attempt"`
	OrderID    *int64         `gorm:"column:order_id"`
	Operation  *int64         `gorm:"column:operation"`
	EndTime    *time.Time     `gorm:"column:end_time"`
}

// TableName implements gorm's schema.Tabler.
func (placeRow) TableName() string { return "tb_place" }

func (r placeRow) place() waitlist.Place {
	p := waitlist.Place{
		VoucherID: r.VoucherID, UserID: r.UserID, Position: r.Position, State: r.State, JoinedAt: r.CreateTime,
		OfferedAt: sqlkit.At(r.OfferTime), Deadline: sqlkit.At(r.Deadline), Attempt: r.Attempt,
		EndedAt: sqlkit.At(r.EndTime),
	}
	if r.OrderID != nil {
		p.OrderID = *r.OrderID
	}
	return p
}

type waitingListRow struct {
	VoucherID    int64 `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	LastPosition int64 `gorm:"column:last_position"`
	Open         bool  `gorm:"column:open"`
}

// TableName implements gorm's schema.Tabler.
func (waitingListRow) TableName() string { return "tb_waiting_list" }

// Join implements waitlist.Ledger. The list's row is locked until the commit, so that a place with a lower position was
// committed before one with a higher; the sale's row is not, which purchases need.
func (s *Store) Join(ctx context.Context, voucherID int64, users []int64) (map[int64]waitlist.Place, error) {
	var places map[int64]waitlist.Place
	err := s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		places = make(map[int64]waitlist.Place, len(users))
		list, err := lockWaitingList(tx, voucherID)
		if err != nil {
			return err
		}
		first, err := firstWaiting(tx, voucherID)
		if err != nil {
			return err
		}
		joining, err := withoutOpen(tx, voucherID, users, first, places)
		if err != nil || len(joining) == 0 {
			return err
		}
		live, err := usersWithOrders(tx, voucherID, joining)
		if err != nil {
			return err
		}
		now, err := s.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		var rows []placeRow
		for _, user := range joining {
			if live[user] {
				continue
			}
			list.LastPosition++
			row := placeRow{
				VoucherID: voucherID, Position: list.LastPosition, UserID: user,
				State: waitlist.Waiting, CreateTime: now,
			}
			places[user] = row.placeBehind(int64(len(first) + len(rows)))
			rows = append(rows, row)
		}
		if err := sqlkit.CreateAll(tx, rows); err != nil {
			return fmt.Errorf("inserting %d places: %w", len(rows), err)
		}
		return tx.Model(&waitingListRow{}).Where("voucher_id = ?", voucherID).
			Updates(map[string]any{"last_position": list.LastPosition, "open": true}).Error
	})
	if err != nil {
		return nil, sqlkit.ReadError(fmt.Sprintf("joining the waiting list of voucher %d", voucherID), err)
	}
	return places, nil
}

// placeBehind returns the place with so many that wait before it.
func (r placeRow) placeBehind(ahead int64) waitlist.Place {
	p := r.place()
	p.Ahead = min(ahead, waitlist.MaxCounted)
	return p
}

// lockWaitingList locks the list's row, which it creates when it is missing. Two that create it at once: one waits
// for the other, and finds it.
func lockWaitingList(tx *gorm.DB, voucherID int64) (waitingListRow, error) {
	var row waitingListRow
	find := func() error { return sqlkit.Locking(tx).Where("voucher_id = ?", voucherID).Take(&row).Error }
	err := find()
	if errors.Is(err, gorm.ErrRecordNotFound) {
		err = tx.Create(&waitingListRow{VoucherID: voucherID}).Error
		if err == nil || sqlkit.IsDuplicate(err) {
			err = find()
		}
	}
	if err != nil {
		return row, fmt.Errorf("locking the waiting list: %w", err)
	}
	return row, nil
}

// firstWaiting returns the positions of those who wait longest, as many as are counted: with them places of a batch are
// counted, instead of with a query for each.
func firstWaiting(tx *gorm.DB, voucherID int64) ([]int64, error) {
	var first []int64
	err := tx.Model(&placeRow{}).Where("voucher_id = ? AND state = ?", voucherID, waitlist.Waiting).
		Order("position").Limit(waitlist.MaxCounted).Pluck("position", &first).Error
	if err != nil {
		return nil, fmt.Errorf("reading who waits longest: %w", err)
	}
	return first, nil
}

// withoutOpen returns those of the users who have no open place, each once, and adds the places of the others. first
// are the positions of firstWaiting.
func withoutOpen(tx *gorm.DB, voucherID int64, users, first []int64, places map[int64]waitlist.Place) ([]int64, error) {
	users = sqlkit.Distinct(users, func(user int64) int64 { return user })
	for part := range sqlkit.Chunks(users) {
		var rows []placeRow
		if err := tx.Where("voucher_id = ? AND user_id IN ? AND open = 1", voucherID,
			part).Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("reading open places: %w", err)
		}
		for _, row := range rows {
			places[row.UserID] = row.place()
			if row.State == waitlist.Waiting {
				ahead, _ := slices.BinarySearch(first, row.Position)
				places[row.UserID] = row.placeBehind(int64(ahead))
			}
		}
	}
	var others []int64
	for _, user := range users {
		if _, has := places[user]; !has {
			others = append(others, user)
		}
	}
	return others, nil
}

// counted returns the place with how many wait before it, or until when its offer stands: the sale's end may have
// been moved to before its deadline.
func counted(tx *gorm.DB, row placeRow) (p waitlist.Place, err error) {
	p = row.place()
	switch row.State {
	case waitlist.Waiting:
		p.Ahead, err = waitingBefore(tx, row.VoucherID, row.Position)
	case waitlist.Offered:
		var sale saleRow
		err = tx.Select("end_time").Where("voucher_id = ?", row.VoucherID).Take(&sale).Error
		if err == nil && sale.EndTime.Before(p.Deadline) {
			p.Deadline = sale.EndTime
		}
	default:
	}
	return p, err
}

// waitingBefore counts those who wait before the position, up to waitlist.MaxCounted: it reads so many entries of an
// index.
func waitingBefore(tx *gorm.DB, voucherID, position int64) (int64, error) {
	var ahead int64
	waiting := tx.Model(&placeRow{}).Select("position").
		Where("voucher_id = ? AND state = ? AND position < ?", voucherID, waitlist.Waiting,
			position).Limit(waitlist.MaxCounted)
	if err := tx.Table("(?) w", waiting).Count(&ahead).Error; err != nil {
		return 0, fmt.Errorf("counting those who wait: %w", err)
	}
	return ahead, nil
}

// usersWithOrders returns those of the users who have a live order of the sale.
func usersWithOrders(tx *gorm.DB, voucherID int64, users []int64) (map[int64]bool, error) {
	live := make(map[int64]bool)
	for part := range sqlkit.Chunks(users) {
		var found []int64
		err := tx.Model(&orderRow{}).Where("voucher_id = ? AND live = 1 AND user_id IN ?", voucherID,
			part).Pluck("user_id", &found).Error
		if err != nil {
			return nil, fmt.Errorf("looking for live orders: %w", err)
		}
		for _, user := range found {
			live[user] = true
		}
	}
	return live, nil
}

// Place implements waitlist.Ledger: the open place, or else the latest.
func (s *Store) Place(ctx context.Context, voucherID, userID int64) (waitlist.Place, error) {
	p, err := latestPlace(s.db.Read(ctx), voucherID, userID)
	if err != nil {
		return p, sqlkit.ReadError(fmt.Sprintf("reading the place of user %d on the waiting list of voucher %d",
			userID, voucherID), err)
	}
	return p, nil
}

func latestPlace(tx *gorm.DB, voucherID, userID int64) (waitlist.Place, error) {
	var rows []placeRow
	err := tx.Where("voucher_id = ? AND user_id = ?", voucherID,
		userID).Order("position DESC").Limit(1).Find(&rows).Error
	switch {
	case err != nil:
		return waitlist.Place{}, err
	case len(rows) == 0:
		return waitlist.Place{}, waitlist.ErrNoPlace
	}
	return counted(tx, rows[0])
}

// Places implements waitlist.Ledger.
func (s *Store) Places(ctx context.Context, userID int64, limit int) ([]waitlist.Place, error) {
	const what = "reading a user's places on waiting lists"
	var rows []placeRow
	if err := s.db.Read(ctx).Where("user_id = ? AND open = 1",
		userID).Order("voucher_id DESC").Limit(limit).Find(&rows).Error; err != nil {
		return nil, sqlkit.ReadError(what, err)
	}
	places := make([]waitlist.Place, len(rows))
	for i, row := range rows {
		var err error
		if places[i], err = counted(s.db.Read(ctx), row); err != nil {
			return nil, sqlkit.ReadError(what, err)
		}
	}
	return places, nil
}

// Counts implements waitlist.Ledger.
func (s *Store) Counts(ctx context.Context, voucherID int64) (waitlist.Counts, error) {
	var rows []struct {
		State  waitlist.State
		Places int64
	}
	err := s.db.Read(ctx).Model(&placeRow{}).Select("state, COUNT(*) AS places").Where("voucher_id = ?",
		voucherID).Group("state").Find(&rows).Error
	if err != nil {
		return waitlist.Counts{}, sqlkit.ReadError(fmt.Sprintf("counting the places of voucher %d", voucherID), err)
	}
	var c waitlist.Counts
	into := map[waitlist.State]*int64{
		waitlist.Waiting: &c.Waiting, waitlist.Offered: &c.Offered, waitlist.Accepted: &c.Accepted,
		waitlist.Bought: &c.Bought,
		waitlist.Left:   &c.Left, waitlist.Missed: &c.Missed, waitlist.Refused: &c.Refused, waitlist.Over: &c.Over,
	}
	for _, row := range rows {
		if n := into[row.State]; n != nil {
			*n = row.Places
		}
	}
	return c, nil
}

// lockPlace locks and returns the user's open place, or waitlist.ErrNoPlace.
func lockPlace(tx *gorm.DB, voucherID, userID int64) (placeRow, error) {
	var row placeRow
	err := sqlkit.Locking(tx).Where("voucher_id = ? AND user_id = ? AND open = 1", voucherID, userID).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, waitlist.ErrNoPlace
	}
	if err != nil {
		return row, fmt.Errorf("locking the place: %w", err)
	}
	return row, nil
}

// save writes the columns of a place that change.
func (r placeRow) save(tx *gorm.DB) error {
	err := tx.Model(&r).Select("state", "order_id", "operation", "end_time").Updates(&r).Error
	if err != nil {
		return fmt.Errorf("writing place %d of voucher %d: %w", r.Position, r.VoucherID, err)
	}
	return nil
}

func positionsOf(places []placeRow) []int64 {
	return sqlkit.Distinct(places, func(r placeRow) int64 { return r.Position })
}

// endPlaces gives locked places of a sale their final state.
func endPlaces(tx *gorm.DB, voucherID int64, places []placeRow, state waitlist.State, now time.Time) error {
	for part := range sqlkit.Chunks(places) {
		err := tx.Model(&placeRow{}).Where("voucher_id = ? AND position IN ?", voucherID, positionsOf(part)).
			Updates(map[string]any{"state": state, "end_time": now}).Error
		if err != nil {
			return fmt.Errorf("ending %d places: %w", len(places), err)
		}
	}
	return nil
}

// forgetAccepted keeps a rebuild from taking whom an acceptance made a holder for a buyer whose order is lost: their
// order is made once a new operation has asked Redis again.
func forgetAccepted(tx *gorm.DB, voucherID int64, snap *order.Snapshot) error {
	if !snap.Voucher.Sale.HasWaitlist() {
		return nil
	}
	var rows []placeRow
	err := tx.Where("voucher_id = ? AND state = ?", voucherID, waitlist.Accepted).Find(&rows).Error
	if err != nil {
		return fmt.Errorf("reading accepted offers: %w", err)
	}
	for _, row := range rows {
		if row.OrderID != nil && snap.Live[row.UserID].OrderID != *row.OrderID {
			snap.Dead[*row.OrderID] = true
		}
	}
	return nil
}

// PlaceSums returns what has become of a sale's places. It walks them by their index, without locks.
func (s *Store) PlaceSums(ctx context.Context, voucherID int64) (waitlist.Sums, error) {
	var rows []struct {
		State             waitlist.State
		Offered, Accepted bool
		Places            int64
	}
	err := s.db.Read(ctx).Raw("SELECT state, CASE WHEN offer_time IS NULL THEN 0 ELSE 1 END AS offered, "+
		"CASE WHEN order_id IS NULL THEN 0 ELSE 1 END AS accepted, COUNT(*) AS places FROM tb_place WHERE voucher_id "+
		"= ? GROUP BY state, offered, accepted", voucherID).Find(&rows).Error
	if err != nil {
		return waitlist.Sums{},
			sqlkit.ReadError(fmt.Sprintf("adding up the waiting list of voucher %d", voucherID), err)
	}
	var w waitlist.Sums
	for _, row := range rows {
		w.Joined += row.Places
		if row.Accepted {
			w.Accepted += row.Places
		}
		switch {
		case row.State == waitlist.Waiting:
			w.Waiting += row.Places
		case !row.Offered: // it ended before it had an offer
			continue
		case row.State.Open():
			w.Open += row.Places
		case row.State == waitlist.Bought:
			w.Bought += row.Places
		default:
			w.Passed += row.Places
		}
	}
	w.Offered = w.Open + w.Bought + w.Passed
	return w, nil
}
