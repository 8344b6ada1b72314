package checklist

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"seckill/internal/feature"
	"seckill/internal/kit/check"
	"seckill/internal/kit/cmdline"
	"seckill/internal/kit/words"
	"seckill/internal/voucher"
)

const checkHelp = `server check makes the checks before a sale: whether and how fast the stores answer; whether they
keep acknowledged writes; clocks, instances, connections, memory; with -voucher, the sale itself, its
payment, and its changes. It works beside running instances, with the same settings (SECKILL_*).

  server check
  server check -voucher 7
  server check -voucher 7 -lang zh

Each line is ok, a warning, a no, or – for what was not measured, with advice. It writes one key, which
expires, and one row of its own.

Exit code: 0 for go, even with warnings; 3 for no-go; 2 for settings with which no instance starts; 1 when
the checks could not be made.`

func checkSale(ctx context.Context, env cmdline.Env, open feature.Tools) error {
	set := flag.NewFlagSet("check", flag.ContinueOnError)
	id := set.Int64("voucher", 0, "the `id` of the voucher whose sale to check")
	lang := set.String("lang", "en", "`language` of the list: en or zh")
	if err := cmdline.Parse(env, set, checkHelp); err != nil {
		return err
	}
	languages := map[string]words.Language{"en": words.English, "zh": words.Chinese}
	in, known := languages[*lang]
	switch {
	case *id < 0 || *id > voucher.MaxID, *id == 0 && cmdline.Given(set, "voucher"):
		return cmdline.Misuse(set, fmt.Sprintf("-voucher is %d (allowed: 1 to %d)", *id, voucher.MaxID))
	case !known:
		return cmdline.Misuse(set, fmt.Sprintf("-lang is %q (allowed: en, zh)", *lang))
	}
	err := open.Reachable(ctx, env, func(core feature.Core, away error) error {
		facts, err := newChecklist(core, away).Facts(ctx, *id)
		if err != nil {
			return err
		}
		for _, weak := range core.Settings.WeakSecrets() {
			_, _ = fmt.Fprintf(env.Out, "%s  %s: %s\n", check.Warning.Sign(), weak.Settings, weakness(weak.Shared)[in])
		}
		lines := List(facts, time.Now())
		if err := check.Write(env.Out, lines, in); err != nil {
			return err
		}
		if !check.Go(lines) {
			return cmdline.ErrFound
		}
		return nil
	})
	switch {
	case errors.Is(err, feature.ErrEmbedded):
		return fmt.Errorf("%w; its console has the list", err)
	case errors.Is(err, voucher.ErrNotFound):
		return fmt.Errorf("there is no voucher %d", *id)
	case errors.Is(err, voucher.ErrNotSeckill):
		return fmt.Errorf("voucher %d is an ordinary one: it has no sale", *id)
	}
	return err
}

// weakness returns what a weak secret means.
func weakness(shared bool) words.Text {
	if shared {
		return words.Text{
			words.English: "one secret for both: who holds it for one purpose holds it for the other; set another one",
			words.Chinese: "两处使用同一个密钥：持有其一即持有其二；请另设一个",
		}
	}
	return words.Text{
		words.English: "a short piece repeated, which can be guessed; take: openssl rand -hex 32",
		words.Chinese: "是一小段文字的重复，容易被猜到；请使用：openssl rand -hex 32",
	}
}
