package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"path/filepath"

	"seckill/internal/config"
	"seckill/internal/embedded"
	"seckill/internal/sqlstore"
)

const migrateHelp = `server migrate brings the tables in SECKILL_MYSQL_DSN (in the embedded mode: in the
file under SECKILL_DATA_DIR) up to date, and prints what it did. It is safe to
repeat, and to run while instances of the same or the previous version serve;
several at once wait for each other. server serve does the same at its start
unless SECKILL_MIGRATE=false.`

// migrate is the command migrate.
func migrate(ctx context.Context, env environment) error {
	if err := parse(env, flag.NewFlagSet("migrate", flag.ContinueOnError), migrateHelp); err != nil {
		return err
	}
	cfg, err := config.Load(env.environ)
	if err != nil {
		return err
	}
	log, err := newLogger(env, cfg)
	if err != nil {
		return err
	}
	var ledger *sqlstore.Store
	if cfg.Embedded() {
		home, err := embedded.Open(cfg.Stores.DataDir, log)
		if err != nil {
			return err
		}
		defer closing(log, "the data directory", home.Close)
		ledger, err = sqlstore.OpenSQLite(ctx, home.SQLitePath, sqlstore.Options{Log: log})
		if err != nil {
			return fmt.Errorf("opening %s: %w", filepath.Base(home.SQLitePath), err)
		}
	} else if ledger, err = openMySQL(ctx, cfg, log); err != nil {
		return err
	}
	defer closing(log, "the database", ledger.Close)
	applied, err := ledger.Migrate(ctx)
	if err != nil {
		return err
	}
	if len(applied) == 0 {
		_, err = fmt.Fprintln(env.out, "the schema is up to date")
		return err
	}
	for _, name := range applied {
		if _, err := fmt.Fprintln(env.out, "applied", name); err != nil {
			return err
		}
	}
	return nil
}

// closing closes something at the end of a function and logs what goes wrong, when nobody can act on it any more.
func closing(log *slog.Logger, what string, closeIt func() error) {
	if err := closeIt(); err != nil {
		log.Warn("closing "+what+" failed", "error", err)
	}
}
