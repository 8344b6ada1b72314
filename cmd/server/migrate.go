package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"path/filepath"

	"seckill/internal/kit/cmdline"
	"seckill/internal/kit/config"
	"seckill/internal/kit/embedded"
	"seckill/internal/sqlstore"
)

const migrateHelp = `server migrate brings the tables in SECKILL_MYSQL_DSN (in the embedded mode: in the
file under SECKILL_DATA_DIR, which server serve makes) up to date, and prints
what it did. It is safe to repeat, and to run while instances of the same or the previous version serve;
several at once wait for each other. server serve does the same at its start
unless SECKILL_MIGRATE=false.`

// migrate is the command migrate.
func migrate(ctx context.Context, env cmdline.Env) error {
	if err := cmdline.Parse(env, flag.NewFlagSet("migrate", flag.ContinueOnError), migrateHelp); err != nil {
		return err
	}
	return withAnyLedger(ctx, env, func(_ config.Config, ledger toolLedger, _ *slog.Logger) error {
		applied, err := ledger.Migrate(ctx)
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

// toolLedger is the ledger of a command that needs nothing else.
type toolLedger struct {
	*sqlstore.Store

	home *embedded.Home // nil outside the embedded mode
}

func openLedger(ctx context.Context, cfg config.Config, log *slog.Logger) (toolLedger, error) {
	ledger, err := openStore(ctx, cfg, log)
	if err == nil {
		withHooks(ledger.Store)
	}
	return ledger, err
}

func openStore(ctx context.Context, cfg config.Config, log *slog.Logger) (toolLedger, error) {
	if !cfg.Embedded() {
		cfg.Stores.Wait = false // somebody waits for the command
		ledger, err := openMySQL(ctx, cfg, log)
		return toolLedger{Store: ledger}, err
	}
	home, err := embedded.OpenExisting(cfg.Stores.DataDir, log)
	switch {
	case errors.Is(err, embedded.ErrNoDatabase):
		return toolLedger{}, fmt.Errorf("%w (SECKILL_DATA_DIR), which server serve makes, and SECKILL_MYSQL_DSN names "+
			"none: this command needs the settings that the instances have", err)
	case err != nil:
		return toolLedger{}, err
	}
	ledger, err := sqlstore.OpenSQLite(ctx, home.SQLitePath, ledgerOptions(cfg, log))
	if err != nil {
		return toolLedger{}, errors.Join(fmt.Errorf("opening %s: %w", filepath.Base(home.SQLitePath), err),
			home.Close())
	}
	return toolLedger{Store: ledger, home: home}, nil
}

func (l toolLedger) close() error {
	err := l.Close()
	if l.home != nil {
		err = errors.Join(err, l.home.Close())
	}
	return err
}

// closing closes something at the end of a function and logs what goes wrong, when nobody can act on it any more.
func closing(log *slog.Logger, what string, closeIt func() error) {
	if err := closeIt(); err != nil {
		log.Warn("closing "+what+" failed", "error", err)
	}
}
