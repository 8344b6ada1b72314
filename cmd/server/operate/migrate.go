package operate

import (
	"context"
	"flag"
	"fmt"
	"log/slog"

	"seckill/cmd/server/wiring"
	"seckill/internal/config"
	"seckill/internal/kit/cmdline"
)

const migrateHelp = `server migrate brings the tables in SECKILL_MYSQL_DSN (in the embedded mode: in the
file under SECKILL_DATA_DIR, which server serve makes) up to date, and prints
what it did. It is safe to repeat, and to run while instances of the same or the previous version serve;
several at once wait for each other. server serve does the same at its start
unless SECKILL_MIGRATE=false.`

// Migrate runs the command migrate.
func Migrate(ctx context.Context, env wiring.Env) error {
	if err := cmdline.Parse(env.Env, flag.NewFlagSet("migrate", flag.ContinueOnError), migrateHelp); err != nil {
		return err
	}
	return wiring.WithAnyLedger(ctx, env, func(_ config.Config, ledger wiring.Ledger, _ *slog.Logger) error {
		applied, err := ledger.Schema().Migrate(ctx)
		if err != nil {
			return err
		}
		if len(applied) == 0 {
			_, err = fmt.Fprintln(env.Out, "the schema is up to date")
			return err
		}
		for _, name := range applied {
			if _, err := fmt.Fprintln(env.Out, "applied", name); err != nil {
				return err
			}
		}
		return nil
	})
}
