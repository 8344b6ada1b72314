package wiring

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"seckill/internal/idworker"
	"seckill/internal/kit/config"
	"seckill/internal/kit/telemetry"
	"seckill/internal/order/admission"
	"seckill/internal/order/audit"
	"seckill/internal/order/catalog"
	"seckill/internal/order/outbox"
	"seckill/internal/order/partition"
	"seckill/internal/order/recorder"
	"seckill/internal/order/recovery"
	"seckill/internal/order/service"
	"seckill/internal/order/timeline"
	"seckill/internal/redisstore"
	"seckill/internal/voucher"
	"seckill/internal/voucher/listing"
)

// Shop is the domain, wired to its stores.
type Shop struct {
	Catalog       *catalog.Catalog
	Repairs       *recovery.RepairQueue
	StopAdmission func() // returns once waiting requests are answered; may be called more than once
	Purchases     *service.Purchases
	Orders        *service.Orders
	Payments      *service.Payments
	DirectSales   *service.DirectSales
	Vouchers      *voucher.Service
	Listings      *listing.Listings
	DeadLetters   *recorder.DeadLetters

	ids *idworker.Worker

	// The background jobs.
	Notifier     *service.Notifier
	Reconciler   *recovery.Reconciler
	outbox       *outbox.Outbox
	expirer      *service.Expirer
	unwinder     *service.Unwinder
	keyCleaner   *service.KeyCleaner
	Auditor      *audit.Auditor
	Partitions   *partition.Set
	partWatcher  *partition.Watcher
	recorderOf   func(partition int) *recorder.Recorder
	statsFlusher *admission.StatsFlusher
	timeline     *timeline.Timeline
	reporterOf   func(partition int) *recovery.Reporter // nil in the embedded mode, whose Redis ends with the process

	Monitor *audit.Monitor

	locks locker
}

// OpenShop wires the domain. It starts no job. Call Close at the end.
func OpenShop(
	cfg config.Config, s *Stores, ids *idworker.Worker, providers service.Providers,
	metrics *telemetry.Metrics, log *slog.Logger,
) *Shop {
	ledger, redis, suspects := s.Ledger, s.Redis, audit.NewSuspects()
	locks := locker{s.locks, metrics}
	fenced := locks.TryDoFenced
	listings := listing.New(ledger, redis, listing.DefaultMemory, log)
	catalog, repairs := catalog.New(listings.Index()), recovery.NewRepairQueue()
	notifier := service.NewNotifier(ledger, log)
	metrics.WatchRepairs(repairs.Load)
	lookup := service.NewLookup(
		service.LookupStores{Rows: ledger, Holdings: redis, NewSales: ledger.SalesAbove}, catalog)

	outbox := outbox.New(outbox.Stores{Ledger: ledger, Apply: redis.Apply, Changed: listings.Changed}, catalog,
		repairs, notifier, metrics, log)
	self := cfg.Server.Instance + ":" + uuid.NewString()
	admissions := admission.New(admission.Stores{Gate: redis.Admit, Holders: redis.Holders, Rows: ledger}, catalog,
		repairs, metrics, cfg.Orders.MaxBacklog, log)
	reconciler, reporterOf := openRecovery(cfg, s, recovery.Stores{
		Ledger: ledger, Rows: ledger, Reader: redis, Builder: redis, Locker: locks, Outbox: outbox,
		Suspect: suspects.Suspect,
	}, self, recoveryParts{admissions, catalog, repairs, metrics}, log)
	vouchers := voucher.NewService(voucher.Parts{
		Ledger: ledger, Changes: ledger, Live: redis.Live, Open: reconciler.Open, Outbox: outbox,
		Changed: listings.Changed, OpenSales: ledger.OpenSales,
		Place:  partition.NewPlacer(ledger.Partitions, ledger.SalesIn, redis.InstancesIn).Place,
		Bounds: voucher.Bounds{Sales: cfg.Merchants.Sales, Units: cfg.Merchants.Units}, Now: time.Now,
	})
	auditor := audit.New(audit.Stores{
		Sales: ledger, Vouchers: ledger, Totals: ledger.LedgerTotals, Inventory: redis.Inventory, TryLock: locks.TryDo,
		Pause: func(ctx context.Context, voucherID int64) error {
			_, _, err := vouchers.Pause(ctx, voucher.Author{Request: "auditor"}, voucherID)
			return err
		},
		Suspects: suspects,
	}, repairs, metrics, log)
	purchases := service.NewPurchases(admissions, lookup, ledger, ids, notifier,
		service.PurchaseOptions{WaitForRow: cfg.Embedded()})
	answers := timeline.New(ledger.PutMinutes, log)
	payments := service.NewPayments(ledger, providers,
		service.PaymentParts{Lookup: lookup, Notifier: notifier, Outbox: outbox},
		func() string { return "pay_" + uuid.NewString() }, metrics, log)
	return &Shop{
		ids: ids, Catalog: catalog, Repairs: repairs,
		StopAdmission: sync.OnceFunc(admissions.Close),
		Purchases:     purchases,
		Orders:        service.NewOrders(ledger, lookup, notifier, catalog, outbox, idworker.Time),
		Payments:      payments,
		DirectSales:   service.NewDirectSales(ledger, ids),
		Vouchers:      vouchers,
		Listings:      listings,
		DeadLetters:   openDeadLetters(s, outbox, repairs, notifier, metrics, log),
		Monitor:       audit.NewMonitor(ledger, catalog, redis.LiveStats, auditor.Balance),
		Notifier:      notifier,
		statsFlusher:  admission.NewStatsFlusher(admissions, redis.Add, answers.Add, metrics, log),
		timeline:      answers,
		locks:         locks,
		Reconciler:    reconciler,
		reporterOf:    reporterOf,
		outbox:        outbox,
		expirer:       service.NewExpirer(ledger, fenced, outbox, notifier, cfg.Payment.CloseRate, metrics, log),
		unwinder:      service.NewUnwinder(ledger, fenced, outbox, notifier, payments.Wake, cfg.Payment.CloseRate, log),
		keyCleaner:    service.NewKeyCleaner(ledger.ForgetKeys, fenced, log),
		Auditor:       auditor,
		Partitions:    s.partitions, partWatcher: partition.NewWatcher(redis.InstancesIn, metrics, log),
		recorderOf: func(partition int) *recorder.Recorder {
			on := recorder.Stores{Ledger: ledger, Correct: redis.Correct, Flush: outbox.Flush}
			return newRecorder(cfg, on, redis.Consumer(partition, self), partition, repairs, notifier, metrics, log)
		},
	}
}

