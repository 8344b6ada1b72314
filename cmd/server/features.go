package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"seckill/internal/feature"
	"seckill/internal/features"
	"seckill/internal/httpapi"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/cmdline"
	"seckill/internal/kit/config"
	"seckill/internal/order/catalog"
	"seckill/internal/order/redemption"
	"seckill/internal/order/service"
	"seckill/internal/sqlstore"
)

// withHooks has the features' hooks run in the transactions of a ledger that was just opened, and returns the features.
func withHooks(ledger *sqlstore.Store) feature.List {
	opened, hooks := features.List().InLedger(ledger.DB(), ledger.Orders())
	ledger.Use(hooks...)
	return opened
}

// coreFor is what the core gives to features; to those of a command, front is empty.
func coreFor(
	cfg config.Config, s *stores, shop *shop, front httpkit.Front, log *slog.Logger,
) feature.Core {
	return feature.Core{
		DB: s.ledger.DB(), Orders: s.ledger.Orders(), Ledger: s.ledger, Redis: s.redis, Partitions: s.redis,
		Vouchers: shop.vouchers, Sales: sales{shop.catalog, shop.purchases}, Locks: shop.locks, Settings: cfg,
		Secret: s.secret, Version: build().Version, Embedded: s.home != nil, Front: front, Log: log,
		Members: feature.Members{
			Coupons: func(ctx context.Context, orderIDs []int64, whole bool) (map[int64]feature.Coupon, error) {
				found, err := s.ledger.Coupons(ctx, orderIDs)
				return shownCoupons(found, whole), err
			},
		},
	}
}

// sales is feature.Sales.
type sales struct {
	*catalog.Catalog
	*service.Purchases
}

// front is what the core's interface gives to features' routes.
func front(cfg config.Config, shop *shop, streams *httpkit.Streams) httpkit.Front {
	return httpkit.Front{
		Bodies: httpkit.Bodies{Limit: cfg.HTTP.BodyLimit}, Streams: streams, Now: time.Now, Zone: cfg.Server.Location,
		Address: httpkit.AddressBehind(cfg.HTTP.TrustedProxies),
		Orders:  httpapi.OrderPages(shop.orders),
	}
}

// shownCoupons returns the coupons as answers show them, with their codes masked or whole.
func shownCoupons(found map[int64]redemption.Coupon, whole bool) map[int64]feature.Coupon {
	show := redemption.Code.Masked
	if whole {
		show = redemption.Code.Shown
	}
	shown := make(map[int64]feature.Coupon, len(found))
	for id, c := range found {
		shown[id] = feature.Coupon{Code: show(c.Code), ValidUntil: c.ValidUntil}
	}
	return shown
}

// featureCommands are the features' commands for operators.
func featureCommands() (all []command) {
	tools := feature.Tools{Core: withCore, Ledger: withFeatureLedger}
	for _, c := range features.List().Commands() {
		all = append(all, command{c.Name, c.Summary, func(ctx context.Context, env cmdline.Env) error {
			return c.Run(ctx, env, tools)
		}})
	}
	return all
}

// withCore is feature.Tools.Core.
func withCore(ctx context.Context, env cmdline.Env, do func(feature.Core) error) error {
	w, err := openToolEnv(ctx, env)
	if err != nil {
		return err
	}
	defer w.close(ctx)
	return do(coreFor(w.cfg, w.stores, w.shop, httpkit.Front{}, w.log))
}

// withFeatureLedger is feature.Tools.Ledger.
func withFeatureLedger(ctx context.Context, env cmdline.Env, do func(feature.Core) error) error {
	return withLedger(ctx, env, func(cfg config.Config, ledger toolLedger, log *slog.Logger) error {
		return do(feature.Core{
			DB: ledger.DB(), Orders: ledger.Orders(), Ledger: ledger, Settings: cfg, Version: build().Version,
			Embedded: ledger.home != nil, Log: log,
		})
	})
}

// warnOfGuards names the sales that have guards, where nothing asks them.
func warnOfGuards(ctx context.Context, ledger feature.Ledger, log *slog.Logger) error {
	vs, err := ledger.SalesToKeep(ctx)
	if err != nil {
		return fmt.Errorf("which sales have guards: %w", err)
	}
	var guarded []int64
	for _, v := range vs {
		if v.Sale.Guards != nil {
			guarded = append(guarded, v.ID)
		}
	}
	if len(guarded) > 0 {
		log.WarnContext(ctx, "sales have guards, which this server was built without: bots may take them",
			"vouchers", guarded)
	}
	return nil
}
