package main

import (
	"context"
	"log/slog"
	"time"

	"seckill/internal/config"
	"seckill/internal/feature"
	"seckill/internal/feature/rehearsal"
	"seckill/internal/feature/template"
	"seckill/internal/httpapi"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/preflight"
)

// features is the list of features: the service has those that stand here. Hooks run in its order.
func features(cfg config.Config, s *stores, shop *shop, log *slog.Logger) feature.List {
	bodies := httpkit.Bodies{Limit: cfg.HTTP.BodyLimit}
	orders := httpapi.OrderPages(shop.orders)
	return feature.List{
		template.New(s.ledger.DB(), s.ledger.Voucher, bodies),
		rehearsal.New(openRehearsals(s, shop),
			rehearsal.HTTP{Orders: orders, Bodies: bodies, Now: time.Now}, s.ledger, shop.locks, log),
	}
}

// openRehearsals wires rehearsals to the core. A process calls it once, before it creates vouchers.
func openRehearsals(s *stores, shop *shop) *rehearsal.Rehearsals {
	return rehearsal.NewRehearsals(rehearsal.Parts{
		Sales: s.ledger, Clock: s.redis, Find: s.ledger.Voucher, Vouchers: shop.vouchers, Locker: shop.locks,
		Runs: rehearsal.NewLedger(s.ledger.DB()), Memory: s.redis.Memory, Alone: s.home != nil,
	})
}

// lastRehearsal returns the last rehearsal of a sale that has a result, or nil.
func lastRehearsal(ctx context.Context, s *stores, voucherID int64) (*preflight.Rehearsed, error) {
	return rehearsal.Last(ctx, s.ledger.DB(), voucherID)
}
