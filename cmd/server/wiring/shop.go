package wiring

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/singleflight"

	"seckill/internal/config"
	"seckill/internal/idworker"
	"seckill/internal/order"
	"seckill/internal/order/admission"
	"seckill/internal/order/audit"
	"seckill/internal/order/catalog"
	"seckill/internal/order/outbox"
	"seckill/internal/order/partition"
	"seckill/internal/order/recorder"
	"seckill/internal/order/recovery"
	"seckill/internal/order/service"
	"seckill/internal/order/timeline"
	"seckill/internal/telemetry"
	"seckill/internal/voucher"
	"seckill/internal/voucher/listing"
)

// Shop is the domain, wired to its stores.
type Shop struct {
	// What it is made of.
	cfg    config.Config
	stores *Stores
	ids    *idworker.Worker
	locks  locker
	self   string // this process's name among the instances
	// refundsOn switches refunds on, once at a time.
	refundsOn singleflight.Group
	metrics   *telemetry.Metrics
	log       *slog.Logger

	// What answers requests.
	Catalog     *catalog.Catalog
	Listings    *listing.Listings
	Vouchers    *voucher.Service
	Purchases   *service.Purchases
	DirectSales *service.DirectSales
	Orders      *service.Orders
	Payments    *service.Payments
	Notices     *service.NoticeLog
	DeadLetters *recorder.DeadLetters
	Monitor     *audit.Monitor
	lookup      *service.Lookup
	admissions  *admission.Admission

	// The background jobs.
	Notifier     *service.Notifier
	Reconciler   *recovery.Reconciler
	Auditor      *audit.Auditor
	Partitions   *partition.Set
	Repairs      *recovery.RepairQueue
	outbox       *outbox.Outbox
	expirer      *service.Expirer
	unwinder     *service.Unwinder
	keyCleaner   *service.KeyCleaner
	partWatcher  *partition.Watcher
	statsFlusher *admission.StatsFlusher
	timeline     *timeline.Timeline
	recorderOf   func(partition int) *recorder.Recorder
	reporterOf   func(partition int) *recovery.Reporter // nil in the embedded mode, whose Redis ends with the process

	StopAdmission func() // returns once waiting requests are answered; may be called more than once
}

// OpenShop wires the domain, each part to those before it. It starts no job. Call Close at the end.
func OpenShop(
	cfg config.Config, stores *Stores, ids *idworker.Worker, providers service.Providers,
	metrics *telemetry.Metrics, log *slog.Logger,
) *Shop {
	s := &Shop{
		cfg: cfg, stores: stores, ids: ids, Partitions: stores.partitions, metrics: metrics, log: log,
		locks: locker{stores.locks, metrics},
		self:  cfg.Server.Instance + ":" + uuid.NewString(),
	}
	suspects := audit.NewSuspects()
	s.openLookups()          // what instances remember, and how they hear of changes
	s.openOutbox()           // applies to Redis what the ledger decides
	s.openSelling()          // purchases, in Redis or in the ledger alone
	s.openRecorders()        // from Redis into the ledger
	s.openRecovery(suspects) // keeps Redis as the ledger says
	s.openVouchers()         // creates and changes vouchers
	s.openAudit(suspects)    // checks that all units are accounted for
	s.openOrders(providers)  // payments, cancels, expiry
	return s
}

func (s *Shop) openLookups() {
	ledger, redis := s.stores.Ledger, s.stores.Redis
	s.Listings = listing.New(ledger.Vouchers, redis, listing.DefaultMemory, s.log)
	s.Catalog, s.Repairs = catalog.New(s.Listings.Index()), recovery.NewRepairQueue()
	s.metrics.WatchRepairs(s.Repairs.Load)
	s.Notifier = service.NewNotifier(ledger.Orders, s.log)
	s.lookup = service.NewLookup(
		service.LookupStores{Rows: ledger.Orders, Holdings: redis, NewSales: ledger.Sales.SalesAbove}, s.Catalog)
	s.partWatcher = partition.NewWatcher(redis.InstancesIn, s.metrics, s.log)
}

