package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"seckill/internal/config"
	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/clientip"
	"seckill/internal/order/service"
	"seckill/internal/sandbox"
)

// callbackPath is the path to which providers send callbacks: a route of package shop.
const callbackPath = "/payment/callback"

// payments are the configured providers, and the reader of their callbacks; empty without a provider.
type payments struct {
	providers service.Providers
	callbacks map[string]shop.CallbackReader
	// mount serves the provider's own pages in front of the service's routes; nil if it has none.
	mount func(service http.Handler, self string) (http.Handler, error)
}

// openPayments returns the provider. In the embedded mode the tokens' secret also signs for it: each purpose has a key
// of its own, derived from that secret.
func openPayments(
	ctx context.Context, cfg config.Config, tokenSecret string, refunds sandbox.RefundsOf, log *slog.Logger,
) (payments, error) {
	if cfg.Payment.Provider != config.SandboxPayments {
		return payments{}, nil
	}
	secret := []byte(cfg.Payment.Secret.Reveal())
	if len(secret) == 0 {
		secret = []byte(tokenSecret)
	}
	provider, err := sandbox.NewProvider(secret, cfg.Payment.Currency, log)
	if err != nil {
		return payments{}, err
	}
	notices, err := sandbox.NewNotices(secret, time.Now)
	if err != nil {
		return payments{}, err
	}
	if !cfg.Embedded() {
		log.WarnContext(ctx, "orders are paid in the sandbox, which moves no money", "setting",
			"SECKILL_PAYMENT_PROVIDER")
	}
	mount := func(service http.Handler, self string) (http.Handler, error) {
		callback := cfg.Payment.CallbackURL
		if callback == "" {
			callback = "http://" + reachable(self) + callbackPath
		}
		back := ""
		if cfg.HTTP.Pages {
			back = "/"
		}
		client := &http.Client{CheckRedirect: noRedirects}
		pages, err := sandbox.NewPages(provider, notices, callback, back, refunds, client, log)
		if err != nil {
			return nil, err
		}
		return before(sandbox.Path, pages, service), nil
	}
	return payments{
		providers: service.Providers{
			Default: sandbox.Name, ByName: map[string]service.Provider{sandbox.Name: provider},
		},
		callbacks: map[string]shop.CallbackReader{"": notices.Read, sandbox.Name: notices.Read},
		mount:     mount,
	}, nil
}

// before returns a handler: below answers requests below the path, and rest all others. An http.ServeMux would clean
// the other paths and redirect callers to them; the service answers every path itself.
func before(path string, below, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, path) {
			below.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// noRedirects keeps a callback at the configured address.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// returnURL returns the function that says where a buyer goes on after paying for an order: on a setting's page, or on
// this service's own, at the address of the request; nil if there is neither.
func returnURL(cfg config.Config, addresses *clientip.Addresses) func(r *http.Request, orderID int64) string {
	if set := cfg.Payment.ReturnURL; set != "" {
		return func(_ *http.Request, orderID int64) string {
			return strings.ReplaceAll(set, "{orderId}", strconv.FormatInt(orderID, 10))
		}
	}
	if !cfg.HTTP.Pages {
		return nil
	}
	return func(r *http.Request, orderID int64) string {
		page := url.URL{
			Scheme: "http", Host: r.Host, Path: "/", Fragment: "order-" + strconv.FormatInt(orderID, 10),
		}
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		byProxy := err == nil && addresses.IsProxy(from.Addr())
		if r.TLS != nil || byProxy && r.Header.Get("X-Forwarded-Proto") == "https" {
			page.Scheme = "https"
		}
		return page.String()
	}
}
