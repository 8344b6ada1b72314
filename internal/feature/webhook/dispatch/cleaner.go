package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/order"
)

const (
	countEvery   = 15 * time.Second // how often what waits is counted
	cleanEvery   = 10 * time.Minute // how often old events are gone through
	cleanBatch   = 1000             // events that are looked at in one transaction at most
	cleanRest    = 100 * time.Millisecond
	cleanRetry   = 15 * time.Second
	cleanTimeout = 30 * time.Second    // one transaction at most
	keepDead     = 30 * 24 * time.Hour // dead letters
)

// Cleaning deletes what is no longer needed: the ledger.
type Cleaning interface {
	// Clean looks at up to n events behind from: it deletes dead letters older than keepDead, and events older than
	// keep that no enabled endpoint waits for. Error: order.ErrUnavailable.
	Clean(ctx context.Context, from Place, keep, keepDead time.Duration, n int) (Cleaned, error)
	// Backlog returns how much waits. Error: order.ErrUnavailable.
	Backlog(ctx context.Context) (Backlog, error)
}

// Place is an event's among all, from old to new.
type Place struct {
	At time.Time
	ID int64
}

// Cleaned is what has come of cleaning.
type Cleaned struct {
	To      Place // the last event that was looked at
	All     bool  // no older ones are left to be looked at
	Deleted int   // events and dead letters
}

// Cleaner deletes old events and counts what waits. Every instance runs one: to delete a row twice is harmless.
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

// Run deletes and counts until ctx ends. It never returns an error: what fails is retried.
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
			order.Sleep(ctx, cleanRetry)
		case done.All: // what may not be deleted yet is looked at again some time later
			from = Place{}
			order.Sleep(ctx, cleanEvery)
		default:
			from = done.To
			order.Sleep(ctx, cleanRest)
		}
	}
	return nil
}

func (c *Cleaner) clean(ctx context.Context, from Place) (Cleaned, error) {
	call, cancel := context.WithTimeout(ctx, cleanTimeout)
	defer cancel()
	return c.events.Clean(call, from, c.keep, keepDead, cleanBatch)
}

// count counts what waits until ctx ends.
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
		order.Sleep(ctx, countEvery)
	}
}

func (c *Cleaner) warn(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		c.log.WarnContext(ctx, what, "error", err)
	}
}