func (s *Shop) openOutbox() {
	on := outbox.Stores{Ledger: s.stores.Ledger.Operations, Apply: s.stores.Redis.Apply, Changed: s.Listings.Changed}
	s.outbox = outbox.New(on, s.Catalog, s.Repairs, s.Notifier, s.metrics, s.log)
}

func (s *Shop) openSelling() {
	ledger, redis := s.stores.Ledger, s.stores.Redis
	on := admission.Stores{Gate: redis.Admit, Holders: redis.Holders, Rows: ledger.Orders}
	s.admissions = admission.New(on, s.Catalog, s.Repairs, s.metrics, s.cfg.Orders.MaxBacklog, s.log)
	s.StopAdmission = sync.OnceFunc(s.admissions.Close)
	s.timeline = timeline.New(ledger.PutMinutes, s.log)
	s.statsFlusher = admission.NewStatsFlusher(s.admissions, redis.Add, s.timeline.Add, s.metrics, s.log)
	s.Purchases = service.NewPurchases(s.admissions, s.lookup, ledger.Orders, s.ids, s.Notifier,
		service.PurchaseOptions{WaitForRow: s.cfg.Embedded()})
	s.DirectSales = service.NewDirectSales(ledger.Orders, s.ids)
}

func (s *Shop) openRecorders() {
	ledger, redis := s.stores.Ledger, s.stores.Redis
	s.recorderOf = func(partition int) *recorder.Recorder {
		consumer := redis.Consumer(partition, s.self)
		on := recorder.Stores{
			Ledger: ledger.Records, Queue: consumer, Heartbeat: consumer.Heartbeat, Leave: consumer.Leave,
			Correct: redis.Correct, Flush: s.outbox.Flush,
		}
		return recorder.New(on, recorder.Options{
			Partition: partition, Batch: s.cfg.Orders.RecordBatch, Drain: s.cfg.Embedded(),
		}, s.Repairs, s.Notifier, s.metrics, s.log)
	}
	on := recorder.DeadLetterStores{
		DeadLetters: redis, Holders: redis.OrdersOf, Rows: ledger.Orders, Ledger: ledger.Records,
		Correct: redis.Correct, Flush: s.outbox.Flush,
	}
	s.DeadLetters = recorder.NewDeadLetters(on, s.Partitions.All, s.Repairs, s.Notifier, s.metrics, s.log)
}

func (s *Shop) openRecovery(suspects *audit.Suspects) {
	ledger, redis := s.stores.Ledger, s.stores.Redis
	on := recovery.Stores{
		Ledger: ledger.Sales, Rows: ledger.Orders, Reader: redis, Builder: redis, Locker: s.locks, Outbox: s.outbox,
		Suspect: suspects.Suspect,
	}
	if !s.cfg.Embedded() {
		on.Reports = redis
		from := recovery.ReporterStores{Reports: redis, Holders: redis.OrdersOf, Rows: ledger.Orders}
		s.reporterOf = func(partition int) *recovery.Reporter {
			return recovery.NewReporter(from, partition, s.self, s.admissions, s.Repairs, s.log)
		}
	}
	s.Reconciler = recovery.New(on, s.Catalog, s.Repairs, s.metrics, s.log)
}

func (s *Shop) openVouchers() {
	ledger, redis := s.stores.Ledger, s.stores.Redis
	s.Vouchers = voucher.NewService(voucher.Parts{
		Ledger: ledger.Vouchers, Changes: ledger.Vouchers, Live: redis.Live, Open: s.Reconciler.Open, Outbox: s.outbox,
		Changed: s.Listings.Changed, OpenSales: ledger.Vouchers.OpenSales,
		Place:  partition.NewPlacer(ledger.Partitions, ledger.SalesIn, redis.InstancesIn).Place,
		Bounds: voucher.Bounds{Sales: s.cfg.Merchants.Sales, Units: s.cfg.Merchants.Units}, Now: time.Now,
	})
}

