package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/sqlstore/sqlkit"
)

// streamRow is the one row of tb_event_stream.
type streamRow struct {
	ID         int        `gorm:"column:id;primaryKey;autoIncrement:false"`
	CursorKey  []byte     `gorm:"column:cursor_key"`
	Gone       int64      `gorm:"column:gone"`
	Epoch      int64      `gorm:"column:epoch"`
	AllSince   *time.Time `gorm:"column:all_since"`
	AllUntil   *time.Time `gorm:"column:all_until"`
	CreateTime time.Time  `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (*streamRow) TableName() string { return "tb_event_stream" }

const (
	streamID   = 1
	cursorKeys = 16 // bytes of a key
)

// theStream returns the row, or dispatch.ErrNoStream.
func theStream(db *gorm.DB) (streamRow, error) {
	return sqlkit.Take[streamRow](db.Where("id = ?", streamID), dispatch.ErrNoStream, "reading the stream of events")
}

// OpenStream implements dispatch.Stream. Earlier events are gone if one of them is: a version that knows no stream may
// have deleted it.
func (l *Ledger) OpenStream(ctx context.Context) error {
	key := make([]byte, cursorKeys)
	_, _ = rand.Read(key) // it never fails: without randomness the program ends
	err := l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		var sequence sequenceRow
		if err := sqlkit.Locking(tx).Where("id = 1").Take(&sequence).Error; err != nil {
			return fmt.Errorf("locking the sequence: %w", err)
		}
		missing, err := anyMissing(tx, sequence.Number)
		if err != nil {
			return err
		}
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		row := streamRow{ID: streamID, CursorKey: key, CreateTime: now}
		if missing {
			row.Gone = sequence.Number
		}
		return tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error
	})
	return sqlkit.ReadError("opening the stream of events", err)
}

// anyMissing reports whether not all events up to a number are there. It counts them only if the first one is there.
func anyMissing(tx *gorm.DB, last int64) (bool, error) {
	var first []int64
	err := tx.Model(&eventRow{}).Where("number IS NOT NULL").Order("number").Limit(1).Pluck("number", &first).Error
	if err != nil {
		return false, fmt.Errorf("looking for the first event: %w", err)
	}
	if len(first) == 0 || first[0] != 1 {
		return last > 0, nil
	}
	var kept int64
	if err := tx.Model(&eventRow{}).Where("number IS NOT NULL").Count(&kept).Error; err != nil {
		return false, fmt.Errorf("counting events: %w", err)
	}
	return kept < last, nil
}

// endStream removes the row, so that all cursors end: a restored ledger gives numbers out again. It is a sqlkit.Hook's
// Restored.
func endStream(tx *gorm.DB) error { return tx.Delete(&streamRow{ID: streamID}).Error }

// WriteAll has events of all shops written from now on, and for at least as long from now. Error: dispatch.ErrNoStream.
func (l *Ledger) WriteAll(ctx context.Context, atLeast time.Duration) error {
	err := l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		row, err := theStream(sqlkit.Locking(tx))
		if err != nil {
			return err
		}
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		until := now.Add(atLeast)
		if row.AllSince == nil {
			if row.AllSince, err = beginsAt(tx, now); err != nil {
				return err
			}
			row.Epoch++
		}
		row.AllUntil = &until
		return tx.Model(&row).Select("epoch", "all_since", "all_until").Updates(&row).Error
	})
	if err != nil {
		return sqlkit.ReadError("having events of all shops written", err)
	}
	l.subscribed.forget()
	return nil
}

// beginsAt returns since when events of all shops are written if they begin to be now. In a ledger without vouchers, no
// transaction can be under way that writes none.
func beginsAt(tx *gorm.DB, now time.Time) (*time.Time, error) {
	var vouchers []int64
	if err := tx.Table("tb_voucher").Limit(1).Pluck("id", &vouchers).Error; err != nil {
		return nil, fmt.Errorf("looking for vouchers: %w", err)
	}
	if len(vouchers) == 0 {
		now = now.Add(-dispatch.StreamSettles)
	}
	return &now, nil
}

// LeaveAll ends what WriteAll has begun, unless an instance still wants it.
func (l *Ledger) LeaveAll(ctx context.Context) error {
	const what = "ending that events of all shops are written"
	switch row, err := theStream(l.db.Read(ctx)); {
	case errors.Is(err, dispatch.ErrNoStream), err == nil && row.AllSince == nil:
		return nil
	case err != nil:
		return sqlkit.ReadError(what, err)
	}
	err := l.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		return tx.Model(&streamRow{ID: streamID}).Where("all_until < ?", now).
			Updates(map[string]any{"all_since": nil, "all_until": nil}).Error
	})
	return sqlkit.ReadError(what, err)
}

// Events implements dispatch.Stream. It reads the last number first: a reader that sees a number sees all lower
// ones (NumberEvents). It reads last which events are gone, so that none is deleted meanwhile unnoticed.
func (l *Ledger) Events(ctx context.Context, q dispatch.StreamQuery) (dispatch.StreamPage, error) {
	page, err := l.events(l.db.Read(ctx), q)
	if errors.Is(err, errAhead) {
		if err = l.endCursors(ctx); err == nil {
			page, err = l.events(l.db.Read(ctx), q)
		}
	}
	return page, sqlkit.ReadError("reading events", err)
}

func (l *Ledger) events(db *gorm.DB, q dispatch.StreamQuery) (page dispatch.StreamPage, err error) {
	stream, err := theStream(db)
	if errors.Is(err, dispatch.ErrNoStream) {
		return page, l.mayOpen(db, q.ShopID)
	}
	if err != nil {
		return page, err
	}
	covers, err := l.coversOf(db, &stream, q.ShopID)
	if err != nil {
		return page, err
	}
	var sequence sequenceRow
	if err := db.Where("id = 1").Take(&sequence).Error; err != nil {
		return page, err
	}
	at, err := covers.position(q, &stream, sequence.Number)
	if err != nil {
		return page, err
	}
	var to int64
	if q.Back {
		page.Events, to, err = streamedBack(db, q, at)
		page.More = to > 0
	} else {
		page.Events, to, err = streamed(db, q, at, sequence.Number)
		page.More = to < sequence.Number
	}
	if err != nil {
		return page, err
	}
	later, err := theStream(db)
	if err != nil {
		return page, err
	}
	if !bytes.Equal(later.CursorKey, stream.CursorKey) || !q.Back && at < later.Gone {
		return dispatch.StreamPage{}, covers.gone(&later)
	}
	page.Next, err = dispatch.Position{Number: to, Since: covers.now}.Seal(stream.CursorKey)
	return page, err
}

// errAhead: a cursor is behind an event that is not there any more, as the database has lost its last events. It gives
// their numbers to others, so no cursor is to be trusted.
var errAhead = errors.New("a cursor is ahead of all events")

// endCursors ends all cursors.
func (l *Ledger) endCursors(ctx context.Context) error {
	key := make([]byte, cursorKeys)
	_, _ = rand.Read(key) // it never fails: without randomness the program ends
	return l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		return tx.Model(&streamRow{ID: streamID}).Update("cursor_key", key).Error
	})
}

// mayOpen returns dispatch.ErrNoStream if a reader of a shop, or with 0 of all shops, may open the stream: an admin for
// whom events are written. From then on no version 1.0 starts, which no merchant decides.
func (l *Ledger) mayOpen(db *gorm.DB, shopID int64) error {
	switch {
	case l.subscribed.all && shopID != 0:
		return dispatch.ErrSettling // this instance opens it without a reader
	case l.subscribed.all:
		return dispatch.ErrNoStream
	case shopID != 0:
		return dispatch.ErrNotWritten
	}
	c, err := l.coversOf(db, &streamRow{}, shopID)
	if err == nil && len(c.endpoints) == 0 {
		err = dispatch.ErrNotWritten
	}
	return cmp.Or(err, dispatch.ErrNoStream)
}

// streamed returns the events behind a number that the query selects, up to the last number, and the number up to which
// it has read.
func streamed(db *gorm.DB, q dispatch.StreamQuery, after, last int64) ([]dispatch.Event, int64, error) {
	query := ofShop(db.Model(&eventRow{}), q.ShopID).Where("number > ? AND number <= ?", after, last).Order("number").
		Session(&gorm.Session{})
	to := last
	if len(q.Types) > 0 {
		var end []int64
		if err := query.Offset(eventsLookedAt-1).Limit(1).Pluck("number", &end).Error; err != nil {
			return nil, 0, err
		}
		if len(end) > 0 {
			to = end[0]
		}
		query = query.Where("type IN ? AND number <= ?", q.Types, to)
	}
	var rows []eventRow
	if err := query.Limit(q.Limit + 1).Find(&rows).Error; err != nil {
		return nil, 0, err
	}
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		to = *rows[q.Limit-1].Number
	}
	return sqlkit.Map(rows, (*eventRow).event), max(to, after), nil
}

// streamedBack returns the events up to a number that the query selects, newest first, and the number up to which
// others may follow; 0: none do.
func streamedBack(db *gorm.DB, q dispatch.StreamQuery, last int64) ([]dispatch.Event, int64, error) {
	rows, before, err := newest(db, q.ShopID, q.Types, last+1, q.Limit)
	return sqlkit.Map(rows, (*eventRow).event), max(before-1, 0), err
}

// covers are the reasons why events of a reader's shops are written.
type covers struct {
	now       dispatch.Cover // that a cursor names which is sealed now
	settling  bool           // there are some, all of them new
	endpoints map[int64]bool
}

// coversOf returns the reasons why events of a shop are written, or with 0 of all shops.
func (l *Ledger) coversOf(db *gorm.DB, stream *streamRow, shopID int64) (c covers, err error) {
	now, err := l.db.LedgerTime(db)
	if err != nil {
		return c, err
	}
	var rows []endpointRow
	err = db.Select("id", "create_time").Where("shop_id IN ?", []int64{0, shopID}).Order("id").Find(&rows).Error
	if err != nil {
		return c, fmt.Errorf("reading which endpoints there are: %w", err)
	}
	settled := func(since time.Time) bool { return now.Sub(since) >= dispatch.StreamSettles }
	if stream.AllSince == nil {
		c.settling = l.subscribed.all // this instance is about to have all written
	} else {
		c.settling = !settled(*stream.AllSince)
		if !c.settling {
			c.now.Epoch = stream.Epoch
		}
	}
	c.endpoints = make(map[int64]bool, len(rows))
	for i := range rows {
		c.endpoints[rows[i].ID] = true
		switch {
		case c.now != dispatch.Cover{}:
		case settled(rows[i].CreateTime):
			c.now.Endpoint = rows[i].ID
		default:
			c.settling = true
		}
	}
	return c, nil
}

// position returns the number behind which a page begins, or up to which one backwards goes. Errors:
// *dispatch.GoneError, dispatch.ErrNotWritten, dispatch.ErrSettling, errAhead.
func (c *covers) position(q dispatch.StreamQuery, stream *streamRow, last int64) (int64, error) {
	after := q.After
	switch {
	case c.now == dispatch.Cover{} && after.Cursor == nil:
		return 0, c.none()
	case after.End:
		return last, nil
	case after.Cursor == nil:
		return stream.Gone, nil
	}
	p, ok, err := after.Cursor.Open(stream.CursorKey)
	if err != nil {
		return 0, err
	}
	written := c.endpoints[p.Since.Endpoint] ||
		p.Since.Epoch != 0 && p.Since.Epoch == stream.Epoch && stream.AllSince != nil
	if !ok || !written || !q.Back && p.Number < stream.Gone {
		return 0, c.gone(stream)
	}
	if p.Number > last {
		return 0, errAhead
	}
	return p.Number, nil
}

// gone returns the error for a cursor behind which events are missing, with where to begin instead.
func (c *covers) gone(stream *streamRow) error {
	if c.now == (dispatch.Cover{}) {
		return c.none()
	}
	begin, err := dispatch.Position{Number: stream.Gone, Since: c.now}.Seal(stream.CursorKey)
	return cmp.Or[error](err, &dispatch.GoneError{Begin: begin})
}

// none returns why nobody can begin to read.
func (c *covers) none() error {
	if c.settling {
		return dispatch.ErrSettling
	}
	return dispatch.ErrNotWritten
}

// raiseGone notes that events up to a number were deleted.
func raiseGone(tx *gorm.DB, number int64) error {
	return tx.Model(&streamRow{ID: streamID}).Where("gone < ?", number).Update("gone", number).Error
}
