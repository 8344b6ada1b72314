package main

import (
	"log/slog"
	"time"

	"seckill/internal/feature"
	"seckill/internal/feature/rehearsal"
	"seckill/internal/feature/report"
	"seckill/internal/feature/template"
	"seckill/internal/httpapi"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/config"
)

// features is the list of features: the service has those that stand here. Hooks run in its order.
func features(
	cfg config.Config, s *stores, shop *shop, streams *httpkit.Streams, log *slog.Logger,
) feature.List {
	bodies := httpkit.Bodies{Limit: cfg.HTTP.BodyLimit}
	orders := httpapi.OrderPages(shop.orders)
	return feature.List{
		template.New(s.ledger.DB(), s.ledger.Voucher, bodies),
		rehearsal.New(openRehearsals(s, shop),
			rehearsal.HTTP{Orders: orders, Bodies: bodies, Now: time.Now}, s.ledger, shop.locks, log),
		report.New(s.ledger.DB(), report.Core{Find: s.ledger.Voucher, Orders: s.ledger.OrdersAfter}, reportMembers(s),
			report.HTTP{Note: s.ledger.Note, Streams: streams, Now: time.Now}),
	}
}

// featureCommands are the features' commands for operators.
func featureCommands() []command {
	return []command{
		{"rehearse", rehearsal.Summary, rehearse},
	}
}
