package dispatch

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/kit/retry"
)

const (
	numberEvery   = 100 * time.Millisecond // how often events without a number are looked for
	idleEvery     = time.Second            // the same while there is no endpoint
	numberBatch   = 2000                   // events in one transaction at most
	numberTimeout = 10 * time.Second       // one transaction at most
)

// Sequencer numbers events. Every instance runs a Sequencer; the one that has locked the sequence's row works, and the
// others skip their turn.
type Sequencer struct {
	events Numberer
	wake   func()
	log    *slog.Logger
}

// NewSequencer returns a sequencer that calls wake when there are new numbers; Run starts it.
func NewSequencer(events Numberer, wake func(), log *slog.Logger) *Sequencer {
	return &Sequencer{events: events, wake: wake, log: log}
}

// Run numbers events until ctx ends. It retries failures, so it returns no error.
func (s *Sequencer) Run(ctx context.Context) error {
	backOff := retry.NewBackOff()
	for ctx.Err() == nil {
		n, err := s.batch(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "numbering webhook events failed; retrying", "error", err)
			retry.Sleep(ctx, backOff.NextBackOff())
			continue
		}
		backOff.Reset()
		if n > 0 {
			s.wake()
		}
		if n < numberBatch {
			retry.Sleep(ctx, s.pause(ctx))
		}
	}
	return nil
}

// pause returns the time until events are looked for again.
func (s *Sequencer) pause(ctx context.Context) time.Duration {
	call, cancel := context.WithTimeout(ctx, numberTimeout)
	defer cancel()
	if found, err := s.events.EventsWritten(call); err == nil && !found {
		return idleEvery
	}
	return numberEvery
}

func (s *Sequencer) batch(ctx context.Context) (int, error) {
	call, cancel := context.WithTimeout(ctx, numberTimeout)
	defer cancel()
	return s.events.NumberEvents(call, numberBatch)
}