func (s *Shop) openAudit(suspects *audit.Suspects) {
	ledger, redis := s.stores.Ledger, s.stores.Redis
	s.Auditor = audit.New(audit.Stores{
		Sales: ledger.Sales, Vouchers: ledger.Vouchers, Totals: ledger.Sales.LedgerTotals, Inventory: redis.Inventory,
		TryLock: s.locks.TryDo, Suspects: suspects,
		Pause: func(ctx context.Context, voucherID int64) error {
			_, _, err := s.Vouchers.Pause(ctx, voucher.Author{Request: "auditor"}, voucherID)
			return err
		},
	}, s.Repairs, s.metrics, s.log)
	s.Monitor = audit.NewMonitor(ledger.Vouchers, s.Catalog, redis.LiveStats, s.Auditor.Balance)
}

func (s *Shop) openOrders(providers service.Providers) {
	ledger, fenced, rate := s.stores.Ledger, s.locks.TryDoFenced, s.cfg.Payment.CloseRate
	s.Orders = service.NewOrders(ledger.Orders, s.lookup, s.Notifier, s.Catalog, s.outbox, idworker.Time)
	s.Payments = service.NewPayments(ledger.Payments, providers,
		service.PaymentParts{
			Lookup: s.lookup, Notifier: s.Notifier, Outbox: s.outbox, SwitchOn: s.switchRefundsOn,
		},
		func() string { return "pay_" + uuid.NewString() }, s.metrics, s.log)
	s.Notices = service.NewNoticeLog(ledger, s.metrics, s.log)
	s.expirer = &service.Expirer{
		Ledger: ledger.Orders, Locker: fenced, Outbox: s.outbox, Notifier: s.Notifier, Rate: rate, Observer: s.metrics,
		Log: s.log,
	}
	s.unwinder = &service.Unwinder{
		Ledger: ledger.Unwinds, Locker: fenced, Outbox: s.outbox, Notifier: s.Notifier, Refunds: s.Payments.Wake,
		Rate: rate, Log: s.log,
	}
	s.keyCleaner = &service.KeyCleaner{Forget: ledger.DB().ForgetKeys, Locker: fenced, Log: s.log}
}

// WatchSales has a function called with Redis's answers about sales that are sold out. Call it before the first
// purchase.
func (s *Shop) WatchSales(f func(voucherID int64, view *order.SaleView, soldOut bool)) {
	s.admissions.Watch(f)
}

// Record records accepted orders of all partitions until ctx ends, and then finishes the batches in progress.
func (s *Shop) Record(ctx context.Context) error {
	return s.Partitions.Each(ctx,
		func(ctx context.Context, partition int) error { return s.recorderOf(partition).Run(ctx) })
}

// report hands in this instance's recovery reports in all partitions until ctx ends. Its heartbeats show that the
// instance works there.
func (s *Shop) report(ctx context.Context) error {
	return s.Partitions.Each(ctx,
		func(ctx context.Context, partition int) error { return s.reporterOf(partition).Run(ctx) })
}

// watchPartitions watches for instances that do not work in a partition, until ctx ends.
func (s *Shop) watchPartitions(ctx context.Context) error {
	return s.Partitions.Each(ctx, s.partWatcher.Run)
}

// Jobs returns the jobs that may be stopped at any moment: all of the shop's except the recorders.
func (s *Shop) Jobs() []func(context.Context) error {
	jobs := []func(context.Context) error{
		s.Reconciler.Run, s.Notifier.Run, s.outbox.Run, s.expirer.Run, s.unwinder.Run, s.keyCleaner.Run,
		s.Payments.Run, s.Notices.Run, s.timeline.Run, s.keepStats, s.Auditor.Run, s.nameOperations,
	}
	if s.reporterOf != nil { // the embedded mode always has one partition
		jobs = append(jobs, s.Partitions.Run, s.report, s.watchPartitions)
	}
	if s.stores.made {
		jobs = append(jobs, s.refundsFromTheStart)
	}
	return jobs
}

// keepStats flushes stats until ctx ends, and then writes what the last flush has added to the timeline.
func (s *Shop) keepStats(ctx context.Context) error {
	err := s.statsFlusher.Run(ctx)
	s.timeline.Flush(context.WithoutCancel(ctx))
	return err
}

// Close waits for the calls under way. Begin no call after it.
func (s *Shop) Close() {
	s.StopAdmission()
	s.outbox.Close()
	s.Listings.Close()
	s.Catalog.Close()
}
