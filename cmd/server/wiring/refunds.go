package wiring

import (
	"context"
	"time"

	"seckill/internal/kit/retry"
	"seckill/internal/order"
	"seckill/internal/order/partition"
)

const (
	// refundsFormat is what heartbeats of instances name that know refunds of parts, and refunds that are pending.
	refundsFormat = "refunds"
	// switchTime is the most time of switching refunds on. It takes thirteen seconds.
	switchTime = time.Minute
	// switchAgain is how long refundsFromTheStart waits after an error.
	switchAgain = 2 * time.Second
)

// refundsFromTheStart switches refunds on in an installation that this process has made, so that nobody waits for it
// there. No version without refunds has lived on its ledger, so nobody goes back to one. It runs until ctx ends.
func (s *Shop) refundsFromTheStart(ctx context.Context) error {
	for ctx.Err() == nil {
		err := s.switchOn(ctx)
		if err == nil {
			<-ctx.Done()
			return nil
		}
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, "switching refunds of parts on failed; retrying", "error", err)
		}
		retry.Sleep(ctx, switchAgain)
	}
	return nil
}

// switchRefundsOn makes sure that no version without refunds lives, and that none starts any more, and notes it in the
// ledger. It goes on when its callers have given up, and is done once for all that call meanwhile. Error:
// order.ErrUpgrading while such a version lives, or if ctx ends before it is known that none does.
func (s *Shop) switchRefundsOn(ctx context.Context) error {
	done := s.refundsOn.DoChan(refundsFormat, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), switchTime)
		defer cancel()
		return nil, s.switchOn(ctx)
	})
	select {
	case answer := <-done:
		return answer.Err
	case <-ctx.Done():
		return order.ErrUpgrading
	}
}

// alone is feature.Core.Alone. No version 1.0 knows refunds.
func (s *Shop) alone(ctx context.Context) error {
	if on, err := s.stores.Ledger.Payments.RefundsOn(ctx); err != nil || on {
		return err
	}
	return s.switchRefundsOn(ctx)
}

// switchOn is what switchRefundsOn does, with ctx as its end.
func (s *Shop) switchOn(ctx context.Context) error {
	formats := partition.NewFormats(s.stores.Redis.Instances, s.stores.Ledger.Schema().Raise)
	if err := formats.SwitchOn(ctx, refundsFormat); err != nil {
		return err
	}
	if err := s.stores.Ledger.Payments.SwitchRefundsOn(ctx); err != nil {
		return err
	}
	s.log.InfoContext(ctx, "refunds of parts are switched on; versions without them do not start any more")
	return nil
}
