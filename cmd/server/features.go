package main

import (
	"seckill/internal/config"
	"seckill/internal/feature"
	"seckill/internal/feature/template"
	"seckill/internal/httpapi/httpkit"
)

// features is the list of features: the service has those that stand here. Hooks run in its order.
func features(cfg config.Config, s *stores) feature.List {
	bodies := httpkit.Bodies{Limit: cfg.HTTP.BodyLimit}
	return feature.List{
		template.New(s.ledger.DB(), s.ledger.Voucher, bodies),
	}
}
