package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"seckill/internal/feature/rehearsal"
	"seckill/internal/kit/preflight"
	"seckill/internal/kit/words"
)

// openRehearsals wires rehearsals to the core. A process calls it once, before it creates vouchers.
func openRehearsals(s *stores, shop *shop) *rehearsal.Rehearsals {
	return rehearsal.NewRehearsals(rehearsal.Parts{
		Sales: s.ledger, Clock: s.redis, Find: s.ledger.Voucher, Vouchers: shop.vouchers, Locker: shop.locks,
		Runs: rehearsal.NewLedger(s.ledger.DB()), Memory: s.redis.Memory, Alone: s.home != nil,
	})
}

// lastRehearsal returns the last rehearsal of a sale that has a result, or nil.
func lastRehearsal(ctx context.Context, s *stores, voucherID int64) (*preflight.Rehearsed, error) {
	return rehearsal.Last(ctx, s.ledger.DB(), voucherID)
}

// rehearse is the command rehearse.
func rehearse(ctx context.Context, env environment) error {
	var c rehearsal.Command
	set := flag.NewFlagSet("rehearse", flag.ContinueOnError)
	c.Flags(set)
	if err := parse(env, set, rehearsal.Help); err != nil {
		return err
	}
	if err := c.Check(); err != nil {
		return misuse(set, err.Error())
	}
	w, err := openToolEnv(ctx, env)
	if errors.Is(err, errEmbedded) {
		return fmt.Errorf("%w. docs/rehearsal.md says how loadgen rehearses there", err)
	}
	if err != nil {
		return err
	}
	defer w.close(ctx)
	forecast, err := c.Run(ctx, openRehearsals(w.stores, w.shop),
		rehearsal.Console{Out: env.out, Err: env.err, Environ: env.environ})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(env.out, "\nForecast for the sale of voucher %d\n", c.Voucher()); err != nil {
		return err
	}
	return printList(env, forecast, words.English)
}
