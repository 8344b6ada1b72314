package main

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
	"seckill/internal/lock"
	"seckill/internal/order/admission"
	"seckill/internal/order/audit"
	"seckill/internal/order/catalog"
	"seckill/internal/order/outbox"
	"seckill/internal/order/partition"
	"seckill/internal/order/recorder"
	"seckill/internal/order/recovery"
	"seckill/internal/order/redemption"
	"seckill/internal/order/service"
	"seckill/internal/order/timeline"
	"seckill/internal/order/waitlist"
	"seckill/internal/redisstore"
	"seckill/internal/voucher"
	"seckill/internal/voucher/listing"
)

// shop is the domain, wired to its stores.
type shop struct {
	catalog       *catalog.Catalog
	repairs       *recovery.RepairQueue
	stopAdmission func() // returns once waiting requests are answered; may be called more than once
	purchases     *service.Purchases
	orders        *service.Orders
	payments      *service.Payments
	directSales   *service.DirectSales
	vouchers      *voucher.Service
	listings      *listing.Listings
	deadLetters   *recorder.DeadLetters
	tills         *redemption.Tills
	waitlists     *waitlist.Waitlists

	// Background jobs.
	notifier     *service.Notifier
	reconciler   *recovery.Reconciler
	outbox       *outbox.Outbox
	expirer      *service.Expirer
	lapser       *redemption.Lapser
	couponKeys   *redemption.KeyLoader
	offerer      *waitlist.Offerer
	auditor      *audit.Auditor
	partitions   *partition.Set
	partWatcher  *partition.Watcher
	recorderOf   func(partition int) *recorder.Recorder
	statsFlusher *admission.StatsFlusher
	timeline     *timeline.Timeline
	reporterOf   func(partition int) *recovery.Reporter // nil in the embedded mode, whose Redis ends with the process

	monitor *audit.Monitor

	locks locker
}

// openShop wires the domain. No job runs yet; close releases what it holds.
func openShop(
	cfg config.Config, s *stores, ids *idworker.Worker, providers service.Providers,
	metrics *telemetry.Metrics, log *slog.Logger,
) *shop {
	ledger, redis, suspects := s.ledger, s.redis, audit.NewSuspects()
	locks := locker{lock.New(s.clients.Commands, cfg.Redis.Prefix+locksPrefix), metrics}
	listings := listing.New(ledger, redis, ledger, listing.DefaultMemory, log)
	catalog, repairs := catalog.New(listings.Index()), recovery.NewRepairQueue()
	notifier := service.NewNotifier(ledger, log)
	metrics.WatchRepairs(repairs.Load)
	lookup := service.NewLookup(service.LookupStores{Rows: ledger, Holdings: redis, NewSales: ledger}, catalog)

	outbox := outbox.New(outbox.Stores{Ledger: ledger, Redis: redis, Lists: listings}, catalog,
		repairs, notifier, metrics, log)
	self := cfg.Server.Instance + ":" + uuid.NewString()
	admissions := admission.New(admission.Stores{Gate: redis, Holders: redis, Rows: ledger}, catalog, repairs, metrics,
		cfg.Orders.MaxBacklog, log)
	reconciler, reporterOf := openRecovery(cfg, s, recovery.Stores{
		Ledger: ledger, Rows: ledger, Reader: redis, Builder: redis, Locker: locks, Outbox: outbox, Suspects: suspects,
	}, self, recoveryParts{admissions, catalog, repairs, metrics}, log)
	vouchers := voucher.NewService(ledger, redis, reconciler, ledger, outbox, listings,
		partition.NewPlacer(ledger, redis), time.Now)
	auditor := audit.New(audit.Stores{
		Sales: ledger, Vouchers: ledger, Totals: ledger, Redis: redis, Locker: locks, Pauser: salePauser{vouchers},
		Suspects: suspects,
	}, repairs, metrics, log)
	purchases := service.NewPurchases(admissions, lookup, ledger, ids, notifier,
		service.PurchaseOptions{WaitForRow: cfg.Embedded()})
	answers := timeline.New(ledger, log)
	return &shop{
		catalog: catalog, repairs: repairs,
		stopAdmission: sync.OnceFunc(admissions.Close),
		purchases:     purchases,
		orders:        service.NewOrders(ledger, lookup, notifier, catalog, outbox, idworker.Time),
		payments: service.NewPayments(ledger, providers,
			service.PaymentParts{Lookup: lookup, Notifier: notifier, Outbox: outbox},
			func() string { return "pay_" + uuid.NewString() }, metrics, log),
		directSales: service.NewDirectSales(ledger, ids),
		vouchers:    vouchers,
		listings:    listings,
		deadLetters: openDeadLetters(s, outbox, repairs, notifier, metrics, log),
		waitlists: waitlist.New(
			waitlist.Stores{Ledger: ledger, Sales: redis, Rows: ledger, IDs: ids, Outbox: outbox}, metrics),
		tills:        redemption.NewTills(ledger, notifier, metrics, uuid.NewString, time.Now),
		monitor:      audit.NewMonitor(ledger, catalog, redis, auditor),
		notifier:     notifier,
		statsFlusher: admission.NewStatsFlusher(admissions, redis, answers, metrics, log),
		timeline:     answers,
		locks:        locks,
		reconciler:   reconciler,
		reporterOf:   reporterOf,
		outbox:       outbox,
		expirer:      service.NewExpirer(ledger, locks, outbox, notifier, cfg.Payment.CloseRate, metrics, log),
		couponKeys:   redemption.NewKeyLoader(ledger, log),
		lapser:       redemption.NewLapser(ledger, locks, notifier, metrics, log),
		offerer:      waitlist.NewOfferer(ledger, locks, outbox, metrics, log),
		auditor:      auditor,
		partitions:   s.partitions, partWatcher: partition.NewWatcher(redis, metrics, log),
		recorderOf: func(partition int) *recorder.Recorder {
			on := recorder.Stores{Ledger: ledger, Holders: redis, Outbox: outbox}
			return newRecorder(cfg, on, redis.Consumer(partition, self), partition, repairs, notifier, metrics, log)
		},
	}
}

