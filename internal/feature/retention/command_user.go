package retention

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"

	"seckill/internal/feature"
	"seckill/internal/kit/cmdline"
	"seckill/internal/voucher"
)

const userHelp = `server user forgets a person, or exports what is stored about them.

  server user export -id 4503599627370497 -why TEXT > person.json
  server user forget -id 4503599627370497 -why TEXT

export writes JSON: the rows about the person, by table, without the names of staff.

forget makes the rows those of nobody: their orders, payments and places get a new number, codes of
coupons, idempotency keys and the account with the provider's subject are deleted, and the bodies of
stored events are rewritten. First of all it makes the person's tokens void. It is refused while a sale
of theirs is not retired, or something is owed: an order that is unpaid or being refunded, a coupon that
can be redeemed, money on its way, a dispute, an event. Cancel, redeem or refund first, or wait. It waits
three seconds, until no instance takes the tokens, and until what was bought by then is recorded; what is
bought meanwhile can refuse it, too: then their tokens are void, and it is run again later. A dead letter
or the backlog of the embedded mode may record something later: look with export, and forget again.

It may be interrupted, and run again: it goes on. The audit trail says that somebody was forgotten, and
not who, so keep a list of the ids: after a restore of a backup, forget them again.

What stays: the number itself, so that its tokens stay void; ids of payments at the provider, for the
books; what members of staff did under their own number; logs and backups, for as long as you keep them.

While an instance of version 1.0 is alive, forget is refused; from the first one on, 1.0 does not start.

Exit code: 0 when it is done, 3 when it is refused, 1 when it failed.`

// user runs the command user.
func user(ctx context.Context, env cmdline.Env, open feature.Tools) error {
	verb, env, err := cmdline.Subcommand(env, "user", userHelp, "export", "forget")
	if err != nil {
		return err
	}
	set := flag.NewFlagSet("user "+verb, flag.ContinueOnError)
	id := set.Int64("id", 0, "the `id` of the user")
	trail := cmdline.TrailFlags(env, set)
	if err := cmdline.Parse(env, set, userHelp); err != nil {
		return err
	}
	if *id < 1 || *id > voucher.MaxID {
		return cmdline.Misuse(set, fmt.Sprintf("-id is %d (allowed: 1 to %d)", *id, voucher.MaxID))
	}
	if err := trail.Check(set); err != nil {
		return err
	}
	by := Trail{Author: voucher.Author{Request: "server user"}, By: trail.By(), Why: trail.Why()}
	return withCore(ctx, env, open, func(core feature.Core) error {
		s := serviceOf(NewLedger(core.DB, core.Orders), core)
		if verb == "export" {
			return export(ctx, env, s, *id, by)
		}
		f, err := s.Forget(ctx, *id, by)
		if err != nil {
			return refusal(env, err)
		}
		_, err = fmt.Fprintf(env.Out, "Forgotten: %d orders and %d places on waiting lists are nobody's.\n"+
			"Keep %d on the list of whom to forget again after a restore.\n", f.Orders, f.Places, *id)
		return err
	})
}

// export writes what is stored about a user as JSON.
func export(ctx context.Context, env cmdline.Env, s Service, id int64, by Trail) error {
	e, err := s.Export(ctx, id, by)
	if err != nil {
		return err
	}
	out := json.NewEncoder(env.Out)
	out.SetIndent("", "  ")
	return out.Encode(map[string]any{"userId": e.UserID, "at": e.At.UTC(), "tables": e.Tables})
}

// refusal prints why somebody cannot be forgotten yet, and returns cmdline.ErrFound; other errors as they are.
func refusal(env cmdline.Env, err error) error {
	owed, is := errors.AsType[*OwedError](err)
	if !is {
		return err
	}
	const not = "Not yet: %s. Nothing was changed, unless this was bought while forgetting went on.\n"
	if _, err := fmt.Fprintf(env.Out, not, owed.Owed); err != nil {
		return err
	}
	return cmdline.ErrFound
}
