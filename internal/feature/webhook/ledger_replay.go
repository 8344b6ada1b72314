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
	if err != nil {
		return nil, 0, sqlkit.ReadError(what, err)
	}
	return found, next, nil
}

// newest returns the newest n events of a shop (0: of all) and of some types (none: of all) with numbers below before,
// and the number below which more may follow, 0 if there are none.
func newest(
	db *gorm.DB, shopID int64, types []dispatch.Type, before int64, n int,
) (rows []eventRow, next int64, err error) {
	query := db.Model(&eventRow{}).Where("number < ?", before).Order("number DESC")
	if shopID != 0 {
		query = query.Where("shop_id = ?", shopID)
	}
	query = query.Session(&gorm.Session{})
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
	if err != nil {
		return nil, sqlkit.ReadError(fmt.Sprintf("reading event %s of webhook endpoint %d", id, endpointID), err)
	}
	return found, nil
}

// eventOf returns an event that the query selects, or dispatch.ErrNoEvent if it is none for the endpoint.
func eventOf(query *gorm.DB, endpoint *endpointRow, id dispatch.EventID) (eventRow, error) {
	query = query.Where("subject = ? AND subject_number = ?", id.Subject, id.Number)
	if endpoint.ShopID != 0 {
		query = query.Where("shop_id = ?", endpoint.ShopID)
	}
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
	retries := make(map[order.Subject]dispatch.Retry)
	dead := make(map[int64]dispatch.DeadLetter)
	subjects := sqlkit.Distinct(events, func(e dispatch.Event) order.Subject { return e.Subject })
	for part := range sqlkit.Chunks(subjects) {
		var rows []retryRow
		if err := l.db.Read(ctx).Where("endpoint_id = ? AND subject IN ?", e.ID, part).Find(&rows).Error; err != nil {
			return nil, err
		}
		for i := range rows {
			retries[rows[i].Subject] = rows[i].retry()
		}
	}
	for part := range sqlkit.Chunks(sqlkit.Distinct(events, func(e dispatch.Event) int64 { return e.Number })) {
		var rows []deadLetterRow
		if err := l.db.Read(ctx).Where("endpoint_id = ? AND number IN ?", e.ID, part).Find(&rows).Error; err != nil {
			return nil, err
		}
		for i := range rows {
			dead[rows[i].Number] = rows[i].deadLetter()
		}
	}
	deliveries := make([]dispatch.Delivery, len(events))
	for i, event := range events {
		letter, isDead := dead[event.Number]
		retry, isBehind := retries[event.Subject]
		deliveries[i] = dispatch.DeliveryOf(e, event, ifTrue(isBehind, retry), ifTrue(isDead, letter))
	}
	return deliveries, nil
}

func ifTrue[T any](ok bool, v T) *T {
	if ok {
		return &v
	}
	return nil
}

func (r *deadLetterRow) deadLetter() dispatch.DeadLetter {
	return dispatch.DeadLetter{Number: r.Number, Attempts: r.Attempts, Failure: r.Failure, At: r.CreateTime}
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
	err := l.replay(ctx, endpointID,
		func(tx *gorm.DB, row *endpointRow, now time.Time) ([]voucher.FieldChange, error) {
			event, err := eventOf(tx.Where("number < ?", row.NextNumber), row, id)
			if err != nil {
				return nil, err
			}
			number := *event.Number
			retry := newRetryRow(row.ID, dispatch.Retry{Subject: id.Subject, Number: number, DueAt: now})
			if err := putRetries(tx, l.db.Dialect(), []retryRow{retry}); err != nil {
				return nil, err
			}
			if err := tx.Where("endpoint_id = ? AND number = ?", row.ID,
				number).Delete(&deadLetterRow{}).Error; err != nil {
				return nil, err
			}
			return []voucher.FieldChange{{Field: "eventId", To: id.String()}}, nil
		}, by)
	if err != nil {
		return sqlkit.ReadError(fmt.Sprintf("replaying event %s to webhook endpoint %d", id, endpointID), err)
	}
	return nil
}

