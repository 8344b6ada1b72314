package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

type retryRow struct {
	EndpointID int64            `gorm:"column:endpoint_id;primaryKey;autoIncrement:false"`
	Subject    order.Subject    `gorm:"column:subject;primaryKey"`
	Number     int64            `gorm:"column:number"`
	Attempts   int64            `gorm:"column:attempts"`
	DueTime    time.Time        `gorm:"column:due_time"`
	Failure    dispatch.Failure `gorm:"column:failure;serializer:json"`
}

// TableName implements gorm's schema.Tabler.
func (*retryRow) TableName() string { return "tb_webhook_retry" }

func (r *retryRow) retry() dispatch.Retry {
	return dispatch.Retry{
		Subject: r.Subject, Number: r.Number, Attempts: r.Attempts, DueAt: r.DueTime, Failure: r.Failure,
	}
}

func newRetryRow(endpointID int64, r dispatch.Retry) retryRow {
	return retryRow{
		EndpointID: endpointID, Subject: r.Subject, Number: r.Number, Attempts: r.Attempts,
		DueTime: r.DueAt.UTC().Truncate(time.Millisecond), Failure: r.Failure,
	}
}

type deadLetterRow struct {
	EndpointID int64            `gorm:"column:endpoint_id;primaryKey;autoIncrement:false"`
	Number     int64            `gorm:"column:number;primaryKey;autoIncrement:false"`
	Attempts   int64            `gorm:"column:attempts"`
	Failure    dispatch.Failure `gorm:"column:failure;serializer:json"`
	CreateTime time.Time        `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (*deadLetterRow) TableName() string { return "tb_webhook_dead_letter" }

const (
	maxRetries    = 64 // subjects retried in one pass
	maxCandidates = 8  // endpoints looked at to find one whose lease is free
)

// claimable selects endpoints to which something is to be sent now. Those that have waited longest come first.
const claimable = `SELECT p.id FROM tb_webhook_endpoint p
WHERE p.disabled_time IS NULL
AND (p.lease_until IS NULL OR p.lease_until <= @now OR p.lease_owner = '' OR p.lease_owner = @owner)
AND (p.retry_time IS NULL OR p.retry_time <= @now) AND p.id NOT IN @busy AND (
    (p.shop_id = 0 AND EXISTS (SELECT 1 FROM tb_webhook_event e WHERE e.number >= p.next_number))
    OR (p.shop_id <> 0 AND EXISTS (SELECT 1 FROM tb_webhook_event e WHERE e.shop_id = p.shop_id AND e.number >= p.next_number))
    OR p.replay_next < p.replay_end
    OR EXISTS (SELECT 1 FROM tb_webhook_retry r WHERE r.endpoint_id = p.id AND r.due_time <= @now))
ORDER BY p.lease_until, p.id LIMIT @n`

// ClaimEndpoint implements dispatch.Queue.
func (l *Ledger) ClaimEndpoint(
	ctx context.Context, owner string, busy []int64, lease time.Duration,
) (id int64, ok bool, err error) {
	const what = "looking for webhook events to be sent"
	if found, err := l.EventsWritten(ctx); err != nil || !found {
		return 0, false, err
	}
	err = l.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		id, ok = 0, false
		var ids []int64
		params := map[string]any{"now": now, "owner": owner, "busy": append([]int64{0}, busy...), "n": maxCandidates}
		if err := tx.Raw(claimable, params).Find(&ids).Error; err != nil || len(ids) == 0 {
			return err
		}
		var rows []endpointRow
		skip := clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked}
		if err := tx.Clauses(skip).Where("id IN ?", ids).Find(&rows).Error; err != nil {
			return err
		}
		for i := range rows {
			if row := &rows[i]; row.free(owner, now) {
				id, ok = row.ID, true
				return row.hold(tx, owner, now.Add(lease))
			}
		}
		return nil
	})
	if err != nil {
		return 0, false, sqlkit.ReadError(what, err)
	}
	return id, ok, nil
}

// free reports whether owner may take the lease of an enabled endpoint.
func (r *endpointRow) free(owner string, now time.Time) bool {
	held := r.LeaseOwner != "" && r.LeaseOwner != owner && r.LeaseUntil != nil && now.Before(*r.LeaseUntil)
	return r.DisabledTime == nil && !held
}

// hold stores an owner's lease in the row of a locked endpoint.
func (r *endpointRow) hold(tx *gorm.DB, owner string, until time.Time) error {
	r.LeaseOwner, r.LeaseUntil = owner, &until
	return tx.Model(r).Select("lease_owner", "lease_until").Updates(r).Error
}

// onHeld is onEndpoint for an endpoint whose lease the owner holds. Error: dispatch.ErrLeaseLost.
func (l *Ledger) onHeld(
	ctx context.Context, owner string, id int64, f func(tx *gorm.DB, row *endpointRow, now time.Time) error,
) error {
	err := l.onEndpoint(ctx, id, func(tx *gorm.DB, row *endpointRow, now time.Time) error {
		if row.LeaseOwner != owner || row.LeaseUntil == nil || !now.Before(*row.LeaseUntil) {
			return dispatch.ErrLeaseLost
		}
		return f(tx, row, now)
	})
	if errors.Is(err, dispatch.ErrNoEndpoint) {
		return dispatch.ErrLeaseLost
	}
	return err
}

// EventsToSend implements dispatch.Queue.
func (l *Ledger) EventsToSend(
	ctx context.Context, owner string, id int64, lease time.Duration, n int,
) (w dispatch.Work, err error) {
	err = l.onHeld(ctx, owner, id, func(tx *gorm.DB, row *endpointRow, now time.Time) error {
		e := row.endpoint()
		w = dispatch.Work{Endpoint: e, Now: now, Next: e.Next, ReplayNext: e.ReplayNext}
		if e.Disabled || now.Before(e.Health.RetryAt) {
			return nil
		}
		if err := row.hold(tx, owner, now.Add(lease)); err != nil {
			return err
		}
		return readWork(tx, &w, n)
	})
	return w, sqlkit.ReadError(fmt.Sprintf("reading events for webhook endpoint %d", id), err)
}

// readWork reads the events to send: new ones, retries and replays, or only one event while a broken endpoint is
// probed.
func readWork(tx *gorm.DB, w *dispatch.Work, n int) error {
	kinds := []func(*gorm.DB, *dispatch.Work, int) error{readRetries, readFresh, readReplay}
	health := w.Endpoint.Health
	if health.Broken() {
		n = 1
		if health.OthersFirst(w.Now) {
			kinds = append(kinds[1:], readRetries)
		}
	}
	for _, read := range kinds {
		if err := read(tx, w, n); err != nil {
			return err
		}
		if health.Broken() && !w.Empty() {
			break
		}
	}
	return readWaiting(tx, w)
}

// readFresh reads new events: those from the endpoint's position on.
func readFresh(tx *gorm.DB, w *dispatch.Work, n int) error {
	live, err := eventsFrom(tx.Where("number >= ?", w.Endpoint.Next), w.Endpoint.ShopID, n)
	if err != nil {
		return err
	}
	if len(live) > 0 {
		w.Next = live[len(live)-1].Number + 1
	}
	w.Events = append(w.Events, live...)
	return nil
}

// readRetries reads the subjects whose retry is due, with all of their events up to the endpoint's position.
func readRetries(tx *gorm.DB, w *dispatch.Work, n int) error {
	var rows []retryRow
	err := tx.Where("endpoint_id = ? AND due_time <= ?", w.Endpoint.ID,
		w.Now).Order("due_time, subject").Limit(min(n, maxRetries)).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return err
	}
	from := make(map[order.Subject]int64, len(rows))
	subjects := make([]order.Subject, len(rows))
	for i := range rows {
		w.Retries = append(w.Retries, rows[i].retry())
		from[rows[i].Subject], subjects[i] = rows[i].Number, rows[i].Subject
	}
	var events []eventRow
	if err := tx.Where("subject IN ? AND number < ?", subjects,
		w.Endpoint.Next).Order("number").Find(&events).Error; err != nil {
		return err
	}
	for i := range events {
		if e := events[i].event(); e.Number >= from[e.Subject] {
			w.Events = append(w.Events, e)
		}
	}
	return nil
}

// readReplay reads the events of a replay.
func readReplay(tx *gorm.DB, w *dispatch.Work, n int) error {
	e := w.Endpoint
	if !e.Replaying() {
		return nil
	}
	again, err := eventsFrom(tx.Where("number >= ? AND number < ?", e.ReplayNext, e.ReplayEnd), e.ShopID, n)
	if err != nil {
		return err
	}
	w.ReplayNext = e.ReplayEnd
	if len(again) == n {
		w.ReplayNext = again[n-1].Number + 1
	}
	w.Events = append(w.Events, again...)
	return nil
}

// readWaiting reads the retries that are not due, for the subjects of the events in w.
func readWaiting(tx *gorm.DB, w *dispatch.Work) error {
	due := make(map[order.Subject]bool, len(w.Retries))
	for _, r := range w.Retries {
		due[r.Subject] = true
	}
	subjects := sqlkit.Distinct(w.Events, func(e dispatch.Event) order.Subject { return e.Subject })
	for part := range sqlkit.Chunks(subjects) {
		var rows []retryRow
		if err := tx.Where("endpoint_id = ? AND subject IN ?", w.Endpoint.ID, part).Find(&rows).Error; err != nil {
			return err
		}
		for i := range rows {
			if !due[rows[i].Subject] {
				w.Waiting = append(w.Waiting, rows[i].retry())
			}
		}
	}
	return nil
}

// eventsFrom returns the first n numbered events of the shop, or with 0 of all shops, that the query selects.
func eventsFrom(query *gorm.DB, shopID int64, n int) ([]dispatch.Event, error) {
	var rows []eventRow
	if err := ofShop(query, shopID).Order("number").Limit(n).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("reading webhook events: %w", err)
	}
	return sqlkit.Map(rows, (*eventRow).event), nil
}

// ofShop restricts a query to the events of a shop; 0: of all shops.
func ofShop(query *gorm.DB, shopID int64) *gorm.DB {
	if shopID == 0 {
		return query
	}
	return query.Where("shop_id = ?", shopID)
}

// SettleEvents implements dispatch.Queue. A retry that an admin has changed since it was read stays as they left it.
func (l *Ledger) SettleEvents(ctx context.Context, owner string, done dispatch.Settled) error {
	err := l.onHeld(ctx, owner, done.EndpointID, func(tx *gorm.DB, row *endpointRow, now time.Time) error {
		if err := settleRetries(tx, l.db.Dialect(), done); err != nil {
			return err
		}
		dead := make([]deadLetterRow, len(done.Dead))
		for i, d := range done.Dead {
			dead[i] = deadLetterRow{
				EndpointID: done.EndpointID, Number: d.Number, Attempts: d.Attempts,
				Failure: d.Failure, CreateTime: now,
			}
		}
		for part := range sqlkit.Chunks(dead) {
			if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&part).Error; err != nil {
				return fmt.Errorf("writing %d dead letters: %w", len(part), err)
			}
		}
		row.settled(done, now)
		return tx.Save(row).Error
	})
	return sqlkit.ReadError(fmt.Sprintf("settling events of webhook endpoint %d", done.EndpointID), err)
}

// settled copies the result of an attempt into the locked row.
func (r *endpointRow) settled(done dispatch.Settled, now time.Time) {
	r.NextNumber = max(r.NextNumber, done.Next)
	if r.ReplayNext == done.ReplayWas.Next && r.ReplayEnd == done.ReplayWas.End { // no admin has begun another replay
		r.ReplayNext = done.ReplayNext
	}
	if !done.SuccessAt.IsZero() {
		r.SuccessTime = sqlkit.Stamp(done.SuccessAt)
	}
	if r.URL != done.URL { // an admin has changed the URL since: the result is not about the new URL
		return
	}
	if !r.endpoint().Health.Equal(done.HealthWas) { // an admin has enabled the endpoint since: its health starts again
		return
	}
	r.health(done.Health)
	if done.LastFailure != (dispatch.Failure{}) {
		r.LastFailure = done.LastFailure
	}
	if done.Disable != "" && r.DisabledTime == nil {
		r.DisabledTime, r.DisabledWhy = &now, done.Disable
	}
}

// settleRetries removes finished retries and writes new or changed ones.
func settleRetries(tx *gorm.DB, d sqlkit.Dialect, done dispatch.Settled) error {
	of := func(r dispatch.Retry) *gorm.DB { // the row, if it is still as it was read
		return tx.Where("endpoint_id = ? AND subject = ? AND number = ? AND attempts = ?", done.EndpointID,
			r.Subject, r.Number, r.Attempts)
	}
	for _, r := range done.Done {
		if err := of(r).Delete(&retryRow{}).Error; err != nil {
			return fmt.Errorf("removing the retry of %s: %w", r.Subject, err)
		}
	}
	var fresh []retryRow
	for _, m := range done.Behind {
		row := newRetryRow(done.EndpointID, m.Retry)
		if m.Was == nil {
			fresh = append(fresh, row)
			continue
		}
		err := of(*m.Was).Model(&retryRow{}).Select("number", "attempts", "due_time",
			"failure").Updates(&row).Error
		if err != nil {
			return fmt.Errorf("writing the retry of %s: %w", m.Subject, err)
		}
	}
	return putRetries(tx, d, fresh)
}

// putRetries writes retries. If a retry exists, the lower number stays, so that no event is left out.
func putRetries(tx *gorm.DB, d sqlkit.Dialect, rows []retryRow) error {
	lower := "LEAST(tb_webhook_retry.number, VALUES(number))"
	if d == sqlkit.SQLite {
		lower = "MIN(tb_webhook_retry.number, excluded.number)"
	}
	put := clause.OnConflict{
		Columns: []clause.Column{{Name: "endpoint_id"}, {Name: "subject"}},
		DoUpdates: append(clause.Set{{Column: clause.Column{Name: "number"}, Value: gorm.Expr(lower)}},
			clause.AssignmentColumns([]string{"attempts", "due_time", "failure"})...),
	}
	for part := range sqlkit.Chunks(rows) {
		if err := tx.Clauses(put).Create(&part).Error; err != nil {
			return fmt.Errorf("writing %d retries: %w", len(part), err)
		}
	}
	return nil
}

// ReleaseEndpoint implements dispatch.Queue. The end of the lease stays as the time of the last turn.
func (l *Ledger) ReleaseEndpoint(ctx context.Context, owner string, id int64) error {
	err := l.onHeld(ctx, owner, id, func(tx *gorm.DB, row *endpointRow, now time.Time) error {
		return row.hold(tx, "", now)
	})
	if err != nil && !errors.Is(err, dispatch.ErrLeaseLost) {
		return sqlkit.ReadError(fmt.Sprintf("releasing webhook endpoint %d", id), err)
	}
	return nil
}
