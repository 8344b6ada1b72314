package redemption

import (
	"context"
	"flag"
	"fmt"
	"log/slog"

	"seckill/internal/feature"
	"seckill/internal/kit/cmdline"
)

const couponKeyHelp = `server couponkey shows with which key new codes of coupons are made. A code has a checksum
under its key, so that tills can refuse a wrong code without asking the database.

  server couponkey            show the key in use, and how many there are
  server couponkey -rotate    add a key: all instances use it within a minute

Codes of every key stay valid: a rotation voids none. Rotate when somebody has read
tb_setting who should not. There is room for 32 keys.`

// couponKey runs the command couponkey.
func couponKey(ctx context.Context, env cmdline.Env, open feature.Tools) error {
	set := flag.NewFlagSet("couponkey", flag.ContinueOnError)
	rotate := set.Bool("rotate", false, "add a key for new codes")
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
