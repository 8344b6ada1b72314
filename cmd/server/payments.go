package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"seckill/internal/config"
	"seckill/internal/feature"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/clientip"
	"seckill/internal/kit/signature"
	"seckill/internal/order/service"
	"seckill/internal/remotepay"
	"seckill/internal/sandbox"
)

// callbackPath is the path to which providers send callbacks: a route of package shop.
const callbackPath = "/payment/callback"

// payments are the configured providers, and the reader of their callbacks; empty without a provider.
type payments struct {
	providers service.Providers
	callbacks map[string]shop.CallbackReader
	remote    []*remotepay.Provider // those over HTTP, the default one first
	metrics   *remotepay.Metrics    // of their calls; nil without any
	// mount serves the provider's own pages in front of the service's routes; nil if it has none.
	mount func(service http.Handler, self string) http.Handler
}

// openPayments returns the providers: those over HTTP, or the sandbox. In the embedded mode the tokens' secret also
// signs for it: each purpose has a key of its own, derived from that secret.
func openPayments(
	ctx context.Context, cfg config.Config, tokenSecret, userAgent string, ledger sandbox.Ledger, log *slog.Logger,
) (payments, error) {
	if len(cfg.Payment.Providers) > 0 {
		return openRemote(cfg, userAgent, log)
	}
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
	mount := func(service http.Handler, self string) http.Handler {
		callback := cfg.Payment.CallbackURL
		if callback == "" {
			callback = "http://" + reachable(self) + callbackPath
		}
		back := ""
		if cfg.HTTP.Pages {
			back = cfg.HTTP.Base() + "/"
		}
		client := &http.Client{CheckRedirect: noRedirects}
		return before(sandbox.Path,
			sandbox.NewPages(provider, notices, callback, back, ledger, client, log), service)
	}
	return payments{
		providers: service.Providers{
			Default: sandbox.Name, ByName: map[string]service.Provider{sandbox.Name: provider.Below(cfg.HTTP.Base())},
		},
		callbacks: map[string]shop.CallbackReader{"": notices.Read, sandbox.Name: notices.Read},
		mount:     mount,
	}, nil
}

// openRemote returns the providers over HTTP. Error: feature.ErrSettings for an address that can never be dialled.
func openRemote(cfg config.Config, userAgent string, log *slog.Logger) (payments, error) {
	p := payments{
		providers: service.Providers{ByName: map[string]service.Provider{}},
		callbacks: map[string]shop.CallbackReader{},
	}
	var names []string
	for _, set := range cfg.Payment.Remote() {
		names = append(names, set.Name)
	}
	p.metrics = remotepay.NewMetrics(names...)
	for _, set := range cfg.Payment.Remote() {
		var keys [][]byte
		for _, secret := range []config.Secret{set.Secret, set.Previous} {
			if key, err := signature.Key(secret.Reveal()); err == nil { // config.Load has refused others but none
				keys = append(keys, key)
			}
		}
		remote, err := remotepay.New(remotepay.Options{
			Name: set.Name, URL: set.URL, Keys: keys, Allowed: cfg.Payment.Networks(), UserAgent: userAgent,
			Metrics: p.metrics, Log: log,
		})
		if err != nil {
			return payments{}, fmt.Errorf("%w: SECKILL_PAYMENT_PROVIDERS: %w (allowed: https on the public Internet, "+
				"and what SECKILL_PAYMENT_PROVIDER_ALLOW names)", feature.ErrSettings, err)
		}
		notices := remotepay.NewNotices(set.Name, keys, time.Now)
		p.remote, p.providers.ByName[set.Name] = append(p.remote, remote), remote
		p.callbacks[set.Name] = notices.Read
		if p.providers.Default == "" {
			p.providers.Default, p.callbacks[""] = set.Name, notices.Read
		}
	}
	return p, nil
}

func (p payments) close() {
	for _, remote := range p.remote {
		remote.Close()
	}
}

// loads returns how many calls to providers are under way, by class.
func (p payments) loads() (all []bulkhead.Load) {
	for _, remote := range p.remote {
		for i, load := range remote.Loads() {
			if i == len(all) {
				all = append(all, load)
				continue
			}
			all[i].Add(load)
		}
	}
	return all
}

// states returns the function that says how the providers stand.
func (p payments) states(
	set config.Payment, waiting func(context.Context) (map[string]int64, error),
) func(context.Context) ([]shop.Provider, error) {
	return func(ctx context.Context) ([]shop.Provider, error) {
		refunds, err := waiting(ctx)
		if err != nil {
			return nil, err
		}
		refunds[p.providers.Default] += refunds[""] // of payments from before there were several
		var all []shop.Provider
		for _, name := range set.Names() {
			all = append(all, shop.Provider{
				Name: name, Set: true, Default: name == p.providers.Default, Waiting: refunds[name],
			})
		}
		for i, remote := range p.remote {
			if h := remote.Health(); h.Reason != nil {
				all[i].Failure = &shop.ProviderFailures{
					Reason: string(h.Reason.Code), Detail: h.Reason.Says(), Count: h.Count,
					Since: httpkit.ShownTime(h.Since), Last: httpkit.ShownTime(h.Last),
				}
			}
		}
		for _, name := range set.Unset(refunds) {
			if name != "" {
				all = append(all, shop.Provider{Name: name, Waiting: refunds[name]})
			}
		}
		return all, nil
	}
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
	if set := cfg.HTTP.PublicURL; set != "" {
		return func(_ *http.Request, orderID int64) string {
			return strings.TrimSuffix(set, "/") + "/#order-" + strconv.FormatInt(orderID, 10)
		}
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
