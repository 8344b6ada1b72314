package wiring

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"seckill/internal/kit/retry"
	"seckill/internal/order"
	"seckill/internal/order/partition"
)

const (
	// namedOperations is the format of operations with an identity, as heartbeats name it.
	namedOperations = "named_operations"
	// nameAgain is how long nameOperations waits before it asks again.
	nameAgain = 2 * time.Second
)

// nameOperations has this process give operations an identity once all living instances read them, and for good. A
// version 1.0 that is started later is not refused: it passes identities over, and the evidence of what a ledger has
// lost is weaker again.
func (s *Shop) nameOperations(ctx context.Context) error {
	formats := partition.NewFormats(s.stores.Redis.Instances, s.stores.Ledger.Schema().Raise)
	return awaitFormat(ctx, formats.Require, s.stores.Ledger.NameOperations, s.log)
}

// awaitFormat calls write once require says that all living instances read namedOperations. It runs until ctx ends.
func awaitFormat(
	ctx context.Context, require func(context.Context, string) error, write func(), log *slog.Logger,
) error {
	waits := false
	for ctx.Err() == nil {
		err := require(ctx, namedOperations)
		if err == nil {
			write()
			log.InfoContext(ctx, "all instances read identities of operations; from now on operations get them")
			<-ctx.Done()
			return nil
		}
		if errors.Is(err, order.ErrUpgrading) && !waits {
			waits = true
			log.InfoContext(ctx, "operations get no identities while an earlier version runs", "error", err)
		}
		retry.Sleep(ctx, nameAgain)
	}
	return nil
}
