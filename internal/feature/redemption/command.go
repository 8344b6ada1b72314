package redemption

import (
	"context"
	"flag"
	"fmt"
	"log/slog"

	"seckill/internal/feature"
	"seckill/internal/kit/cmdline"
)

const couponKeyHelp = `server couponkey tells which key the codes of coupons are made with. A code has a checksum
under a key, so that tills refuse a wrong code without asking the database.

  server couponkey            the key that is used, and how many there are
  server couponkey -rotate    add a key: all instances use it within a minute

Codes of every key stay good: a rotation voids none. Rotate when somebody who
should not have read tb_setting. There is room for 32 keys.`

// couponKey is the command couponkey.
func couponKey(ctx context.Context, env cmdline.Env, open feature.Tools) error {
	set := flag.NewFlagSet("couponkey", flag.ContinueOnError)
	rotate := set.Bool("rotate", false, "add a key, with which new codes are made")
	if err := cmdline.Parse(env, set, couponKeyHelp); err != nil {
		return err
	}
	return open.Ledger(ctx, env, func(core feature.Core) error {
		ledger := NewLedger(core.DB, core.Orders)
		keys, err := ledger.CouponKeys(ctx)
		if err != nil {
			return err
		}
		current := keys[len(keys)-1].ID
		if *rotate {
			if current, err = ledger.RotateCouponKey(ctx); err != nil {
				return err
			}
			core.Log.InfoContext(ctx, "the key of codes was rotated", slog.Int("key", current))
		}
		_, err = fmt.Fprintf(env.Out, "new codes are made with key %d; codes of keys 0 to %d are good\n",
			current, current)
		return err
	})
}
