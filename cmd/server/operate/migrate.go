package operate

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"

	"seckill/cmd/server/wiring"
	"seckill/internal/config"
	"seckill/internal/kit/cmdline"
)

const migrateHelp = `server migrate brings the tables in SECKILL_MYSQL_DSN (in the embedded mode: in the
file under SECKILL_DATA_DIR, which server serve makes) up to date, and prints
what it did. It is safe to repeat, and to run while instances of the same or the previous version serve;
several at once wait for each other. server serve does the same at its start
unless SECKILL_MIGRATE=false.

-plan changes nothing: it prints the statements of the migrations that are missing, with their
tables, how many rows these have, and about how long each takes.

There is no way down: the version before runs on the newer tables (docs/operations.md, "Migrations").`

// Migrate runs the command migrate.
func Migrate(ctx context.Context, env wiring.Env) error {
	set := flag.NewFlagSet("migrate", flag.ContinueOnError)
	plan := set.Bool("plan", false, "print what is missing, and change nothing")
	if err := cmdline.Parse(env.Env, set, migrateHelp); err != nil {
		return err
	}
	return wiring.WithAnyLedger(ctx, env, func(_ config.Config, ledger wiring.Ledger, _ *slog.Logger) error {
		if *plan {
			p, err := ledger.Schema().Plan(ctx)
			if err != nil {
				return err
			}
			_, err = io.WriteString(env.Out, planText(p))
			return err
		}
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
