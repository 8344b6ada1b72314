package main

import (
	"context"
	"fmt"
	"log/slog"

	"seckill/internal/feature"
	"seckill/internal/idworker"
	"seckill/internal/kit/cmdline"
	"seckill/internal/kit/config"
	"seckill/internal/kit/telemetry"
	"seckill/internal/order"
	"seckill/internal/order/service"
	"seckill/internal/redisstore"
	"seckill/internal/sqlstore"
)

// toolEnv is the stores and the domain for a command that runs beside the serving instances: without background jobs,
// and without touching the schema.
type toolEnv struct {
	*shop

	cfg    config.Config
	stores *stores
	ids    *idworker.Worker
	log    *slog.Logger
}

func openToolEnv(ctx context.Context, env cmdline.Env) (*toolEnv, error) {
	cfg, err := config.Load(env.Environ)
	if err != nil {
		return nil, err
	}
	if cfg.Embedded() {
		return nil, feature.ErrEmbedded
	}
	cfg.Stores.Migrate, cfg.Stores.Wait = false, false
	log, err := newLogger(env, cfg)
	if err != nil {
		return nil, err
	}
	w := &toolEnv{cfg: cfg, log: log}
	if w.stores, err = openStores(ctx, cfg, log); err != nil {
		return nil, err
	}
	sayDatabase(env, w.stores.ledger)
	w.stores.checkFormats(ctx)
	key, err := w.stores.ledger.IDKey(ctx)
	if err != nil {
		w.stores.close(log)
		return nil, fmt.Errorf("the key of the order ids: %w", err)
	}
	counter, err := redisstore.NewCounter(w.stores.clients.Commands, cfg.Redis.Prefix)
	if err != nil {
		w.stores.close(log)
		return nil, err
	}
	w.ids = idworker.New(counter, w.stores.ledger, key, idworker.Options{Logger: log})
	w.shop = openShop(cfg, w.stores, w.ids, service.Providers{}, telemetry.NewMetrics(build()), log)
	return w, nil
}

// sayDatabase says which database a command works on: what it prints else is the same on the wrong one.
func sayDatabase(env cmdline.Env, ledger *sqlstore.Store) {
	_, _ = fmt.Fprintln(env.Err, "database:", ledger.DB().Place())
}

// close releases what the environment holds.
func (w *toolEnv) close(ctx context.Context) {
	w.shop.close()
	closing(w.log, "the order ids", func() error { return w.ids.Close(context.WithoutCancel(ctx)) })
	w.stores.close(w.log)
}

// requestRepair rebuilds the sale if Redis does not hold it as the ledger says, or if its epoch is not above badEpoch.
func (w *toolEnv) requestRepair(ctx context.Context, sale int64, badEpoch int64) error {
	if badEpoch > order.NoBadEpoch {
		w.repairs.RequestRepair(sale, badEpoch)
	}
	if err := w.reconciler.Open(ctx, sale); err != nil {
		return fmt.Errorf("rebuilding the sale of voucher %d: %w", sale, err)
	}
	return nil
}

// withLedger runs f, of a command that needs no Redis, on the ledger that the settings name, whose schema must be
// this version's.
func withLedger(
	ctx context.Context, env cmdline.Env, f func(cfg config.Config, ledger toolLedger, log *slog.Logger) error,
) error {
	return withAnyLedger(ctx, env, func(cfg config.Config, ledger toolLedger, log *slog.Logger) error {
		if err := ledger.CheckSchema(ctx); err != nil {
			return err
		}
		return f(cfg, ledger, log)
	})
}

// withAnyLedger is withLedger whatever the schema is.
func withAnyLedger(
	ctx context.Context, env cmdline.Env, f func(cfg config.Config, ledger toolLedger, log *slog.Logger) error,
) error {
	cfg, err := config.Load(env.Environ)
	if err != nil {
		return err
	}
	log, err := newLogger(env, cfg)
	if err != nil {
		return err
	}
	ledger, err := openLedger(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer closing(log, "the database", ledger.close)
	sayDatabase(env, ledger.Store)
	return f(cfg, ledger, log)
}
