package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"seckill/cmd/server/wiring"
	"seckill/internal/features"
	"seckill/internal/httpapi"
	"seckill/internal/httpapi/search"
	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/currency"
	"seckill/internal/kit/pages"
	"seckill/internal/order/partition"
	"seckill/internal/order/recovery"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher/guards"
	"seckill/web"
)

func (p *process) openPages(context.Context) (err error) {
	if !p.cfg.HTTP.Pages {
		return nil
	}
	noTickets, _ := p.features.Gatekeeper.Lacks(guards.TicketsGuard)
	digits, _ := currency.Digits(p.cfg.Payment.Currency)
	p.pages, err = pages.New(web.FS, pages.Site{
		Demo: demoTokens(p.cfg) > 0, NoProvider: p.payments.providers.Default == "",
		Currency: p.cfg.Payment.Currency, Digits: digits,
		NoCodes: !p.redeems(), NoTickets: noTickets.Code != "", Providers: p.features.Providers,
		Name: p.cfg.HTTP.SiteName, Colour: p.cfg.HTTP.SiteColour, Base: p.cfg.HTTP.Base(),
		PictureHosts: p.cfg.HTTP.PictureHosts,
	})
	return err
}

func (p *process) openAPI(context.Context) error {
	cfg := p.cfg
	inFlight := bulkhead.New(cfg.HTTP.MaxInFlight, 0, bulkhead.Requests()...)
	sells, err := p.openShopRoutes(inFlight)
	if err != nil {
		return err
	}
	finds := search.Routes(search.Config{
		FindVoucher: p.shop.Catalog.Find, Vouchers: p.shop.Vouchers.All, Orders: p.shop.Orders.Find,
		Payments: p.stores.Ledger.Payments.FindPayments, Members: p.front.Members,
	})
	routes := slices.Concat(sells.Routes(), finds, p.features.Routes) //nolint:contextcheck // requests have their own
	if err := checkBase(cfg.HTTP.Base(), routes); err != nil {
		return err
	}
	var noPage http.HandlerFunc
	if p.pages != nil {
		noPage = p.pages.NotFound
	}
	p.api, err = httpapi.New(httpapi.Config{
		// The routes, and their answers.
		FindKey:    p.stores.Ledger.DB().FindKey,
		Routes:     routes,
		Rules:      slices.Concat(shop.Rules(), features.List().Rules()),
		Checks:     checks(p.stores, p.shop.Reconciler),
		Gatekeeper: p.features.Gatekeeper,
		GuardsOf:   p.shop.Catalog.Guards,
		Refused:    p.features.Refused,
		NoPage:     noPage,

		// The callers that are accepted, and their limits.
		Tokens:         wiring.TokenRules(cfg, p.stores.Secret),
		Void:           p.features.Void,
		DemoTokens:     demoTokens(cfg),
		SignInCode:     p.signInCode,
		UserRate:       cfg.HTTP.UserRate,
		UserBurst:      cfg.HTTP.UserBurst,
		InFlight:       inFlight,
		Apart:          sells.Apart(),
		BodyLimit:      cfg.HTTP.BodyLimit,
		Streams:        p.streams,
		Addresses:      p.addresses,
		AllowedOrigins: cfg.HTTP.CORSOrigins,

		OperationsHosts: cfg.HTTP.OpsHosts,
		Log:             p.log,
		Observe:         p.metrics.Request,
		Traces:          cfg.Log.Traces,
	})
	if err != nil {
		return err
	}
	p.metrics.WatchLoad(func() (int64, int64, int64) { l := p.api.Load(); return l.InFlight, l.Streams, l.Refused })
	p.metrics.WatchAddresses(p.addresses.Unreadable)
	p.metrics.WatchBulkheads(p.stores.Bulkheads(p.api, p.payments.loads))
	return nil
}

// openShopRoutes makes the API of the core.
func (p *process) openShopRoutes(inFlight *bulkhead.Bulkhead) (*shop.API, error) {
	noProvider := p.payments.providers.Default == ""
	return shop.New(shop.Config{
		Front:           p.front,
		Vouchers:        p.shop.Vouchers,
		Listings:        p.shop.Listings,
		VoucherChanges:  p.shop.Vouchers,
		FindVoucher:     p.shop.Catalog.Find,
		Purchases:       p.shop.Purchases,
		BuyOrdinary:     p.shop.DirectSales.Buy,
		Orders:          p.shop.Orders,
		Payments:        p.shop.Payments,
		PaymentsOf:      p.shop.Payments.Of,
		Ledger:          wiring.ShopLedger(p.stores.Ledger),
		Callbacks:       p.payments.callbacks,
		DefaultProvider: p.payments.providers.Default,
		Notices:         p.shop.Notices,
		Providers:       p.payments.states(p.cfg.Payment, p.stores.Ledger.Payments.RefundsWaiting),
		ReturnURL:       returnURL(p.cfg, p.addresses),
		SaleStats:       p.shop.Monitor.Stats,
		LostDecisions:   p.stores.Ledger.Sales.LostDecisions,
		DeadLetters:     p.shop.DeadLetters,
		Partitions:      p.listPartitions,
		NoProvider:      noProvider,
		RequireProvider: p.cfg.Payment.Required,
		TraceURL:        p.cfg.Log.TraceURL,
		MaxWait:         p.cfg.HTTP.MaxWait,
		InFlight:        inFlight,
	})
}

