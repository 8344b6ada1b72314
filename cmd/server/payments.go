package main

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"seckill/internal/httpapi"
	"seckill/internal/kit/config"
	"seckill/internal/order/service"
	"seckill/internal/sandbox"
)

// callbackPath is where a provider calls back: a route of httpapi.
const callbackPath = "/payment/callback"

// payments are the providers that the settings name, and how their callbacks are read; empty when there is none.
type payments struct {
	providers service.Providers
	callbacks map[string]httpapi.CallbackReader
	// mount puts the provider's own pages in front of the service's routes; nil when it has none.
	mount func(service http.Handler, self string) (http.Handler, error)
}

// openPayments returns the provider. In the embedded mode the tokens' secret serves its signatures too: it signs with
// keys that are derived for each purpose.
func openPayments(ctx context.Context, cfg config.Config, tokenSecret string, log *slog.Logger) (payments, error) {
	if cfg.Payment.Provider != config.SandboxPayments {
		return payments{}, nil
	}
	secret := []byte(cfg.Payment.Secret.Reveal())
	if len(secret) == 0 {
		secret = []byte(tokenSecret)
	}
	provider, err := sandbox.NewProvider(secret, log)
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
		pages, err := sandbox.NewPages(provider, notices, callback, back, &http.Client{CheckRedirect: noRedirects}, log)
		if err != nil {
			return nil, err
		}
		return before(sandbox.Path, pages, service), nil
	}
	return payments{
		providers: service.Providers{
			Default: sandbox.Name, ByName: map[string]service.Provider{sandbox.Name: provider},
		},
		callbacks: map[string]httpapi.CallbackReader{"": notices.Read, sandbox.Name: notices.Read},
		mount:     mount,
	}, nil
}

// before has one handler answer what is below a path, and another one the rest. An http.ServeMux would clean the
// paths of the rest, and redirect callers to them; the service answers every path itself.
func before(path string, below, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, path) {
			below.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// noRedirects: a callback is for the address that was configured, and for no other.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