// recoveryParts are the parts of the shop that work with recovery.
type recoveryParts struct {
	admissions *admission.Admission
	catalog    *catalog.Catalog
	repairs    *recovery.RepairQueue
	metrics    *telemetry.Metrics
}

// openRecovery returns the reconciler, and a function that returns each partition's reporter under this instance's
// name; nil in the embedded mode, whose Redis ends with the process.
func openRecovery(
	cfg config.Config, s *Stores, on recovery.Stores, self string, p recoveryParts, log *slog.Logger,
) (*recovery.Reconciler, func(partition int) *recovery.Reporter) {
	if cfg.Embedded() {
		return recovery.New(on, p.catalog, p.repairs, p.metrics, log), nil
	}
	on.Reports = s.Redis
	reports := recovery.ReporterStores{Reports: s.Redis, Holders: s.Redis.OrdersOf, Rows: s.Ledger}
	return recovery.New(on, p.catalog, p.repairs, p.metrics, log), func(partition int) *recovery.Reporter {
		return recovery.NewReporter(reports, partition, self, p.admissions, p.repairs, log)
	}
}

func openDeadLetters(
	s *Stores, outbox *outbox.Outbox, repairs *recovery.RepairQueue, notifier *service.Notifier,
	metrics *telemetry.Metrics, log *slog.Logger,
) *recorder.DeadLetters {
	return recorder.NewDeadLetters(recorder.DeadLetterStores{
		DeadLetters: s.Redis, Holders: s.Redis.OrdersOf, Rows: s.Ledger, Ledger: s.Ledger,
		Correct: s.Redis.Correct, Flush: outbox.Flush,
	}, s.partitions.All, repairs, notifier, metrics, log)
}

// newRecorder returns the recorder of one partition. It reads that partition's stream as the consumer.
func newRecorder(
	cfg config.Config, on recorder.Stores, consumer *redisstore.Consumer, partition int,
	repairs *recovery.RepairQueue, notifier *service.Notifier, metrics *telemetry.Metrics, log *slog.Logger,
) *recorder.Recorder {
	on.Queue, on.Heartbeat, on.Leave = consumer, consumer.Heartbeat, consumer.Leave
	return recorder.New(on, recorder.Options{
		Partition: partition, Batch: cfg.Orders.RecordBatch, Drain: cfg.Embedded(),
	}, repairs, notifier, metrics, log)
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

// Work starts the jobs that may be stopped at any moment: those of features, and all of the shop's except the
// recorders. They run until ctx ends.
func (s *Shop) Work(ctx context.Context, jobs *errgroup.Group, ofFeatures []func(context.Context) error) {
	runs := []func(context.Context) error{
		s.Reconciler.Run, s.Notifier.Run, s.outbox.Run, s.expirer.Run, s.unwinder.Run, s.keyCleaner.Run,
		s.Payments.Run, s.timeline.Run, s.keepStats, s.Auditor.Run,
	}
	if s.reporterOf != nil { // the embedded mode always has one partition
		runs = append(runs, s.Partitions.Run, s.report, s.watchPartitions)
	}
	for _, run := range slices.Concat(runs, ofFeatures) {
		jobs.Go(func() error { return run(ctx) })
	}
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
