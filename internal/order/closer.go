package order

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// DueOrders are the unpaid orders whose payment deadline has passed, by the ledger's clock.
type DueOrders interface {
	// CloseDue closes up to n of them, the longest overdue first, in one transaction: Close, with history and, for
	// seckill orders, operations. It returns ErrSuperseded, having changed nothing, when a higher token than the given one
	// has been used. It returns the orders that it closed, as they now are; fewer than n when no more are due.
	CloseDue(ctx context.Context, token int64, n int) ([]Order, error)
}

// FencedLocker lets one instance at a time do a thing, and numbers the turns.
type FencedLocker interface {
	// TryDoFenced runs f under the lock with the name, with a token that is higher than every one before; ErrBusy, at once,
	// when another holds it. f's context ends when the lock is lost.
	TryDoFenced(ctx context.Context, name string, f func(ctx context.Context, token int64) error) error
}

// CloserObserver hears what a Closer does, for metrics. Its methods must not block.
type CloserObserver interface {
	// Closed: so many overdue orders were closed in one transaction.
	Closed(orders int, took time.Duration)
}

// Defaults of CloserOptions.
const (
	DefaultCloseBatch = 200
	DefaultCloseRate  = 5000
)

const (
	closeEvery = time.Second      // how often due orders are looked for when there were none
	closeTime  = 30 * time.Second // one transaction at most
	closerName = "closer"         // of the lock
)

// CloserOptions tune a Closer. Zero fields have defaults.
type CloserOptions struct {
	Batch int // orders in one transaction at most; default DefaultCloseBatch
	Rate  int // orders a second at most, on average over a batch; default DefaultCloseRate
}

// Closer closes orders that were not paid for in time, the longest overdue first, whatever their voucher. Every instance
// runs one, and one of them at a time works, under a lock whose token the ledger checks: a holder that stalls past its
// lease closes nothing afterwards.
type Closer struct {
	due      DueOrders
	locker   FencedLocker
	outbox   Notifier
	audience Audience
	observer CloserObserver
	log      *slog.Logger
	options  CloserOptions
}

// NewCloser returns a closer; Run starts it.
func NewCloser(
	due DueOrders, locker FencedLocker, outbox Notifier, audience Audience, options CloserOptions, observer CloserObserver, log *slog.Logger,
) *Closer {
	if options.Batch <= 0 {
		options.Batch = DefaultCloseBatch
	}
	if options.Rate <= 0 {
		options.Rate = DefaultCloseRate
	}
	return &Closer{due: due, locker: locker, outbox: outbox, audience: audience, options: options, observer: observer, log: log}
}

// Run closes, or waits for its turn, until ctx ends. It never returns an error: what fails is tried again, by whoever
// gets the lock then.
func (c *Closer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := c.locker.TryDoFenced(ctx, closerName, c.turn)
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrBusy) {
			// ErrSuperseded too: a holder that has stalled says so once; locks whose numbers fell back say so until they have
			// caught up, and nothing is closed meanwhile.
			c.log.WarnContext(ctx, "closing overdue orders failed; trying again", "error", err)
		}
		rest(ctx, closeEvery)
	}
	return nil
}

// turn closes until ctx ends, which it also does when the lock is lost, or until something fails.
func (c *Closer) turn(ctx context.Context, token int64) error {
	for ctx.Err() == nil {
		start := time.Now()
		n, err := c.batch(ctx, token)
		if err != nil {
			return err
		}
		pace := time.Duration(n) * time.Second / time.Duration(c.options.Rate)
		if n < c.options.Batch {
			pace = max(pace, closeEvery)
		}
		rest(ctx, pace-time.Since(start))
	}
	return nil
}

// batch closes what is due, up to a batch, and returns how many orders those were.
func (c *Closer) batch(ctx context.Context, token int64) (int, error) {
	start := time.Now()
	call, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	orders, err := c.due.CloseDue(call, token, c.options.Batch)
	if err != nil || len(orders) == 0 {
		return 0, err
	}
	c.observer.Closed(len(orders), time.Since(start))
	outcomes := make(map[int64]Status, len(orders))
	notified := make(map[int64]bool)
	for _, o := range orders {
		outcomes[o.ID] = o.Status
		if !notified[o.VoucherID] {
			notified[o.VoucherID] = true
			c.outbox.Notify(o.VoucherID)
		}
	}
	c.audience.Told(outcomes)
	return len(orders), nil
}
