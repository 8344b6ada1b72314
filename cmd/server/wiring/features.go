package wiring

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"seckill/internal/config"
	"seckill/internal/feature"
	"seckill/internal/features"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/clientip"
	"seckill/internal/kit/cmdline"
	"seckill/internal/order/catalog"
	"seckill/internal/sqlstore"
	"seckill/internal/telemetry"
	"seckill/internal/voucher"
)

// withHooks runs the features' hooks in the transactions of a newly opened ledger, and returns the features.
func withHooks(ledger *sqlstore.Store) feature.List {
	opened, hooks := features.List().InLedger(ledger.DB(), ledger.Orders())
	ledger.Use(hooks...)
	return opened
}

// Core returns the core as features use it; front is empty for features of a command.
func Core(
	cfg config.Config, s *Stores, shop *Shop, front httpkit.Front, log *slog.Logger,
) feature.Core {
	return feature.Core{
		DB: s.Ledger.DB(), Orders: s.Ledger.Orders(), Ledger: ledgerOf(s.Ledger),
		Redis: feature.Redis{
			TimeIn: s.Redis.TimeIn, Instances: s.Redis.Instances, Views: s.Redis.Views, OrdersOf: s.Redis.OrdersOf,
		},
		Partitions: s.Redis, Memory: s.Servers.Memory,
		CreateBeside: shop.Vouchers.CreateBeside, ChangeVoucher: shop.Vouchers.Change,
		Sales: feature.Sales{
			Find: shop.Catalog.Find, AnyGuards: shop.Catalog.AnyGuards, Now: shop.Purchases.Now,
			OwnOrder: shop.Purchases.OwnOrder, Holds: shop.Purchases.Holds,
		},
		UserOrder: shop.Purchases.Order, Units: s.Ledger.KeptUnits, IDs: shop.ids, Outbox: shop.outbox,
		TryLock: shop.locks.TryDo, TryLockFenced: shop.locks.TryDoFenced, Notifier: shop.Notifier,
		Settings: cfg, Secret: s.Secret, Version: s.build.Version, Embedded: s.Home != nil, Front: front, Log: log,
		Tokens: TokenRules(cfg, s.Secret),
	}
}

// ledgerOf returns the ledger's functions for features.
func ledgerOf(l *sqlstore.Store) feature.Ledger {
	return feature.Ledger{
		Voucher: l.Voucher, SalesToKeep: l.SalesToKeep, LiveOrder: l.LiveOrder, OrdersAfter: l.OrdersAfter,
		PaymentsAfter: l.PaymentsAfter, Entries: l.Entries, Note: l.Note, RetiredRehearsals: l.RetiredRehearsals,
		EmptyRehearsal: l.EmptyRehearsal,
	}
}

// FrontFor returns the parts of the core's interface that routes use.
func FrontFor(
	cfg config.Config, parts *Shop, streams *httpkit.Streams, addresses *clientip.Addresses,
) httpkit.Front {
	return httpkit.Front{
		Bodies: httpkit.Bodies{Limit: cfg.HTTP.BodyLimit}, Streams: streams, Now: time.Now, Zone: cfg.Server.Location,
		Currency: cfg.Payment.Currency, Address: addresses.Of, ShopOf: shopOf(parts.Catalog),
		Order: parts.Orders.Order, Orders: shop.OrderPages(parts.Orders, cfg.Payment.Currency),
	}
}

// ToolsFor returns a function that opens the stores for features' commands.
func ToolsFor(build telemetry.Build) feature.Tools {
	return feature.Tools{
		Core: func(ctx context.Context, env cmdline.Env, do func(feature.Core) error) error {
			w, err := OpenTool(ctx, Env{env, build})
			if err != nil {
				return err
			}
			defer w.Close(ctx)
			return do(Core(w.cfg, w.Stores, w.Shop, httpkit.Front{}, w.Log))
		},
		Ledger: func(ctx context.Context, env cmdline.Env, do func(feature.Core) error) error {
			return WithLedger(ctx, Env{env, build}, func(cfg config.Config, ledger Ledger, log *slog.Logger) error {
				return do(feature.Core{
					DB: ledger.DB(), Orders: ledger.Orders(), Ledger: ledgerOf(ledger.Store), Settings: cfg,
					Version: build.Version, Embedded: ledger.home != nil, Log: log,
				})
			})
		},
	}
}

// WarnOfGuards logs the sales that have guards, for a server without the feature that enforces them.
func WarnOfGuards(
	ctx context.Context, salesToKeep func(context.Context) ([]voucher.Voucher, error), log *slog.Logger,
) error {
	vs, err := salesToKeep(ctx)
	if err != nil {
		return fmt.Errorf("reading which sales have guards: %w", err)
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

// shopOf returns a function that finds the shop of a voucher.
func shopOf(c *catalog.Catalog) func(context.Context, int64) (int64, error) {
	return func(ctx context.Context, voucherID int64) (int64, error) {
		v, err := c.Find(ctx, voucherID)
		return v.ShopID, err
	}
}
