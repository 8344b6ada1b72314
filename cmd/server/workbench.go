package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"seckill/internal/config"
	"seckill/internal/idworker"
	"seckill/internal/order"
	"seckill/internal/redisstore"
	"seckill/internal/telemetry"
)

// errEmbedded: a command needs Redis, and the embedded mode's is inside the process that serves.
var errEmbedded = errors.New("in the embedded mode Redis is inside the process that serves, and gone with it: there is nothing to look into from outside")

// workbench is the stores and the domain of a site for a command that works beside the instances which serve: nobody
// works in the background, and the schema is not touched.
type workbench struct {
	*shop

	stores *stores
	ids    *idworker.Worker
	log    *slog.Logger
}

func openWorkbench(ctx context.Context, env environment) (*workbench, error) {
	cfg, err := config.Load(env.environ)
	if err != nil {
		return nil, err
	}
	if cfg.Embedded() {
		return nil, errEmbedded
	}
	cfg.Stores.Migrate = false
	log, err := newLogger(env, cfg)
	if err != nil {
		return nil, err
	}
	w := &workbench{log: log}
	if w.stores, err = openStores(ctx, cfg, log); err != nil {
		return nil, err
	}
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
	w.shop = openShop(cfg, w.stores, w.ids, nil, telemetry.NewMetrics(build()), log)
	return w, nil
}

// close ends what the workbench holds.
func (w *workbench) close(ctx context.Context) {
	w.shop.close()
	closing(w.log, "the order ids", func() error { return w.ids.Close(context.WithoutCancel(ctx)) })
	w.stores.close(w.log)
}

// mend rebuilds the sale if Redis does not hold it as the ledger says, or if its epoch is not above broken.
func (w *workbench) mend(ctx context.Context, voucherID, broken int64) error {
	if broken > order.NotBroken {
		w.complaints.Mend(voucherID, broken)
	}
	if err := w.keeper.Open(ctx, voucherID); err != nil {
		return fmt.Errorf("rebuilding the sale of voucher %d: %w", voucherID, err)
	}
	return nil
}
