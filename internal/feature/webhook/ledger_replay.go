package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// eventsLookedAt is how many events a page of those of some types looks at: no index has the types, and an event may be
// one in a million.
const eventsLookedAt = 400

// Deliveries implements dispatch.Log.
func (l *Ledger) Deliveries(
	ctx context.Context, endpointID, before int64, n int,
) (found []dispatch.Delivery, next int64, err error) {
	what := fmt.Sprintf("reading events of webhook endpoint %d", endpointID)
	endpoint, err := findEndpoint(l.db.Read(ctx), endpointID)
	if err != nil {
		return nil, 0, sqlkit.ReadError(what, err)
	}
	e := endpoint.endpoint()
	rows, next, err := newest(l.db.Read(ctx), e.ShopID, e.Types, before, n)
	if err != nil {
		return nil, 0, sqlkit.ReadError(what, err)
	}
	found, err = l.deliveriesOf(ctx, e, sqlkit.Map(rows, (*eventRow).event))
	return found, next, sqlkit.ReadError(what, err)
}

// newest returns the newest n events of a shop (0: of all) and of some types (none: of all) with numbers below before,
// and the number below which more may follow, 0 if there are none.
func newest(
	db *gorm.DB, shopID int64, types []dispatch.Type, before int64, n int,
) (rows []eventRow, next int64, err error) {
	query := ofShop(db.Model(&eventRow{}), shopID).Where("number < ?", before).Order("number DESC").
		Session(&gorm.Session{})
	selected := query
	if len(types) > 0 {
		var last []int64 // of those that it looks at, if there are more
		if err := query.Offset(eventsLookedAt-1).Limit(2).Pluck("number", &last).Error; err != nil {
			return nil, 0, err
		}
		if len(last) > 1 {
			next = last[0]
		}
		selected = query.Where("type IN ? AND number >= ?", types, next)
	}
	if err := selected.Limit(n + 1).Find(&rows).Error; err != nil {
		return nil, 0, err
	}
	if len(rows) > n {
		rows = rows[:n]
		next = *rows[n-1].Number
	}
	return rows, next, nil
}

// Delivery implements dispatch.Log.
func (l *Ledger) Delivery(
	ctx context.Context, endpointID int64, id dispatch.EventID, before int64,
) ([]dispatch.Delivery, error) {
	endpoint, err := findEndpoint(l.db.Read(ctx), endpointID)
	var found []dispatch.Delivery
	if err == nil {
		var event eventRow
		event, err = eventOf(l.db.Read(ctx).Where("number < ?", before), &endpoint, id)
		if errors.Is(err, dispatch.ErrNoEvent) {
			return nil, nil
		}
		if err == nil {
			found, err = l.deliveriesOf(ctx, endpoint.endpoint(), []dispatch.Event{event.event()})
		}
	}
	return found, sqlkit.ReadError(fmt.Sprintf("reading event %s of webhook endpoint %d", id, endpointID), err)
}

// eventOf returns an event that the query selects, or dispatch.ErrNoEvent if it is none for the endpoint.
func eventOf(query *gorm.DB, endpoint *endpointRow, id dispatch.EventID) (eventRow, error) {
	query = ofShop(query.Where("subject = ? AND subject_number = ?", id.Subject, id.Number), endpoint.ShopID)
	event, err := sqlkit.Take[eventRow](query, dispatch.ErrNoEvent, "reading the event")
	if err == nil && !endpoint.endpoint().Wants(event.Type) {
		err = dispatch.ErrNoEvent
	}
	return event, err
}

// deliveriesOf returns the delivery of each event.
func (l *Ledger) deliveriesOf(
	ctx context.Context, e dispatch.Endpoint, events []dispatch.Event,
) ([]dispatch.Delivery, error) {
	retries := make(map[order.Subject]*dispatch.Retry)
	dead := make(map[int64]*dispatch.DeadLetter)
	subjects := sqlkit.Distinct(events, func(e dispatch.Event) order.Subject { return e.Subject })
	for part := range sqlkit.Chunks(subjects) {
		var rows []retryRow
		if err := l.db.Read(ctx).Where("endpoint_id = ? AND subject IN ?", e.ID, part).Find(&rows).Error; err != nil {
			return nil, err
		}
		for i := range rows {
			retry := rows[i].retry()
			retries[retry.Subject] = &retry
		}
	}
	for part := range sqlkit.Chunks(sqlkit.Distinct(events, func(e dispatch.Event) int64 { return e.Number })) {
		var rows []deadLetterRow
		if err := l.db.Read(ctx).Where("endpoint_id = ? AND number IN ?", e.ID, part).Find(&rows).Error; err != nil {
			return nil, err
		}
		for _, r := range rows {
			dead[r.Number] = &dispatch.DeadLetter{Number: r.Number, Attempts: r.Attempts, Failure: r.Failure}
		}
	}
	deliveries := make([]dispatch.Delivery, len(events))
	for i, event := range events {
		deliveries[i] = dispatch.DeliveryOf(e, event, retries[event.Subject], dead[event.Number])
	}
	return deliveries, nil
}

