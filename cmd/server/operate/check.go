package operate

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"seckill/cmd/server/wiring"
	"seckill/internal/config"
	"seckill/internal/feature"
	"seckill/internal/features"
	"seckill/internal/kit/cmdline"
	"seckill/internal/kit/preflight"
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

// Check runs the command check.
func Check(ctx context.Context, env wiring.Env) error {
	set := flag.NewFlagSet("check", flag.ContinueOnError)
	id := set.Int64("voucher", 0, "the `id` of the voucher whose sale to check")
	lang := set.String("lang", "en", "`language` of the list: en or zh")
	if err := cmdline.Parse(env.Env, set, checkHelp); err != nil {
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
	cfg, err := config.Load(env.Environ)
	if err != nil {
		return err
	}
	if cfg.Embedded() {
		return fmt.Errorf("%w; its console has the list", feature.ErrEmbedded)
	}
	if err := features.List().Settings(feature.Core{Settings: cfg}); err != nil {
		return err
	}
	log, err := wiring.NewLogger(env, cfg)
	if err != nil {
		return err
	}
	i, err := wiring.OpenInspector(ctx, cfg, env.Build, log)
	if err != nil {
		return err
	}
	defer i.Close(log)
	facts, err := i.Facts(ctx, *id)
	switch {
	case errors.Is(err, voucher.ErrNotFound):
		return fmt.Errorf("there is no voucher %d", *id)
	case errors.Is(err, voucher.ErrNotSeckill):
		return fmt.Errorf("voucher %d is an ordinary one: it has no sale", *id)
	case err != nil:
		return err
	}
	for _, weak := range cfg.WeakSecrets() {
		_, _ = fmt.Fprintf(env.Out, "%s  %s: %s\n", preflight.Warning.Sign(), weak.Settings, weakness(weak)[in])
	}
	lines := preflight.List(facts, time.Now())
	if err := preflight.Write(env.Out, lines, in); err != nil {
		return err
	}
	if !preflight.Go(lines) {
		return cmdline.ErrFound
	}
	return nil
}

// weakness returns what a weak secret means.
func weakness(w config.Weak) words.Text {
	if w.Shared {
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