// ReplayTime implements dispatch.Log. If a range is already being sent again, the new range is joined with it.
func (l *Ledger) ReplayTime(
	ctx context.Context, endpointID int64, from, to time.Time, by voucher.Author,
) (events int64, err error) {
	err = l.replay(ctx, endpointID,
		func(tx *gorm.DB, row *endpointRow, _ time.Time) ([]voucher.FieldChange, error) {
			theirs := tx.Model(&eventRow{}) // a merchant must not learn how much other shops sell
			if row.ShopID != 0 {
				theirs = theirs.Where("shop_id = ?", row.ShopID)
			}
			theirs = theirs.Session(&gorm.Session{})
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
				return nil, err
			}
			last, err := bound("number DESC")
			if err != nil {
				return nil, err
			}
			if first == 0 {
				return nil, dispatch.ErrNoEvent
			}
			again := dispatch.Range{Next: first, End: last + 1}
			if row.ReplayNext < row.ReplayEnd {
				again = dispatch.Range{Next: min(first, row.ReplayNext), End: max(last+1, row.ReplayEnd)}
			}
			row.ReplayNext, row.ReplayEnd = again.Next, again.End
			if err := tx.Model(row).Select("replay_next", "replay_end").Updates(row).Error; err != nil {
				return nil, err
			}
			events = again.End - again.Next
			if row.ShopID != 0 {
				err := theirs.Where("number >= ? AND number < ?", again.Next, again.End).Count(&events).Error
				if err != nil {
					return nil, err
				}
			}
			err = tx.Where("endpoint_id = ? AND number >= ? AND number < ?", row.ID, again.Next,
				again.End).Delete(&deadLetterRow{}).Error
			return []voucher.FieldChange{
				{Field: "from", To: from.Format(time.RFC3339)}, {Field: "to", To: to.Format(time.RFC3339)},
			}, err
		}, by)
	if err != nil {
		return 0, sqlkit.ReadError(fmt.Sprintf("replaying events to webhook endpoint %d", endpointID), err)
	}
	return events, nil
}

// replay runs f with the locked endpoint, and adds an entry to the audit trail.
func (l *Ledger) replay(
	ctx context.Context, endpointID int64,
	f func(*gorm.DB, *endpointRow, time.Time) ([]voucher.FieldChange, error), by voucher.Author,
) error {
	return l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		row, err := findEndpoint(sqlkit.Locking(tx), endpointID)
		if err != nil {
			return err
		}
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		changes, err := f(tx, &row, now)
		if err != nil {
			return err
		}
		return l.auditEndpoint(tx, now, by, voucher.Replayed, &row, changes)
	})
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

// Clean implements dispatch.Cleaning. Rows are chosen without locks and deleted by their keys, so nobody waits for it.
// Old dead letters go first: an event with one stays.
func (l *Ledger) Clean(
	ctx context.Context, from dispatch.Place, keep, keepDead time.Duration, n int,
) (dispatch.Cleaned, error) {
	var done dispatch.Cleaned
	err := l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		done = dispatch.Cleaned{}
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		at := from.At.UTC()
		if from.At.IsZero() {
			at = time.Unix(0, 0).UTC() // MySQL cannot compare with a date of zeros
			letters, err := deleteDeadLetters(tx, now.Add(-keepDead), n)
			if done = (dispatch.Cleaned{Deleted: letters}); err != nil || letters == n {
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
		done.To = dispatch.Place{At: rows[len(rows)-1].CreateTime, ID: rows[len(rows)-1].ID}
		events, err := deleteEvents(tx, rows, now.Add(-keep))
		done.Deleted += events
		return err
	})
	if err != nil {
		return dispatch.Cleaned{}, sqlkit.ReadError("deleting old webhook events", err)
	}
	return done, nil
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
