package waitlist

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"

	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// Place implements Lists.
func (l *Ledger) Place(ctx context.Context, voucherID, userID int64) (Place, error) {
	p, err := latestPlace(l.db.Read(ctx), voucherID, userID)
	return p, sqlkit.ReadError(fmt.Sprintf("reading the place of user %d on the waiting list of voucher %d", userID,
		voucherID), err)
}

func latestPlace(tx *gorm.DB, voucherID, userID int64) (Place, error) {
	var rows []placeRow
	err := tx.Where("voucher_id = ? AND user_id = ?", voucherID, userID).Order("position DESC").Limit(1).
		Find(&rows).Error
	switch {
	case err != nil:
		return Place{}, err
	case len(rows) == 0:
		return Place{}, ErrNoPlace
	}
	return shown(tx, rows[0])
}

// Places implements Lists.
func (l *Ledger) Places(ctx context.Context, userID int64, limit int) ([]Place, error) {
	const what = "reading a user's places on waiting lists"
	var rows []placeRow
	err := l.db.Read(ctx).Where("user_id = ? AND open = 1", userID).Order("voucher_id DESC").Limit(limit).
		Find(&rows).Error
	if err != nil {
		return nil, sqlkit.ReadError(what, err)
	}
	places := make([]Place, len(rows))
	for i, row := range rows {
		if places[i], err = shown(l.db.Read(ctx), row); err != nil {
			return nil, sqlkit.ReadError(what, err)
		}
	}
	return places, nil
}

// shown returns the place with the number of places before it, or with the end of its invitation: the sale may end
// before the deadline.
func shown(tx *gorm.DB, row placeRow) (p Place, err error) {
	p = row.place()
	switch row.State {
	case Waiting:
		p.Ahead, err = waitingBefore(tx, row)
	case Invited:
		var sales []struct {
			EndTime time.Time
			Paused  bool
			Status  voucher.Status
		}
		err = tx.Table("tb_seckill_voucher s").Select("s.end_time", "s.paused", "v.status").
			Joins("JOIN tb_voucher v ON v.id = s.voucher_id").Where("s.voucher_id = ?", row.VoucherID).
			Find(&sales).Error
		if err == nil && len(sales) > 0 {
			s := sales[0]
			p.Paused = s.Paused || s.Status != voucher.OnShelf
			if s.EndTime.Before(p.Deadline) {
				p.Deadline = s.EndTime
			}
		}
	default:
	}
	return p, err
}

// waitingBefore counts the places before a waiting place. It reads at most MaxCounted entries of an index.
func waitingBefore(tx *gorm.DB, row placeRow) (int64, error) {
	var ahead int64
	waiting := tx.Model(&placeRow{}).Select("position").Where("voucher_id = ? AND state = ?", row.VoucherID, Waiting)
	if row.Missed == 0 {
		waiting = waiting.Where("missed = 0 AND position < ?", row.Position)
	} else {
		waiting = waiting.Where("(missed < ? OR missed = ? AND position < ?)", row.Missed, row.Missed, row.Position)
	}
	if err := tx.Table("(?) w", waiting.Limit(MaxCounted)).Count(&ahead).Error; err != nil {
		return 0, fmt.Errorf("counting those who wait: %w", err)
	}
	return ahead, nil
}

// Counts implements Lists, without locks. What it says of a long list is up to countsFor old.
func (l *Ledger) Counts(ctx context.Context, voucherID int64) (Counts, error) {
	what := fmt.Sprintf("counting the places of voucher %d", voucherID)
	var lists []listRow
	if err := l.db.Read(ctx).Where("voucher_id = ?", voucherID).Find(&lists).Error; err != nil {
		return Counts{}, sqlkit.ReadError(what, err)
	}
	long := len(lists) > 0 && lists[0].LastPosition > longList
	var c countsAt
	known := false
	if long { // one at a time
		l.counted.Lock()
		defer l.counted.Unlock()
		c, known = l.counted.of[voucherID]
	}
	if now := l.db.Clock(); !long || !known || now.Sub(c.at) >= countsFor || now.Before(c.at) {
		var err error
		if c.Counts, err = l.count(ctx, voucherID); err != nil {
			return Counts{}, sqlkit.ReadError(what, err)
		}
		if long {
			c.at = now
			l.counted.of[voucherID] = c
		}
	}
	var kept []int64
	err := l.db.Read(ctx).Table("tb_seckill_voucher").Where("voucher_id = ?", voucherID).Pluck("kept", &kept).Error
	if err != nil {
		return Counts{}, sqlkit.ReadError(what, err)
	}
	for _, units := range kept {
		c.Kept = units
	}
	return c.Counts, nil
}