// listPartitions lists the partitions. The embedded mode's only instance sends no heartbeats, and works in each.
func (p *process) listPartitions(ctx context.Context) ([]partition.Contents, error) {
	listed, err := partition.NewAdmin(p.stores.Ledger, p.stores.Redis).List(ctx)
	for i := range listed {
		if p.cfg.Embedded() && listed[i].State != partition.Removed {
			listed[i].Instances = 1
		}
	}
	return listed, err
}

// listen opens the addresses. A failure ends the start.
func (p *process) listen(ctx context.Context) (err error) {
	if p.public == nil {
		if err := p.openPublic(ctx); err != nil {
			return err
		}
	}
	p.answers.to(below(p.cfg.HTTP.Base(), p.withPages(p.api.Handler())))
	p.operations, err = listen(ctx, "SECKILL_OPS_ADDR", p.cfg.HTTP.OpsAddr,
		p.api.OperationsServer(p.cfg.HTTP.OpsAddr, p.metrics.Handler()))
	if err != nil {
		return err
	}
	p.closeAtTheEnd(p.operations.close)
	return nil
}

// openPublic opens the public address, for a server with the handler p.answers.
func (p *process) openPublic(ctx context.Context) (err error) {
	addr := p.cfg.HTTP.Addr
	p.public, err = listen(ctx, "SECKILL_HTTP_ADDR", addr,
		httpapi.NewServer(addr, &p.answers, p.cfg.HTTP.MaxWait, p.streams, p.log))
	if err != nil {
		return err
	}
	p.closeAtTheEnd(p.public.close)
	p.metrics.WatchConnections(p.public.limit(p.cfg.HTTP.MaxConnections, p.addresses.IsProxy))
	return nil
}

// withPages serves pages in front of the routes: the service's, and the payment provider's if it has any.
func (p *process) withPages(routes http.Handler) http.Handler {
	if p.pages != nil {
		routes = p.pages.Before(routes)
	}
	if p.payments.mount != nil {
		routes = p.payments.mount(routes, p.public.addr())
	}
	return routes
}

// checks returns the checks of /readyz. Without MySQL the service is degraded: it goes on selling, and records later.
func checks(s *wiring.Stores, reconciler *recovery.Reconciler) []httpapi.Check {
	return []httpapi.Check{
		{
			Name: "redis", Required: true,
			Run: func(ctx context.Context) error {
				return silent(s.PingRedis(ctx), "Redis does not answer", rediskit.Words)
			},
		},
		{Name: "partitions", Run: func(ctx context.Context) error {
			if others := s.OtherData(); len(others) > 0 {
				return fmt.Errorf("other data in Redis; sales are paused in partitions %v", others)
			}
			return silent(s.PingAll(ctx), "the Redis node of a partition does not answer", rediskit.Words)
		}},
		{Name: "restarts", Run: func(ctx context.Context) error {
			if errors.Is(s.RunIDs(ctx), rediskit.ErrNoRunID) { // "partitions" reports servers that do not answer
				return errors.New("the user of Redis may not run INFO: its restarts go unnoticed")
			}
			return nil
		}},
		{Name: "ledger", Run: func(ctx context.Context) error {
			return silent(s.Ledger.Ping(ctx), "the database does not answer", sqlkit.Words)
		}},
		{
			Name: "sales", Required: true,
			Run: func(context.Context) error { return silent(reconciler.Ready(), "not all sales are open yet", nil) },
		},
		{
			Name: "reconciler",
			Run: func(context.Context) error {
				err := reconciler.Healthy()
				if errors.Is(err, recovery.ErrWaiting) {
					return silent(err, "a sale waits to be rebuilt", nil)
				}
				return silent(err, "the sales cannot be compared: a store is away", nil)
			},
		},
	}
}

// silent replaces an error by public words; the log has the details. What the store itself answered, which said
// returns, comes first: a store that refuses does answer.
func silent(err error, words string, said func(error) string) error {
	if err == nil {
		return nil
	}
	if said != nil {
		if text := said(err); text != "" {
			return errors.New(text)
		}
	}
	return errors.New(words)
}
