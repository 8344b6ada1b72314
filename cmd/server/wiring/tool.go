package wiring

import (
	"context"
	"log/slog"

	"seckill/internal/feature"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/lock"
	"seckill/internal/order/service"
	"seckill/internal/telemetry"
)

// Tool has the stores and the domain for a command that runs beside the serving instances. It runs no background jobs,
// and does not change the schema.
type Tool struct {
	*Shop

	members httpkit.Members // of the features
	Stores  *Stores
	Log     *slog.Logger
}

// WithTool opens a tool for the time of do.
func WithTool(ctx context.Context, env Env, do func(w *Tool) error) error {
	w, err := openTool(ctx, env)
	if err != nil {
		return err
	}
	defer w.Close(ctx)
	return do(w)
}

func openTool(ctx context.Context, env Env) (*Tool, error) {
	cfg, log, err := env.Load()
	if err != nil {
		return nil, err
	}
	if cfg.Embedded() {
		return nil, feature.ErrEmbedded
	}
	cfg.Stores.Migrate, cfg.Stores.Wait = false, false
	w := &Tool{Log: log}
	if w.Stores, err = Open(ctx, cfg, env.Build, log); err != nil {
		return nil, err
	}
	sayDatabase(env, w.Stores.Ledger)
	w.Stores.checkFormats(ctx)
	ids, err := w.Stores.OrderIDs(ctx, cfg, log)
	if err != nil {
		w.Stores.Close(log)
		return nil, err
	}
	w.Shop = OpenShop(cfg, w.Stores, ids, service.Providers{}, telemetry.NewMetrics(env.Build), log)
	if w.members, err = useHooks(Core(cfg, w.Stores, w.Shop, httpkit.Front{}, log), w.Stores.Ledger); err != nil {
		w.Close(ctx)
		return nil, err
	}
	return w, nil
}

// Locks returns the locks of the service.
func (w *Tool) Locks() *lock.Locker { return w.locks.locks }

// Close releases everything that the tool holds.
func (w *Tool) Close(ctx context.Context) {
	w.Shop.Close()
	Closing(w.Log, "the order ids", func() error { return w.ids.Close(context.WithoutCancel(ctx)) })
	w.Stores.Close(w.Log)
}
