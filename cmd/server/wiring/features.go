package wiring

import (
	"context"
	"errors"
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
	"seckill/internal/order/partition"
	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/installation"
	"seckill/internal/telemetry"
	"seckill/internal/voucher"
)

// OpenFeatures opens all features and runs their hooks in the ledger's transactions. Call it before a voucher or an
// order is written. If the settings of some are wrong, it returns a feature.ErrSettings with the parts of the others.
func OpenFeatures(core feature.Core, ledger *sqlstore.Store) (feature.Parts, error) {
	parts, err := features.List().Open(core)
	ledger.Use(parts.Hooks...)
	return parts, err
}

// useHooks opens the features for a command, which needs only their hooks and members, so there is nothing to close.
// Settings with which no server starts do not stop it: a file that they name may be on the instances' machines only.
func useHooks(core feature.Core, ledger *sqlstore.Store) (httpkit.Members, error) {
	parts, err := OpenFeatures(core, ledger)
	if errors.Is(err, feature.ErrSettings) {
		err = nil
	}
	return parts.Members, err
}

// Core returns the core as features use it; front is empty for features of a command.
func Core(
	cfg config.Config, s *Stores, shop *Shop, front httpkit.Front, log *slog.Logger,
) feature.Core {
	core := ledgerCore(cfg, s.Ledger, s.build, log)
	core.Redis, core.Partitions = s.forFeatures(), s.Redis
	core.Vouchers, core.Units = shop.Vouchers, s.Ledger.Features.KeptUnits
	core.Sales = feature.Sales{
		Find: shop.Catalog.Find, AnyGuards: shop.Catalog.AnyGuards, Now: shop.Purchases.Now,
		Clock: shop.Purchases.Clock, Watch: shop.WatchSales, OwnOrder: shop.Purchases.OwnOrder,
		Holds: shop.Purchases.Holds, Order: shop.Purchases.Order,
		Balance: shop.Auditor.Balance,
	}
	core.IDs, core.Outbox, core.TryLock, core.Notifier = shop.ids, shop.outbox, shop.locks.TryDoFenced, shop.Notifier
	core.Front, core.Tokens, core.Alone = front, TokenRules(cfg, s.Secret), shop.alone
	core.SwitchOn = partition.NewFormats(s.Redis.Instances, s.Ledger.Schema().Raise).SwitchOn
	return core
}

// ledgerCore returns the part of the core that needs only the database. Nothing else has an embedded one open.
func ledgerCore(cfg config.Config, l *sqlstore.Store, build telemetry.Build, log *slog.Logger) feature.Core {
	return feature.Core{
		DB: l.DB(), Orders: l.Features, Ledger: ledgerOf(l), Settings: cfg, Version: build.Version, Log: log,
		SwitchOn: func(ctx context.Context, _ string) error { return l.Schema().Raise(ctx) },
	}
}

// forFeatures returns the queries to Redis for features.
func (s *Stores) forFeatures() feature.Redis {
	return feature.Redis{
		TimeIn: s.Redis.TimeIn, Instances: s.Redis.Instances, Views: s.Redis.Views, OrdersOf: s.Redis.OrdersOf,
		Memory: s.Servers.Memory, OtherData: s.Redis.OtherData,
		Backlog: func(ctx context.Context) (waiting, dead int64, err error) {
			for _, n := range s.partitions.All() {
				of, failed := s.Redis.Backlog(ctx, n)
				waiting, dead, err = waiting+of.Waiting, dead+of.Dead, errors.Join(err, failed)
			}
			return waiting, dead, err
		},
		Oldest: func(ctx context.Context) (oldest time.Duration, err error) {
			for _, n := range s.partitions.All() {
				of, failed := s.Redis.Backlog(ctx, n)
				oldest, err = max(oldest, of.Oldest), errors.Join(err, failed)
			}
			return oldest, err
		},
	}
}

// ledgerOf returns the ledger's functions for features.
func ledgerOf(l *sqlstore.Store) feature.Ledger {
	return feature.Ledger{
		Voucher: l.Vouchers.Voucher, SalesToKeep: l.Sales.SalesToKeep, LiveOrder: l.Orders.LiveOrder,
		OrdersAfter: l.Orders.OrdersAfter, PaymentsAfter: l.Payments.PaymentsAfter,
		RefundsWaiting: l.Payments.RefundsWaiting,
		Entries:        l.Vouchers.Entries,
		Note:           l.Note, RetiredRehearsals: l.Sales.RetiredRehearsals, EmptyRehearsal: l.Sales.EmptyRehearsal,
	}
}

// ShopLedger returns the parts of the ledger that the core's routes read.
func ShopLedger(l *sqlstore.Store) shop.Ledger {
	return struct {
		sqlstore.Payments
		sqlstore.Unwinds
		sqlstore.Vouchers
		*installation.Tables
	}{l.Payments, l.Unwinds, l.Vouchers, l.Tables}
}

// FrontFor returns the parts of the core's interface that routes use.
func FrontFor(
	cfg config.Config, parts *Shop, streams *httpkit.Streams, addresses *clientip.Addresses,
) httpkit.Front {
	return httpkit.Front{
		Bodies: httpkit.Bodies{Limit: cfg.HTTP.BodyLimit}, Streams: streams, Now: time.Now, Zone: cfg.Server.Location,
		Currency: cfg.Payment.Currency, Address: addresses.Of,
		ShopOf: func(ctx context.Context, voucherID int64) (int64, error) {
			v, err := parts.Catalog.Find(ctx, voucherID)
			return v.ShopID, err
		},
		PictureHosts: cfg.HTTP.PictureHosts,
		Order:        parts.Orders.Order, Orders: shop.OrderPages(parts.Orders, cfg.Payment.Currency),
	}
}

// ToolsFor returns a function that opens the stores for features' commands.
func ToolsFor(build telemetry.Build) feature.Tools {
	return feature.Tools{
		Core: func(ctx context.Context, env cmdline.Env, do func(feature.Core) error) error {
			return WithTool(ctx, Env{env, build}, func(w *Tool) error {
				return do(Core(w.cfg, w.Stores, w.Shop, httpkit.Front{Members: w.members}, w.Log))
			})
		},
		Ledger: func(ctx context.Context, env cmdline.Env, do func(feature.Core) error) error {
			return WithLedger(ctx, Env{env, build}, func(cfg config.Config, ledger Ledger, log *slog.Logger) error {
				core := ledgerCore(cfg, ledger.Store, build, log)
				core.Front.Members = ledger.members
				return do(core)
			})
		},
		Reachable: func(ctx context.Context, env cmdline.Env, do func(feature.Core, error) error) error {
			return withReachable(ctx, Env{env, build}, do)
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
