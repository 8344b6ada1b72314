package webhook

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/order"
)

const (
	cleanEvery   = 15 * time.Second // how often old events are looked for, and what waits is counted
	cleanBatch   = 1000             // rows deleted in one transaction at most
	cleanRest    = 100 * time.Millisecond
	cleanTimeout = 30 * time.Second    // one transaction at most
	keepDead     = 30 * 24 * time.Hour // dead letters
)

// Cleaning deletes what is no longer needed: the ledger.
type Cleaning interface {
	// DeleteEvents deletes up to n events older than keep that no enabled endpoint waits for, and dead letters older than keepDead,
	// and returns how many rows that were. order.ErrUnavailable.
	DeleteEvents(ctx context.Context, keep, keepDead time.Duration, n int) (int, error)
	// Backlog returns how much waits. order.ErrUnavailable.
	Backlog(ctx context.Context) (Backlog, error)
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

// Run deletes until ctx ends. It never returns an error: what fails is retried.
func (c *Cleaner) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		n, err := c.step(ctx)
		if err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "deleting old webhook events failed; retrying", "error", err)
		}
		if n >= cleanBatch && err == nil {
			order.Sleep(ctx, cleanRest)
		} else {
			order.Sleep(ctx, cleanEvery)
		}
	}
	return nil
}

func (c *Cleaner) step(ctx context.Context) (deleted int, err error) {
	call, cancel := context.WithTimeout(ctx, cleanTimeout)
	defer cancel()
	b, err := c.events.Backlog(call)
	if err != nil {
		return 0, err
	}
	c.observer.WebhooksWaiting(b)
	return c.events.DeleteEvents(call, c.keep, keepDead, cleanBatch)
}