// DeadLetters implements dispatch.Log.
func (l *Ledger) DeadLetters(
	ctx context.Context, endpointID, before int64, n int,
) (letters []dispatch.Delivery, next int64, err error) {
	what := fmt.Sprintf("reading dead letters of webhook endpoint %d", endpointID)
	if _, err := findEndpoint(l.db.Read(ctx), endpointID); err != nil {
		return nil, 0, sqlkit.ReadError(what, err)
	}
	var rows []deadLetterRow
	err = l.db.Read(ctx).Where("endpoint_id = ? AND number < ?", endpointID,
		before).Order("number DESC").Limit(n + 1).Find(&rows).Error
	if err != nil {
		return nil, 0, sqlkit.ReadError(what, err)
	}
	if len(rows) > n {
		rows = rows[:n]
		next = rows[n-1].Number
	}
	var events []eventRow
	numbers := sqlkit.Distinct(rows, func(r deadLetterRow) int64 { return r.Number })
	if err := l.db.Read(ctx).Where("number IN ?", append(numbers, 0)).Find(&events).Error; err != nil {
		return nil, 0, sqlkit.ReadError(what, err)
	}
	byNumber := make(map[int64]dispatch.Event, len(events))
	for i := range events {
		e := events[i].event()
		byNumber[e.Number] = e
	}
	letters = make([]dispatch.Delivery, len(rows))
	for i, r := range rows {
		e := byNumber[r.Number]
		e.Number = r.Number
		letters[i] = dispatch.Delivery{
			Event: e, State: dispatch.Dead, Attempts: r.Attempts, Failure: r.Failure, DeadAt: r.CreateTime,
		}
	}
	return letters, next, nil
}

// ReplayEvent implements dispatch.Log.
func (l *Ledger) ReplayEvent(ctx context.Context, endpointID int64, id dispatch.EventID, by voucher.Author) error {
	err := l.onEndpoint(ctx, endpointID, func(tx *gorm.DB, row *endpointRow, now time.Time) error {
		event, err := eventOf(tx.Where("number < ?", row.NextNumber), row, id)
		if err != nil {
			return err
		}
		number := *event.Number
		retry := newRetryRow(row.ID, dispatch.Retry{Subject: id.Subject, Number: number, DueAt: now})
		if err := putRetries(tx, l.db.Dialect(), []retryRow{retry}); err != nil {
			return err
		}
		if err := tx.Where("endpoint_id = ? AND number = ?", row.ID,
			number).Delete(&deadLetterRow{}).Error; err != nil {
			return err
		}
		return l.auditEndpoint(tx, now, by, voucher.Replayed, row,
			[]voucher.FieldChange{{Field: "eventId", To: id.String()}})
	})
	return sqlkit.ReadError(fmt.Sprintf("replaying event %s to webhook endpoint %d", id, endpointID), err)
}

// ReplayTime implements dispatch.Log. If a range is already being sent again, the new range is joined with it.
func (l *Ledger) ReplayTime(
	ctx context.Context, endpointID int64, from, to time.Time, by voucher.Author,
) (events int64, err error) {
	err = l.onEndpoint(ctx, endpointID, func(tx *gorm.DB, row *endpointRow, now time.Time) error {
		// A merchant must not learn how much other shops sell.
		theirs := ofShop(tx.Model(&eventRow{}), row.ShopID).Session(&gorm.Session{})
		bound := func(order string) (int64, error) {
			var numbers []int64
			err := theirs.Where("create_time >= ? AND create_time < ? AND number < ?",
				from.UTC(), to.UTC(), row.NextNumber).
				Order(order).Limit(1).Pluck("number", &numbers).Error
			if err != nil || len(numbers) == 0 {
				return 0, err
			}
			return numbers[0], nil
		}
		first, err := bound("number")
		if err != nil {
			return err
		}
		last, err := bound("number DESC")
		if err != nil {
			return err
		}
		if first == 0 {
			return dispatch.ErrNoEvent
		}
		next, end := first, last+1
		if row.ReplayNext < row.ReplayEnd {
			next, end = min(next, row.ReplayNext), max(end, row.ReplayEnd)
		}
		row.ReplayNext, row.ReplayEnd = next, end
		if err := tx.Model(row).Select("replay_next", "replay_end").Updates(row).Error; err != nil {
			return err
		}
		again := tx.Where("number >= ? AND number < ?", next, end).Session(&gorm.Session{})
		if events = end - next; row.ShopID != 0 {
			if err := ofShop(again.Model(&eventRow{}), row.ShopID).Count(&events).Error; err != nil {
				return err
			}
		}
		if err := again.Where("endpoint_id = ?", row.ID).Delete(&deadLetterRow{}).Error; err != nil {
			return err
		}
		return l.auditEndpoint(tx, now, by, voucher.Replayed, row, []voucher.FieldChange{
			{Field: "from", To: from.Format(time.RFC3339)}, {Field: "to", To: to.Format(time.RFC3339)},
		})
	})
	return events, sqlkit.ReadError(fmt.Sprintf("replaying events to webhook endpoint %d", endpointID), err)
}

