package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/internal/httpapi"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/idworker"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/config"
	"seckill/internal/kit/pages"
	"seckill/internal/kit/telemetry"
	"seckill/internal/order/partition"
	"seckill/internal/order/recovery"
	"seckill/internal/redisstore"
	"seckill/internal/sqlstore"
	"seckill/web"
)

// run wires the service, serves until ctx ends, and stops it in order. It is the only place that knows everything.
func run(ctx context.Context, cfg config.Config, log *slog.Logger, env environment) (err error) {
	log.InfoContext(ctx, "starting", "version", build().Version, "embedded", cfg.Embedded())
	log.DebugContext(ctx, "settings", "settings", cfg)
	metrics := telemetry.NewMetrics(build())

	// Stores.
	stores, err := openStores(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer stores.close(log)
	if err := stores.takePartitions(ctx, cfg.Orders.Partitions, log); err != nil {
		return err
	}

	// Order ids.
	key, err := stores.ledger.IDKey(ctx)
	if err != nil {
		return fmt.Errorf("the key of the order ids: %w", err)
	}
	counter, err := redisstore.NewCounter(stores.clients.Commands, cfg.Redis.Prefix)
	if err != nil {
		return err
	}
	ids := idworker.New(counter, stores.ledger, key, idworker.Options{Logger: log})
	defer closing(log, "the order ids", func() error { return ids.Close(context.WithoutCancel(ctx)) })
	switch err := ids.Warm(ctx); {
	case errors.Is(err, idworker.ErrClock), ctx.Err() != nil:
		return fmt.Errorf("the first order ids: %w", err)
	case err != nil: // the Redis node of the counter may be away alone
		log.ErrorContext(ctx, "no order ids yet: who buys is answered 503 until there are; all else works",
			"error", err)
	}

	// The first start makes one, not the first payment. A spoilt one is the loss of tills, and not of sales.
	if _, err := stores.ledger.CouponKeys(ctx); err != nil && !errors.Is(err, sqlstore.ErrKeySpoilt) {
		return fmt.Errorf("the keys of codes: %w", err)
	}

	// The domain.
	pay, err := openPayments(ctx, cfg, stores.secret, log)
	if err != nil {
		return err
	}
	shop, err := openShop(cfg, stores, ids, pay.providers, metrics, log)
	if err != nil {
		return err
	}
	defer shop.close()

	// HTTP.
	streams := httpkit.NewStreams(cfg.HTTP.MaxStreams, cfg.HTTP.UserStreams)
	features := features(cfg, stores, shop, streams, log)
	link := newSignInLink(cfg)
	inspect := &inspector{stores: stores, auditor: shop.auditor, provider: pay.providers.Default != "", cfg: cfg}
	api, err := httpapi.New(httpapi.Config{
		Vouchers: shop.vouchers, Listings: shop.listings, VoucherChanges: shop.vouchers, Purchases: shop.purchases,
		Orders: shop.orders, Payments: shop.payments,
		Audit: stores.ledger, Guards: shop.guards, Tickets: shop.tickets.routes(), Tills: shop.tills,
		Waitlists: shop.waitlists, FindVoucher: shop.catalog.Find, DeadLetters: shop.deadLetters,
		Partitions: partition.NewAdmin(stores.ledger, stores.redis), Webhooks: shop.webhooks.admin,
		BuyOrdinary: shop.directSales.Buy, CountSold: shop.tally.Sold,
		Check: inspect.facts, SaleStats: shop.monitor.Stats,
		Callbacks: pay.callbacks, NoProvider: pay.providers.Default == "", RequireProvider: cfg.Payment.Required,
		DemoTokens: demoTokens(cfg), SignInCode: link.code, OperationsHosts: cfg.HTTP.OpsHosts, Log: log,
		Tokens:  tokenRules(cfg, stores.secret),
		Checks:  checks(stores, shop.reconciler),
		Observe: metrics.Request,
		Zone:    cfg.Server.Location, BodyLimit: cfg.HTTP.BodyLimit, MaxWait: cfg.HTTP.MaxWait,
		MaxInFlight: cfg.HTTP.MaxInFlight, UserRate: cfg.HTTP.UserRate, UserBurst: cfg.HTTP.UserBurst,
		Streams: streams,
		Routes:  features.Routes(), Rules: features.Rules(),
		TrustedProxies: cfg.HTTP.TrustedProxies, AllowedOrigins: cfg.HTTP.CORSOrigins,
	})
	if err != nil {
		return err
	}
	metrics.WatchPools(stores.pools)
	metrics.WatchLoad(func() (int64, int64, int64) { l := api.Load(); return l.InFlight, l.Streams, l.Refused })
	metrics.WatchBulkheads(stores.bulkheads(api))
	public, err := listen(ctx, "SECKILL_HTTP_ADDR", cfg.HTTP.Addr, api.Server(cfg.HTTP.Addr))
	if err != nil {
		return err
	}
	defer public.close()
	metrics.WatchConnections(public.limit(cfg.HTTP.MaxConnections))
	if cfg.HTTP.Pages {
		shown, err := pages.New(web.FS, pages.Site{Demo: demoTokens(cfg) > 0, NoProvider: pay.providers.Default == ""})
		if err != nil {
			return err
		}
		public.server.Handler = shown.Before(public.server.Handler)
	}
	if pay.mount != nil {
		if public.server.Handler, err = pay.mount(public.server.Handler, public.addr()); err != nil {
			return err
		}
	}
	operations, err := listen(ctx, "SECKILL_OPS_ADDR", cfg.HTTP.OpsAddr,
		api.OperationsServer(cfg.HTTP.OpsAddr, metrics.Handler()))
	if err != nil {
		return err
	}
	defer operations.close()

	// Jobs run until they are stopped, which is after the last request was answered. The recorders stop first,
	// because they notify callers that wait; the other jobs have nothing to finish.
	working, stopWork := context.WithCancel(bulkhead.With(context.WithoutCancel(ctx), bulkhead.Background))
	defer stopWork()
	recording, stopRecording := context.WithCancel(bulkhead.With(working, bulkhead.Recording))
	defer stopRecording()
	var recorders, jobs errgroup.Group
	recorders.Go(func() error { return shop.record(recording) })
	shop.work(working, &jobs, features.Jobs())
	jobs.Go(func() error { return watchBacklog(working, shop.partitions, stores.redis, metrics) })
	if stores.home != nil {
		jobs.Go(func() error { return stores.home.Run(working) })
	}

	// Serve until the process is stopped, or until a listener fails.
	serving, failed := context.WithCancelCause(ctx)
	defer failed(nil)
	for _, l := range []*listener{public, operations} {
		jobs.Go(func() error {
			if err := l.serve(); err != nil {
				failed(err)
			}
			return nil
		})
	}
	log.InfoContext(ctx, "listening", "address", public.addr(), "operations", operations.addr())
	if stores.home != nil {
		err = welcome(serving, env.out, stores, shop, cfg, public.addr(), link)
		if err != nil && serving.Err() == nil {
			failed(err)
		}
	}
	<-serving.Done()
	// From then on a second signal ends the process at once. Not sooner: some supervisors send the first one twice.
	impatience := time.AfterFunc(time.Second, env.stop)
	defer impatience.Stop()

	// Stop: first new requests, then those in flight, then what they wait for.
	log.InfoContext(ctx, "stopping", "reason", context.Cause(serving))
	api.Drain()
	<-time.After(cfg.Server.DrainDelay)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.Server.ShutdownTimeout)
	defer cancel()
	if !cfg.Embedded() { // there, every answer waits for its row, and will have it soon
		shop.notifier.Close()
	}
	errShutdown := public.shutdown(stopping)
	public.close() // cuts off what has not ended by now
	shop.stopAdmission()
	stopRecording()
	errRecord := recorders.Wait()
	stopWork()
	errOperations := operations.shutdown(stopping)
	err = errors.Join(errShutdown, errRecord, errOperations, jobs.Wait())
	if ctx.Err() == nil { // it stops by itself
		err = errors.Join(context.Cause(serving), err)
	}
	if err == nil {
		log.InfoContext(ctx, "stopped")
	}
	return err
}

// checks are those of /readyz. Without MySQL the service is degraded: it goes on selling, and records later.
func checks(s *stores, reconciler *recovery.Reconciler) []httpapi.Check {
	return []httpapi.Check{
		{
			Name: "redis", Required: true,
			Run: func(ctx context.Context) error { return silent(s.pingRedis(ctx), "Redis does not answer") },
		},
		{Name: "partitions", Run: func(ctx context.Context) error {
			if others := s.otherData(); len(others) > 0 {
				return fmt.Errorf("other data in Redis; sales are paused in partitions %v", others)
			}
			return silent(s.pingAll(ctx), "the Redis node of a partition does not answer")
		}},
		{Name: "ledger", Run: func(ctx context.Context) error {
			return silent(s.ledger.Ping(ctx), "the database does not answer")
		}},
		{
			Name: "sales", Required: true,
			Run: func(context.Context) error { return silent(reconciler.Ready(), "not all sales are open yet") },
		},
		{
			Name: "reconciler",
			Run:  func(context.Context) error { return silent(reconciler.Healthy(), "a sale waits to be rebuilt") },
		},
	}
}

// silent replaces an error by words that may be public; the log has the details.
func silent(err error, words string) error {
	if err == nil {
		return nil
	}
	return errors.New(words)
}
