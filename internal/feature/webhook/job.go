package webhook

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/kit/retry"
)

// loop is a job that calls the ledger again and again. Every instance runs all of them, and each may be stopped at any
// moment: doing the work twice is harmless.
type loop struct {
	does    string        // for the log line "… failed; retrying"
	timeout time.Duration // of one call
	again   time.Duration // the pause after a failure; 0: it backs off
	log     *slog.Logger
}

// run calls f until ctx ends, with the pauses that it returns in between. It returns nil.
func (l loop) run(ctx context.Context, f func(ctx context.Context) (pause time.Duration, err error)) error {
	backOff := retry.NewBackOff()
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, l.timeout)
		pause, err := f(call)
		cancel()
		switch {
		case err == nil:
			backOff.Reset()
		case ctx.Err() == nil:
			l.log.WarnContext(ctx, l.does+" failed; retrying", "error", err)
			if pause = l.again; pause == 0 {
				pause = backOff.NextBackOff()
			}
		}
		retry.Sleep(ctx, pause)
	}
	return nil
}

const (
	numberEvery   = 100 * time.Millisecond // how often events without a number are looked for
	idleEvery     = time.Second            // the same while there is no endpoint
	numberBatch   = 2000                   // events in one transaction at most
	numberTimeout = 10 * time.Second       // one transaction at most
)

// Sequence numbers events until ctx ends, and calls wake when there are new numbers. The instance that has locked the
// sequence's row works, and the others skip their turn.
func (l *Ledger) Sequence(ctx context.Context, wake func(), log *slog.Logger) error {
	return loop{"numbering webhook events", numberTimeout, 0, log}.run(ctx,
		func(ctx context.Context) (time.Duration, error) {
			n, err := l.NumberEvents(ctx, numberBatch)
			if err != nil {
				return 0, err
			}
			if n > 0 {
				wake()
			}
			if n == numberBatch {
				return 0, nil
			}
			if found, err := l.EventsWritten(ctx); err == nil && !found {
				return idleEvery, nil
			}
			return numberEvery, nil
		})
}

const (
	countEvery   = 15 * time.Second // how often waiting events are counted
	cleanEvery   = 10 * time.Minute // how often old events are looked for
	cleanBatch   = 1000             // events that are looked at in one transaction at most
	cleanRest    = 100 * time.Millisecond
	cleanRetry   = 15 * time.Second
	cleanTimeout = 30 * time.Second    // one transaction at most
	keepDead     = 30 * 24 * time.Hour // dead letters
)

// cleanOld deletes events older than keep, and old dead letters, until ctx ends.
func (l *Ledger) cleanOld(ctx context.Context, keep time.Duration, log *slog.Logger) error {
	var from Place
	return loop{"deleting old webhook events", cleanTimeout, cleanRetry, log}.run(ctx,
		func(ctx context.Context) (time.Duration, error) {
			done, err := l.Clean(ctx, from, keep, keepDead, cleanBatch)
			switch {
			case err != nil:
				return 0, err
			case done.All: // events that may not be deleted yet are looked at again later
				from = Place{}
				return cleanEvery, nil
			}
			from = done.To
			return cleanRest, nil
		})
}

// countWaiting counts waiting events until ctx ends.
func (l *Ledger) countWaiting(ctx context.Context, m *metrics, log *slog.Logger) error {
	return loop{"counting webhook events that wait", cleanTimeout, countEvery, log}.run(ctx,
		func(ctx context.Context) (time.Duration, error) {
			b, err := l.Backlog(ctx)
			if err == nil {
				m.setBacklog(b)
			}
			return countEvery, err
		})
}

const (
	salesEvery   = time.Second // how often sales that are due are looked for
	salesBatch   = 100         // sales at a time
	salesTimeout = 30 * time.Second
)

// watchSales writes the events of sales that come by the clock, until ctx ends: each once, whichever instances watch.
func (l *Ledger) watchSales(ctx context.Context, log *slog.Logger) error {
	return loop{"writing events of sales", salesTimeout, salesEvery, log}.run(ctx,
		func(ctx context.Context) (time.Duration, error) { return salesEvery, l.WriteAllDue(ctx) })
}

// WriteAllDue writes the events that are due now of sales that have started, sold out or ended.
func (l *Ledger) WriteAllDue(ctx context.Context) error {
	ids, err := l.SalesDue(ctx, salesBatch)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := l.WriteDue(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

const (
	keepEvery = 15 * time.Second // how often it is said that events of all shops are wanted
	// keepAll is how long events of all shops are still written when no instance wants that any more. An upgrade of the
	// instances one after the other takes less.
	keepAll     = 15 * time.Minute
	keepTimeout = 30 * time.Second
)

// KeepAll has events of all shops written until ctx ends, if this instance is set to want that. Without such a setting
// it ends that some time after the last instance with it.
func (l *Ledger) KeepAll(ctx context.Context, wanted bool, alone dispatch.Alone, log *slog.Logger) error {
	return loop{"keeping events of all shops", keepTimeout, 0, log}.run(ctx,
		func(ctx context.Context) (time.Duration, error) {
			if wanted {
				return keepEvery, l.keepAll(ctx, alone)
			}
			return keepEvery, l.LeaveAll(ctx)
		})
}

func (l *Ledger) keepAll(ctx context.Context, alone dispatch.Alone) error {
	err := l.WriteAll(ctx, keepAll)
	if !errors.Is(err, dispatch.ErrNoStream) {
		return err
	}
	if err := alone(ctx); err != nil {
		return err
	}
	if err := l.OpenStream(ctx); err != nil {
		return err
	}
	return l.WriteAll(ctx, keepAll)
}
