// Package featuretest serves a feature's routes over HTTP for its tests. Requests are handled as in the service: with
// tokens, limits, and the error table, which includes the core's rules.
package featuretest

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/testkit/apitest"
	"seckill/internal/voucher"
)

// Serve returns an API at noon with the routes and rules. It honours s.Strict; s.Full is ignored.
func Serve(tb testing.TB, routes []httpkit.Route, rules []httpkit.Rule, s apitest.State) http.Handler {
	tb.Helper()
	api, err := httpapi.New(Config(routes, rules, s))
	if err != nil {
		tb.Fatal(err)
	}
	return api.Handler()
}

// Config returns the configuration that Serve uses, for features whose tests also need routes of the core.
func Config(routes []httpkit.Route, rules []httpkit.Rule, s apitest.State) httpapi.Config {
	cfg := httpapi.Config{
		FindKey: apitest.FindKey(s.Made), Routes: routes, Rules: slices.Concat(shop.Rules(), rules),
		Log: slog.New(slog.DiscardHandler), Tokens: authtoken.Rules{Secret: []byte(apitest.Secret)}, Now: apitest.Noon,
		BodyLimit: apitest.BodyLimit, UserBurst: 30,
		InFlight: bulkhead.New(20_000, 0, bulkhead.Requests()...),
		Streams:  Streams(),
	}
	if s.Strict {
		cfg.UserRate, cfg.UserBurst = 1, 1
	}
	return cfg
}

// WithShop returns an API with this configuration and also routes of the core, on the given parts.
func WithShop(tb testing.TB, cfg httpapi.Config, parts shop.Config) http.Handler {
	tb.Helper()
	if parts.Vouchers == nil {
		parts.Vouchers = struct{ shop.Vouchers }{}
	}
	parts.Front = httpkit.Front{
		Members: parts.Members, Gatekeeper: cfg.Gatekeeper,
		Bodies: httpkit.Bodies{Limit: cfg.BodyLimit}, Streams: cfg.Streams, Now: cfg.Now, Zone: time.UTC,
		Currency: "CNY", ShopOf: ShopOf,
	}
	parts.MaxWait, parts.InFlight = 30*time.Second, cfg.InFlight
	sells, err := shop.New(parts)
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Routes = append(sells.Routes(), cfg.Routes...)
	api, err := httpapi.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return api.Handler()
}

// ShopOf returns the shop of every voucher but 4711, which does not exist.
func ShopOf(_ context.Context, voucherID int64) (int64, error) {
	if voucherID == 4711 {
		return 0, voucher.ErrNotFound
	}
	return apitest.ShopID, nil
}

// Streams returns a limit of streams that tests never reach.
func Streams() *httpkit.Streams { return httpkit.NewStreams(20_000, 10) }