// oldEvents selects the next n numbered events that are older than a time, from old to new.
const oldEvents = `SELECT id, number, create_time FROM tb_webhook_event
WHERE number IS NOT NULL AND create_time < @before AND create_time >= @at AND (create_time > @at OR id > @id)
ORDER BY create_time, id LIMIT @n`

// deletable selects, among some events, the old ones that no enabled endpoint still waits for. It leaves out events
// with a dead letter.
const deletable = `SELECT e.id FROM tb_webhook_event e
WHERE e.id IN @ids AND e.create_time < @before
AND NOT EXISTS (SELECT 1 FROM tb_webhook_endpoint p
    WHERE p.disabled_time IS NULL AND (p.shop_id = 0 OR p.shop_id = e.shop_id)
    AND (p.next_number <= e.number OR (p.replay_next <= e.number AND e.number < p.replay_end)))
AND NOT EXISTS (SELECT 1 FROM tb_webhook_endpoint p JOIN tb_webhook_retry r ON r.endpoint_id = p.id
    WHERE p.disabled_time IS NULL AND r.subject = e.subject AND r.number <= e.number)
AND NOT EXISTS (SELECT 1 FROM tb_webhook_dead_letter d WHERE d.number = e.number)`

// Place is the position of an event among all events, from old to new.
type Place struct {
	At time.Time
	ID int64
}

// Cleaned is the result of cleaning.
type Cleaned struct {
	To      Place // the last event that was looked at
	All     bool  // it has looked at all old events
	Deleted int   // the number of events and dead letters that it deleted
}

// Clean looks at up to n events behind from that are older than keep: it deletes those that no enabled endpoint waits
// for. At the beginning, it first deletes up to n dead letters older than keepDead, as an event with one stays; if
// there were n, it looks at no events, and begins again. Rows are chosen without locks and deleted by their keys, so
// nobody waits for it. Error: order.ErrUnavailable.
func (l *Ledger) Clean(
	ctx context.Context, from Place, keep, keepDead time.Duration, n int,
) (Cleaned, error) {
	var done Cleaned
	err := l.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		done = Cleaned{}
		at := from.At.UTC()
		if from.At.IsZero() {
			at = time.Unix(0, 0).UTC() // MySQL cannot compare with a date of zeros
			letters, err := deleteDeadLetters(tx, now.Add(-keepDead), n)
			if done = (Cleaned{Deleted: letters}); err != nil || letters == n {
				return err
			}
		}
		var rows []eventRow
		params := map[string]any{"before": now.Add(-keep), "at": at, "id": from.ID, "n": n}
		if err := tx.Raw(oldEvents, params).Find(&rows).Error; err != nil {
			return err
		}
		if done.All = len(rows) < n; len(rows) == 0 {
			return nil
		}
		done.To = Place{At: rows[len(rows)-1].CreateTime, ID: rows[len(rows)-1].ID}
		events, err := deleteEvents(tx, rows, now.Add(-keep))
		done.Deleted += events
		return err
	})
	return done, sqlkit.ReadError("deleting old webhook events", err)
}

// deleteDeadLetters deletes up to n dead letters from before a time.
func deleteDeadLetters(tx *gorm.DB, before time.Time, n int) (deleted int, err error) {
	var letters []deadLetterRow
	if err := tx.Where("create_time < ?", before).Limit(n).Find(&letters).Error; err != nil {
		return 0, err
	}
	for i := range letters {
		if err := tx.Delete(&letters[i]).Error; err != nil {
			return 0, err
		}
	}
	return len(letters), nil
}

// deleteEvents deletes the events that deletable selects.
func deleteEvents(tx *gorm.DB, events []eventRow, before time.Time) (deleted int, err error) {
	gone := int64(0) // the highest number among them
	for part := range sqlkit.Chunks(sqlkit.Distinct(events, func(e eventRow) int64 { return e.ID })) {
		var ids []int64
		if err := tx.Raw(deletable, map[string]any{"ids": part, "before": before}).Find(&ids).Error; err != nil {
			return 0, err
		}
		if len(ids) == 0 {
			continue
		}
		if err := tx.Where("id IN ?", ids).Delete(&eventRow{}).Error; err != nil {
			return 0, err
		}
		deleted += len(ids)
		for i := range events {
			if slices.Contains(ids, events[i].ID) {
				gone = max(gone, *events[i].Number)
			}
		}
	}
	if gone == 0 {
		return deleted, nil
	}
	return deleted, raiseGone(tx, gone)
}
