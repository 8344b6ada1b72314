package guard

import (
	"context"
	"flag"
	"fmt"
	"log/slog"

	"seckill/internal/feature"
	"seckill/internal/feature/guard/keys"
	"seckill/internal/feature/guard/store"
	"seckill/internal/kit/cmdline"
)

const help = `server guardkey tells which salt the keys of guards are derived with. Tickets and
challenges are signed with keys that come from SECKILL_GUARD_SECRET and a salt.

  server guardkey            the salt that is used, and how many there are
  server guardkey -rotate    add a salt: it is used a minute later, when all
                             instances know it

Tickets made with an older salt stay good until they expire: a rotation in the
middle of a sale refuses nobody. Rotate from time to time. When somebody knows
the secret, change the secret instead: all tickets are void then, pages fetch
new ones, and every buyer has another moment.`

// guardKey runs the command guardkey.
func guardKey(ctx context.Context, env cmdline.Env, open feature.Tools) error {
	set := flag.NewFlagSet("guardkey", flag.ContinueOnError)
	rotate := set.Bool("rotate", false, "add a salt, which is used a minute later")
	if err := cmdline.Parse(env, set, help); err != nil {
		return err
	}
	return open.Ledger(ctx, env, func(core feature.Core) error {
		ledger := store.NewLedger(core.DB)
		if *rotate {
			id, err := ledger.RotateGuardSalt(ctx)
			if err != nil {
				return err
			}
			core.Log.InfoContext(ctx, "the salt of guards was rotated", slog.Int("salt", int(id)))
			_, err = fmt.Fprintf(env.Out, "salt %d is used in %v; tickets made with older ones stay good\n",
				id, keys.RotationLead)
			return err
		}
		salts, err := ledger.GuardSalts(ctx)
		if err != nil {
			return err
		}
		newest := salts[len(salts)-1]
		_, err = fmt.Fprintf(env.Out, "the newest of %d salts is %d, used from %s\n",
			len(salts), newest.ID, newest.UsedFrom.UTC().Format("2006-01-02 15:04:05 MST"))
		return err
	})
}
