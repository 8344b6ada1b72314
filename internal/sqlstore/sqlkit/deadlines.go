package sqlkit

import (
	"fmt"
	"time"

	"gorm.io/gorm"
)

// Payment deadlines and windows of waiting lists stop while the ledger is away: nobody could pay or accept then. Once a
// second a job that ends deadlines notes the time. After a gap nothing expires and no window is missed for a while, and
// what is paid or accepted until then is in time; no deadline is moved.
const (
	deadlineGap   = 5 * time.Second  // a longer gap means that the ledger was away
	deadlineGrace = 30 * time.Second // for so long deadlines do not count afterwards
	deadlineEvery = 5 * time.Minute  // from the beginning of one such time to that of the next, at least
	deadlineBeat  = time.Second
)

// The rows of tb_fence that keep the times, in milliseconds since 1970: the last note, and the beginning of the last
// time in which deadlines did not count.
const (
	noteFence  = "deadlines"
	graceFence = "deadlines stopped"
)

// deadlineNotes are the two times.
type deadlineNotes struct{ last, grace time.Time }

func readNotes(tx *gorm.DB) (n deadlineNotes, err error) {
	var rows []FenceRow
	if err := tx.Where("name IN ?", []string{noteFence, graceFence}).Find(&rows).Error; err != nil {
		return n, fmt.Errorf("reading when deadlines stopped: %w", err)
	}
	for _, r := range rows {
		if at := time.UnixMilli(r.Token).UTC(); r.Name == noteFence {
			n.last = at
		} else {
			n.grace = at
		}
	}
	return n, nil
}

// gap reports whether the ledger was away until now, and deadlines may stop again.
func (n deadlineNotes) gap(now time.Time) bool {
	return !n.last.IsZero() && now.Sub(n.last) > deadlineGap && now.Sub(n.grace) >= deadlineEvery
}

// stopped reports whether deadlines do not count at the time now.
func (n deadlineNotes) stopped(now time.Time) bool {
	return now.Sub(n.grace) < deadlineGrace && !now.Before(n.grace) || n.gap(now)
}

// DeadlinesStopped reports whether no deadline counts at the ledger's time now.
func DeadlinesStopped(tx *gorm.DB, now time.Time) (bool, error) {
	n, err := readNotes(tx)
	return n.stopped(now), err
}

// NoteDeadlines notes that the ledger is there, at its time now, and reports whether no deadline counts. Jobs that end
// deadlines call it, at the beginning of a transaction, before they look for what is due.
func NoteDeadlines(tx *gorm.DB, now time.Time) (stopped bool, err error) {
	n, err := readNotes(tx)
	if err != nil {
		return false, err
	}
	rows := []FenceRow{{Name: noteFence, Token: now.UnixMilli()}}
	switch {
	case n.gap(now):
		rows = append(rows, FenceRow{Name: graceFence, Token: now.UnixMilli()})
	case now.Sub(n.last) < deadlineBeat && !now.Before(n.last):
		return n.stopped(now), nil
	}
	for _, row := range rows {
		if err := tx.Save(&row).Error; err != nil {
			return false, fmt.Errorf("noting that the ledger is there: %w", err)
		}
	}
	return n.stopped(now), nil
}
