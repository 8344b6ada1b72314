package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"seckill/cmd/server/wiring"
	"seckill/internal/config"
	"seckill/internal/kit/cmdline"
)

const serveHelp = `server serve sells coupons over HTTP.

Without any setting it runs in the embedded mode: everything in this process, data
under ./data, a demonstration sale, and tokens to try it with. With
SECKILL_REDIS_ADDRS, SECKILL_MYSQL_DSN and SECKILL_JWT_SECRET it runs on real
stores, in any number of instances.

SIGTERM or Ctrl-C finishes what is in flight and stops; a second one stops at once.

Settings (environment variables; each secret may be in a file instead,
SECKILL_JWT_SECRET_FILE and the like):
`

// serve runs the command serve.
func serve(ctx context.Context, env wiring.Env) error {
	if err := cmdline.Parse(env.Env, flag.NewFlagSet("serve", flag.ContinueOnError),
		serveHelp+settingsTable()); err != nil {
		return err
	}
	cfg, log, err := env.Load()
	if err != nil {
		return err
	}
	err = run(ctx, cfg, log, env)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil { // a signal came during the start
		log.InfoContext(ctx, "stopped before the start was complete", "error", err)
		err = nil
	}
	return err
}

// settingsTable returns a list of all settings for people: the name and allowed values, and below them the meaning.
func settingsTable() string {
	var b strings.Builder
	for _, row := range config.Table() {
		fmt.Fprintf(&b, "\n  %s=%s\n      %s\n      (%s)\n", row.Name, row.Default, row.Effect, row.Unit)
	}
	return strings.TrimRight(b.String(), "\n")
}
