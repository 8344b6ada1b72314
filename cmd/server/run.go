package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"seckill/cmd/server/wiring"
	"seckill/internal/config"
	"seckill/internal/feature"
	"seckill/internal/httpapi"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/idworker"
	"seckill/internal/kit/clientip"
	"seckill/internal/kit/pages"
	"seckill/internal/sqlstore/installation"
	"seckill/internal/telemetry"
)

// process is a serving process. Each step of run fills in a part of it.
type process struct {
	cfg     config.Config
	log     *slog.Logger
	env     wiring.Env
	metrics *telemetry.Metrics

	stores     *wiring.Stores
	ids        *idworker.Worker
	payments   payments
	shop       *wiring.Shop
	streams    *httpkit.Streams
	front      httpkit.Front
	addresses  *clientip.Addresses // finds callers' addresses
	features   feature.Parts
	pages      *pages.Pages // nil: no pages are shown
	signInCode string       // the code in the link to the console
	api        *httpapi.API

	answers            switched  // the public handler
	public, operations *listener // nil: not opened yet, or not wanted

	opened []func() // functions that close what is open, in the order of opening
}

// run wires the service, serves until ctx ends, and stops it in order.
func run(ctx context.Context, cfg config.Config, log *slog.Logger, env wiring.Env) error {
	log.InfoContext(ctx, "starting", "version", env.Build.Version, "embedded", cfg.Embedded())
	log.DebugContext(ctx, "settings", "settings", cfg)
	for _, weak := range cfg.WeakSecrets() {
		log.WarnContext(ctx, "a secret should be replaced: two purposes share it, or a short piece is repeated",
			"settings", weak.Settings, "shared", weak.Shared)
	}
	p := &process{
		cfg: cfg, log: log, env: env, metrics: telemetry.NewMetrics(env.Build), signInCode: newSignInCode(cfg),
	}
	defer p.close()
	for _, step := range []func(context.Context) error{
		p.openFront,    // answers health checks at the public address while the stores start
		p.openStores,   // Redis and the database, with the schema of this version
		p.openOrderIDs, // ids of orders, on a counter in Redis
		p.openPayments, // the currency, and the payment provider, if there is one
		p.openShop,     // the domain
		p.openFeatures, // the parts without which the shop would still sell
		p.openPages,    // the pages for browsers
		p.openAPI,      // the routes, the callers that they accept, the answers to errors
		p.listen,       // opens the addresses for the public and for operators
		p.serve,        // jobs run, requests are answered, until ctx ends or a listener fails
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	log.InfoContext(ctx, "stopped")
	return nil
}

// closeAtTheEnd registers f to be called when the process ends, before the functions that were registered earlier.
func (p *process) closeAtTheEnd(f func()) { p.opened = append(p.opened, f) }

func (p *process) close() {
	for _, closeOne := range slices.Backward(p.opened) {
		closeOne()
	}
}

// openFront prepares the public address. If the start waits for its stores, it answers health checks there meanwhile.
func (p *process) openFront(ctx context.Context) (err error) {
	p.streams = httpkit.NewStreams(p.cfg.HTTP.MaxStreams, p.cfg.HTTP.UserStreams)
	if p.addresses, err = clientip.New(p.cfg.HTTP.TrustedProxies, p.log); err != nil {
		return err
	}
	if !p.cfg.Stores.Wait || p.cfg.Embedded() {
		return nil
	}
	starting, err := httpapi.Starting()
	if err != nil {
		return err
	}
	if err := p.openPublic(ctx); err != nil {
		return err
	}
	p.answers.to(starting)
	p.public.serveEarly()
	p.log.InfoContext(ctx, "waiting for the stores; healthy, not ready", "address", p.public.addr())
	return nil
}

func (p *process) openStores(ctx context.Context) (err error) {
	if p.stores, err = wiring.Open(ctx, p.cfg, p.env.Build, p.log); err != nil {
		return err
	}
	p.closeAtTheEnd(func() { p.stores.Close(p.log) })
	p.metrics.WatchPools(p.stores.Pools)
	return p.stores.TakePartitions(ctx, p.cfg.Orders.Partitions, p.log)
}

func (p *process) openOrderIDs(ctx context.Context) (err error) {
	if p.ids, err = p.stores.OrderIDs(ctx, p.cfg, p.log); err != nil {
		return err
	}
	p.closeAtTheEnd(func() {
		wiring.Closing(p.log, "the order ids", func() error { return p.ids.Close(context.WithoutCancel(ctx)) })
	})
	switch err := p.ids.Warm(ctx); {
	case errors.Is(err, idworker.ErrClock), ctx.Err() != nil:
		return fmt.Errorf("reserving the first order ids: %w", err)
	case err != nil: // perhaps only the counter's Redis node is away
		p.log.ErrorContext(ctx, "no order ids yet: purchases are answered 503 until there are; all else works",
			"error", err)
	}
	return nil
}

func (p *process) openPayments(ctx context.Context) (err error) {
	err = p.stores.Ledger.TakeCurrency(ctx, p.cfg.Payment.Currency)
	if errors.Is(err, installation.ErrOtherCurrency) {
		return fmt.Errorf("%w: %w", feature.ErrSettings, err)
	}
	if err != nil {
		return err
	}
	p.payments, err = openPayments(ctx, p.cfg, p.stores.Secret, "seckill/"+p.env.Build.Version,
		p.stores.Ledger.Payments, p.log)
	if err != nil {
		return err
	}
	p.closeAtTheEnd(p.payments.close)
	if p.payments.metrics != nil {
		for _, c := range p.payments.metrics.Collectors() {
			if err := p.metrics.Register(c); err != nil {
				return fmt.Errorf("metrics: %w", err)
			}
		}
	}
	wiring.LogProviders(ctx, p.cfg, p.stores.Ledger.Payments.RefundsWaiting, p.log)
	return nil
}

func (p *process) openShop(context.Context) error {
	p.shop = wiring.OpenShop(p.cfg, p.stores, p.ids, p.payments.providers, p.metrics, p.log)
	p.closeAtTheEnd(p.shop.Close)
	return nil
}

func (p *process) openFeatures(ctx context.Context) (err error) {
	p.front = wiring.FrontFor(p.cfg, p.shop, p.streams, p.addresses)
	core := wiring.Core(p.cfg, p.stores, p.shop, p.front, p.log)
	if p.features, err = wiring.OpenFeatures(core, p.stores.Ledger); err != nil {
		return err
	}
	p.front.Members, p.front.Gatekeeper = p.features.Members, p.features.Gatekeeper
	p.shop.Vouchers.BoundBy(p.features.Bounds)
	for _, closeOne := range p.features.Close {
		p.closeAtTheEnd(closeOne)
	}
	for _, c := range p.features.Metrics {
		if err := p.metrics.Register(c); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
	}
	for _, start := range p.features.Start {
		if err := start(ctx); err != nil {
			return err
		}
	}
	if p.features.Gatekeeper == (httpkit.NoGuards{}) {
		return wiring.WarnOfGuards(ctx, p.stores.Ledger.Sales.SalesToKeep, p.log)
	}
	return nil
}
