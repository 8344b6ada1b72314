package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"seckill/internal/config"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/embedded"
	"seckill/internal/sqlstore"
	"seckill/internal/telemetry"
)

// Ledger is the ledger of a command that needs no other store.
type Ledger struct {
	*sqlstore.Store

	home    *embedded.Home  // nil outside the embedded mode
	members httpkit.Members // of the features
}

func openLedger(ctx context.Context, cfg config.Config, build telemetry.Build, log *slog.Logger) (Ledger, error) {
	ledger, err := openStore(ctx, cfg, log)
	if err != nil {
		return ledger, err
	}
	ledger.members, err = useHooks(ledgerCore(cfg, ledger.Store, build, log), ledger.Store)
	if err != nil {
		return Ledger{}, errors.Join(err, ledger.close())
	}
	return ledger, nil
}

func openStore(ctx context.Context, cfg config.Config, log *slog.Logger) (Ledger, error) {
	if !cfg.Embedded() {
		cfg.Stores.Wait = false // do not wait for the store: somebody waits for the command
		ledger, err := openMySQL(ctx, cfg, log)
		return Ledger{Store: ledger}, err
	}
	home, err := embedded.OpenExisting(cfg.Stores.DataDir, log)
	switch {
	case errors.Is(err, embedded.ErrNoDatabase):
		return Ledger{}, fmt.Errorf("%w (SECKILL_DATA_DIR), which server serve makes, and SECKILL_MYSQL_DSN names "+
			"none: this command needs the settings that the instances have", err)
	case err != nil:
		return Ledger{}, err
	}
	ledger, err := sqlstore.OpenSQLite(ctx, home.SQLitePath, ledgerOptions(cfg, log))
	if err != nil {
		return Ledger{}, errors.Join(fmt.Errorf("opening %s: %w", filepath.Base(home.SQLitePath), err),
			home.Close())
	}
	return Ledger{Store: ledger, home: home}, nil
}

func (l Ledger) close() error {
	err := l.Close()
	if l.home != nil {
		err = errors.Join(err, l.home.Close())
	}
	return err
}

// sayDatabase prints the database that a command works on, because the other output would look the same for a wrong
// one.
func sayDatabase(env Env, ledger *sqlstore.Store) {
	_, _ = fmt.Fprintln(env.Err, "database:", ledger.DB().Place())
}

// WithLedger runs f on the configured ledger, for a command that needs no Redis. The schema must be this version's.
func WithLedger(
	ctx context.Context, env Env, f func(cfg config.Config, ledger Ledger, log *slog.Logger) error,
) error {
	return WithAnyLedger(ctx, env, func(cfg config.Config, ledger Ledger, log *slog.Logger) error {
		if err := ledger.Schema().Check(ctx); err != nil {
			return err
		}
		return f(cfg, ledger, log)
	})
}

// WithAnyLedger is WithLedger for any schema.
func WithAnyLedger(
	ctx context.Context, env Env, f func(cfg config.Config, ledger Ledger, log *slog.Logger) error,
) error {
	cfg, log, err := env.Load()
	if err != nil {
		return err
	}
	ledger, err := openLedger(ctx, cfg, env.Build, log)
	if err != nil {
		return err
	}
	defer Closing(log, "the database", ledger.close)
	sayDatabase(env, ledger.Store)
	return f(cfg, ledger, log)
}