// recoveryParts are the parts of the shop that recovery tells, or is told by.
type recoveryParts struct {
	admissions *admission.Admission
	catalog    *catalog.Catalog
	repairs    *recovery.RepairQueue
	metrics    *telemetry.Metrics
}

// openRecovery returns the reconciler, and for each partition the reporter under this instance's name; none in the
// embedded mode, whose Redis ends with the process.
func openRecovery(
	cfg config.Config, s *stores, on recovery.Stores, self string, p recoveryParts, log *slog.Logger,
) (*recovery.Reconciler, func(partition int) *recovery.Reporter) {
	if cfg.Embedded() {
		return recovery.New(on, p.catalog, p.repairs, p.metrics, log), nil
	}
	on.Reports = s.redis
	reports := recovery.ReporterStores{Reports: s.redis, Holders: s.redis, Rows: s.ledger}
	return recovery.New(on, p.catalog, p.repairs, p.metrics, log), func(partition int) *recovery.Reporter {
		return recovery.NewReporter(reports, partition, self, p.admissions, p.repairs, log)
	}
}

func openDeadLetters(
	s *stores, outbox *outbox.Outbox, repairs *recovery.RepairQueue, notifier *service.Notifier,
	metrics *telemetry.Metrics, log *slog.Logger,
) *recorder.DeadLetters {
	return recorder.NewDeadLetters(recorder.DeadLetterStores{
		DeadLetters: s.redis, Holders: s.redis, Rows: s.ledger, Ledger: s.ledger, Corrections: s.redis, Outbox: outbox,
	}, s.partitions, repairs, notifier, metrics, log)
}

// newRecorder returns the recorder of one partition, whose stream it reads as the consumer.
func newRecorder(
	cfg config.Config, on recorder.Stores, consumer *redisstore.Consumer, partition int,
	repairs *recovery.RepairQueue, notifier *service.Notifier, metrics *telemetry.Metrics, log *slog.Logger,
) *recorder.Recorder {
	on.Queue, on.Membership = consumer, consumer
	return recorder.New(on, recorder.Options{
		Partition: partition, Batch: cfg.Orders.RecordBatch, Drain: cfg.Embedded(),
	}, repairs, notifier, metrics, log)
}

// record moves accepted orders of all partitions to their rows, until ctx ends and the batches in progress are
// finished.
func (s *shop) record(ctx context.Context) error {
	return s.partitions.Each(ctx,
		func(ctx context.Context, partition int) error { return s.recorderOf(partition).Run(ctx) })
}

// report hands in this instance's recovery reports in all partitions, until ctx ends. Its heartbeats say that it
// works there.
func (s *shop) report(ctx context.Context) error {
	return s.partitions.Each(ctx,
		func(ctx context.Context, partition int) error { return s.reporterOf(partition).Run(ctx) })
}

// watchPartitions watches for instances that do not work in a partition, until ctx ends.
func (s *shop) watchPartitions(ctx context.Context) error {
	return s.partitions.Each(ctx, s.partWatcher.Run)
}

// work starts the jobs that may be stopped at any moment, until ctx ends: those of features, and all of the shop but
// the recorders.
func (s *shop) work(ctx context.Context, jobs *errgroup.Group, ofFeatures []func(context.Context) error) {
	runs := []func(context.Context) error{
		s.reconciler.Run, s.notifier.Run, s.outbox.Run, s.expirer.Run, s.lapser.Run, s.couponKeys.Run, s.offerer.Run,
		s.payments.Run, s.timeline.Run, s.keepStats, s.auditor.Run,
	}
	if s.reporterOf != nil { // the embedded mode has one partition for good
		runs = append(runs, s.partitions.Run, s.report, s.watchPartitions)
	}
	for _, run := range slices.Concat(runs, ofFeatures) {
		jobs.Go(func() error { return run(ctx) })
	}
}

// keepStats flushes stats until ctx ends, and then writes what the last flush has added to the timeline.
func (s *shop) keepStats(ctx context.Context) error {
	err := s.statsFlusher.Run(ctx)
	s.timeline.Flush(context.WithoutCancel(ctx))
	return err
}

// close waits for what is under way. No new calls may begin.
func (s *shop) close() {
	s.stopAdmission()
	s.waitlists.Close()
	s.outbox.Close()
	s.listings.Close()
	s.catalog.Close()
}
