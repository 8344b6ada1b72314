package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/kit/retry"
)

const (
	countEvery   = 15 * time.Second // how often waiting events are counted
	cleanEvery   = 10 * time.Minute // how often old events are looked for
	cleanBatch   = 1000             // events that are looked at in one transaction at most
	cleanRest    = 100 * time.Millisecond
	cleanRetry   = 15 * time.Second
	cleanTimeout = 30 * time.Second    // one transaction at most
	keepDead     = 30 * 24 * time.Hour // dead letters
)

// Cleaning deletes events and dead letters that are no longer needed: the ledger.
type Cleaning interface {
	// Clean looks at up to n events behind from that are older than keep: it deletes those that no enabled endpoint
	// waits for. At the beginning, it first deletes up to n dead letters older than keepDead; if there were n, it looks
	// at no events, and begins again. Error: order.ErrUnavailable.
	Clean(ctx context.Context, from Place, keep, keepDead time.Duration, n int) (Cleaned, error)
	// Backlog returns the amount of waiting events. Error: order.ErrUnavailable.
	Backlog(ctx context.Context) (Backlog, error)
}

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

// Cleaner deletes old events and counts waiting ones. Every instance runs a Cleaner: deleting a row twice is harmless.
type Cleaner struct {
	events   Cleaning
	keep     time.Duration
	observer Observer
	log      *slog.Logger
}

// NewCleaner returns a cleaner that keeps events for the given time; Run starts it.
func NewCleaner(events Cleaning, keep time.Duration, observer Observer, log *slog.Logger) *Cleaner {
	return &Cleaner{events: events, keep: keep, observer: observer, log: log}
}

// Run deletes and counts until ctx ends. It retries failures, so it returns no error.
func (c *Cleaner) Run(ctx context.Context) error {
	var counting sync.WaitGroup
	counting.Go(func() { c.count(ctx) })
	defer counting.Wait()
	var from Place
	for ctx.Err() == nil {
		done, err := c.clean(ctx, from)
		switch {
		case err != nil:
			c.warn(ctx, "deleting old webhook events failed; retrying", err)
			retry.Sleep(ctx, cleanRetry)
		case done.All: // events that may not be deleted yet are looked at again later
			from = Place{}
			retry.Sleep(ctx, cleanEvery)
		default:
			from = done.To
			retry.Sleep(ctx, cleanRest)
		}
	}
	return nil
}

func (c *Cleaner) clean(ctx context.Context, from Place) (Cleaned, error) {
	call, cancel := context.WithTimeout(ctx, cleanTimeout)
	defer cancel()
	return c.events.Clean(call, from, c.keep, keepDead, cleanBatch)
}

// count counts waiting events until ctx ends.
func (c *Cleaner) count(ctx context.Context) {
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, cleanTimeout)
		b, err := c.events.Backlog(call)
		cancel()
		if err == nil {
			c.observer.WebhooksWaiting(b)
		} else {
			c.warn(ctx, "counting webhook events that wait failed; retrying", err)
		}
		retry.Sleep(ctx, countEvery)
	}
}

func (c *Cleaner) warn(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		c.log.WarnContext(ctx, what, "error", err)
	}
}
