package operate

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"seckill/cmd/server/wiring"
	"seckill/internal/config"
	"seckill/internal/kit/cmdline"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

const migrateHelp = `server migrate brings the tables in SECKILL_MYSQL_DSN (in the embedded mode: in the
file under SECKILL_DATA_DIR, which server serve makes) up to date, and prints
what it did. It is safe to repeat, and to run while instances of the same or the previous version serve;
several at once wait for each other. server serve does the same at its start
unless SECKILL_MIGRATE=false.

-plan changes nothing: it prints the statements of the migrations that are missing, with their
tables, how many rows these have, and about how long each takes.

-restored is for a database that was restored from a backup, before any instance runs again. It pauses
every sale that has not ended, prints both sides where Redis has a decision that the database has lost,
and makes the sessions of all users of identity providers void; tokens that you sign yourself stay
valid. Somebody then decides anew about each sale, and resumes it (docs/runbook.md, "A restored
store"). It is safe to repeat until an instance runs.

There is no way down: the version before runs on the newer tables (docs/operations.md, "Migrations").`

// Migrate runs the command migrate.
func Migrate(ctx context.Context, env wiring.Env) error {
	set := flag.NewFlagSet("migrate", flag.ContinueOnError)
	plan := set.Bool("plan", false, "print what is missing, and change nothing")
	restored := set.Bool("restored", false, "the database was restored: pause all sales, end all sessions")
	if err := cmdline.Parse(env.Env, set, migrateHelp); err != nil {
		return err
	}
	if err := migrate(ctx, env, *plan); err != nil || *plan || !*restored {
		return err
	}
	return noteRestored(ctx, env)
}

func migrate(ctx context.Context, env wiring.Env, plan bool) error {
	return wiring.WithAnyLedger(ctx, env, func(_ config.Config, ledger wiring.Ledger, _ *slog.Logger) error {
		if plan {
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
		text := "the schema is up to date\n"
		if len(applied) > 0 {
			text = "applied " + strings.Join(applied, "\napplied ") + "\n"
		}
		_, err = io.WriteString(env.Out, text)
		return err
	})
}

// noteRestored pauses all sales of a restored ledger that have not ended, and ends all sessions.
func noteRestored(ctx context.Context, env wiring.Env) error {
	return wiring.WithTool(ctx, env, func(w *wiring.Tool) error {
		by := voucher.Author{Request: "server migrate"}
		sales := w.Stores.Ledger.Sales
		if err := sales.NoteRestored(ctx, by); err != nil {
			return err
		}
		kept, err := sales.SalesToKeep(ctx)
		if err != nil {
			return err
		}
		pausedSales := 0
		for _, v := range kept {
			views, err := w.Stores.Redis.Views(ctx, []order.SaleRef{order.SaleOf(v)})
			if err != nil {
				return fmt.Errorf("reading the sale of voucher %d from Redis: %w", v.ID, err)
			}
			paused, err := sales.PauseRestored(ctx, v.ID, views[0], by)
			if err != nil {
				return err
			}
			if paused {
				pausedSales++
				if _, err := fmt.Fprintf(env.Out, "voucher %d: its sale is paused\n", v.ID); err != nil {
					return err
				}
			}
		}
		if err := printLost(ctx, w, env.Out, 0); err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.Out,
			"sales paused now: %d; decide anew about each sale that is paused, and resume it\n"+
				"the sessions of all users of identity providers are void\n", pausedSales)
		return err
	})
}