// count reads all places of a list.
func (l *Ledger) count(ctx context.Context, voucherID int64) (Counts, error) {
	var rows []struct {
		State             State
		Invited, Accepted bool
		Places, Missed    int64
	}
	err := l.db.Read(ctx).Raw("SELECT state, CASE WHEN invite_time IS NULL THEN 0 ELSE 1 END AS invited, "+
		"CASE WHEN order_id IS NULL THEN 0 ELSE 1 END AS accepted, COUNT(*) AS places, SUM(missed) AS missed "+
		"FROM tb_place WHERE voucher_id = ? GROUP BY state, invited, accepted", voucherID).Find(&rows).Error
	c := Counts{States: make(map[State]int64, len(rows))}
	for _, row := range rows {
		c.States[row.State] += row.Places
		c.Joined, c.Missed = c.Joined+row.Places, c.Missed+row.Missed
		if row.Invited {
			c.Invited += row.Places
		}
		if row.Accepted {
			c.Accepted += row.Places
		}
	}
	return c, err
}

const (
	// longList is how many places a list has at most that is counted for each question.
	longList = 10_000
	// countsFor is how long the counts of a longer one are kept: counting a million places takes a second.
	countsFor = 10 * time.Second
)

// counted has the counts of long lists.
type counted struct {
	sync.Mutex
	of map[int64]countsAt
}

type countsAt struct {
	Counts
	at time.Time
}

// dueLists is how many lists one look finds at most.
const dueLists = 100

// Due returns the open lists with a turn that is due, without locks. No window passes while deadlines are stopped.
// Error: order.ErrUnavailable.
func (l *Ledger) Due(ctx context.Context) ([]int64, error) {
	ids, err := l.due(ctx, true)
	if err != nil || len(ids) == 0 {
		return ids, err
	}
	db := l.db.Read(ctx)
	now, err := l.db.LedgerTime(db)
	if err != nil {
		return nil, sqlkit.ReadError("reading the time", err)
	}
	stopped, err := sqlkit.DeadlinesStopped(db, now)
	if err != nil {
		return nil, sqlkit.ReadError("looking whether deadlines are stopped", err)
	}
	if stopped {
		return l.due(ctx, false)
	}
	return ids, nil
}

// due returns the lists with a turn that is due. A window that has passed makes a list due only if windows is true.
func (l *Ledger) due(ctx context.Context, windows bool) ([]int64, error) {
	places := func(where string) string {
		return "EXISTS (SELECT 1 FROM tb_place p WHERE p.voucher_id = l.voucher_id AND " + where + ")"
	}
	const stands = "(s.paused = @true OR v.status <> @shelf)"
	waiting := places("p.state = @waiting")
	var ids []int64
	err := l.db.Read(ctx).Raw("SELECT l.voucher_id FROM tb_waiting_list l "+
		"JOIN tb_seckill_voucher s ON s.voucher_id = l.voucher_id JOIN tb_voucher v ON v.id = l.voucher_id "+
		"WHERE l.open = @true AND ("+
		// the sale has ended, or was paused or resumed; a sale that was called off is neither
		"s.end_time <= @now AND (l.invited > 0 OR "+waiting+") "+
		"OR s.called_off IS NULL AND "+stands+" <> (l.paused_at IS NOT NULL) "+
		// a unit for a waiting user; a window that has passed
		"OR NOT "+stands+" AND (s.kept - s.accepted > l.invited AND "+waiting+
		" OR @windows AND l.invited > 0 AND "+places("p.state = @invited AND p.deadline <= @now")+") "+
		// an acceptance is decided, or void
		"OR "+places("p.state = @accepted AND NOT EXISTS (SELECT 1 FROM tb_voucher_operation o "+
		"WHERE o.voucher_id = p.voucher_id AND o.number = p.operation AND o.state = @pending)")+
		// nobody waits
		" OR l.invited = 0 AND s.accepted = 0 AND NOT "+waiting+
		") ORDER BY l.voucher_id LIMIT @limit",
		map[string]any{
			"true": true, "windows": windows, "now": l.db.LedgerClock(), "shelf": voucher.OnShelf, "waiting": Waiting,
			"invited": Invited, "accepted": Accepted, "pending": sqlkit.OperationPending, "limit": dueLists,
		}).Find(&ids).Error
	return ids, sqlkit.ReadError("looking for waiting lists with something due", err)
}
