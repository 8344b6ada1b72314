package webhook

import (
	"context"
	"math"
	"time"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/sqlstore/sqlkit"
)

// Backlog is the amount of waiting events.
type Backlog struct {
	Endpoints   int64         // the enabled endpoints
	Broken      int64         // the enabled endpoints whose breaker is open
	Events      int64         // the unsent events of the endpoint that has the most
	Oldest      time.Duration // how long the oldest event of an enabled endpoint has waited
	DeadLetters int64
}

// Backlog returns the amount of waiting events. Error: order.ErrUnavailable.
func (l *Ledger) Backlog(ctx context.Context) (b Backlog, err error) {
	const what = "reading how many webhook events wait"
	endpoints, err := l.Endpoints(ctx)
	if err != nil {
		return b, err
	}
	var sequence []sequenceRow
	if err := l.db.Read(ctx).Where("id = 1").Find(&sequence).Error; err != nil {
		return b, sqlkit.ReadError(what, err)
	}
	oldest := int64(math.MaxInt64)
	for _, e := range endpoints {
		if e.Disabled {
			continue
		}
		b.Endpoints++
		if e.Health.Broken() {
			b.Broken++
		}
		first, err := l.firstWaiting(ctx, e)
		if err != nil {
			return b, sqlkit.ReadError(what, err)
		}
		if first > 0 && len(sequence) == 1 {
			oldest, b.Events = min(oldest, first), max(b.Events, sequence[0].Number+1-first)
		}
	}
	unnumbered, err := l.unnumbered(ctx, &b)
	if err != nil {
		return b, sqlkit.ReadError(what, err)
	}
	if err := l.db.Read(ctx).Model(&deadLetterRow{}).Count(&b.DeadLetters).Error; err != nil {
		return b, sqlkit.ReadError(what, err)
	}
	var events []eventRow
	if err := l.db.Read(ctx).Where("number = ?", oldest).Find(&events).Error; err != nil {
		return b, sqlkit.ReadError(what, err)
	}
	if events = append(events, unnumbered...); len(events) == 0 {
		return b, nil
	}
	now, err := l.db.LedgerTime(l.db.Read(ctx))
	if err != nil {
		return b, sqlkit.ReadError(what, err)
	}
	for i := range events {
		b.Oldest = max(b.Oldest, now.Sub(events[i].CreateTime))
	}
	return b, nil
}

// unnumbered adds the events that wait for a number to b, if there is an endpoint, and returns the first of them.
func (l *Ledger) unnumbered(ctx context.Context, b *Backlog) (first []eventRow, err error) {
	if b.Endpoints == 0 {
		return nil, nil
	}
	var n int64
	if err := l.db.Read(ctx).Model(&eventRow{}).Where("number IS NULL").Count(&n).Error; err != nil {
		return nil, err
	}
	b.Events += n
	err = l.db.Read(ctx).Where("number IS NULL").Order("id").Limit(1).Find(&first).Error
	return first, err
}

// firstWaiting returns the number of the first event that an endpoint has not taken, 0 when there is none.
func (l *Ledger) firstWaiting(ctx context.Context, e dispatch.Endpoint) (int64, error) {
	first, err := eventsFrom(l.db.Read(ctx).Where("number >= ?", e.Next), e.ShopID, 1)
	if err != nil {
		return 0, err
	}
	var behind []int64
	err = l.db.Read(ctx).Model(&retryRow{}).Where("endpoint_id = ?",
		e.ID).Order("number").Limit(1).Pluck("number", &behind).Error
	switch {
	case err != nil:
		return 0, err
	case len(behind) > 0:
		return behind[0], nil
	case len(first) > 0:
		return first[0].Number, nil
	}
	return 0, nil
}
