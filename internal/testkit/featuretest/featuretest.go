// Package featuretest serves a feature's routes over HTTP for its tests, with the core's handling of every request:
// tokens, limits, the error table. The core's own routes do not work there.
package featuretest

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"seckill/internal/httpapi"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/authtoken"
	"seckill/internal/testkit/apitest"
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
		Vouchers: struct{ httpapi.Vouchers }{}, Purchases: struct{ httpapi.Purchases }{},
		Routes: routes, Rules: rules,
		Log: slog.New(slog.DiscardHandler), Tokens: authtoken.Rules{Secret: []byte(apitest.Secret)}, Now: apitest.Noon,
		Zone: time.UTC, BodyLimit: apitest.BodyLimit, MaxWait: 30 * time.Second, MaxInFlight: 20_000, UserBurst: 30,
		Streams: Streams(),
	}
	if s.Strict {
		cfg.UserRate, cfg.UserBurst = 1, 1
	}
	return cfg
}

// Streams returns a limit of streams that tests never reach.
func Streams() *httpkit.Streams { return httpkit.NewStreams(20_000, 10) }
