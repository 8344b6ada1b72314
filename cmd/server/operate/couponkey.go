package operate

import (
	"context"
	"flag"
	"fmt"
	"log/slog"

	"seckill/cmd/server/wiring"
	"seckill/internal/kit/cmdline"
	"seckill/internal/kit/config"
)

const couponKeyHelp = `server couponkey tells which key the codes of coupons are made with. A code has a checksum
under a key, so that tills refuse a wrong code without asking the database.

  server couponkey            the key that is used, and how many there are
  server couponkey -rotate    add a key: all instances use it within a minute

Codes of every key stay good: a rotation voids none. Rotate when somebody who
should not have read tb_setting. There is room for 32 keys.`

// CouponKey is the command couponkey.
func CouponKey(ctx context.Context, env wiring.Env) error {
	set := flag.NewFlagSet("couponkey", flag.ContinueOnError)
	rotate := set.Bool("rotate", false, "add a key, with which new codes are made")
	if err := cmdline.Parse(env.Env, set, couponKeyHelp); err != nil {
		return err
	}
	return wiring.WithLedger(ctx, env, func(_ config.Config, ledger wiring.Ledger, log *slog.Logger) error {
		keys, err := ledger.CouponKeys(ctx)
		if err != nil {
			return err
		}
		current := keys[len(keys)-1].ID
		if *rotate {
			if current, err = ledger.RotateCouponKey(ctx); err != nil {
				return err
			}
			log.InfoContext(ctx, "the key of codes was rotated", slog.Int("key", current))
		}
		_, err = fmt.Fprintf(env.Out, "new codes are made with key %d; codes of keys 0 to %d are good\n",
			current, current)
		return err
	})
}
