package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"seckill/internal/config"
	"seckill/internal/idworker"
	"seckill/internal/lock"
	"seckill/internal/order"
	"seckill/internal/telemetry"
	"seckill/internal/voucher"
)

// partition is the one whose stream this service reads. There is one so far; each voucher's row says which is its.
const partition = 0

// shop is the domain: everybody who works on vouchers and orders, with the stores they work on.
type shop struct {
	catalog    *order.Catalog
	complaints *order.Complaints
	shut       func() // lets nobody in any more, once those in the lines are answered; may be called more than once
	desk       *order.Desk
	clerk      *order.Clerk
	cashier    *order.Cashier
	storefront *order.Storefront
	vouchers   *voucher.Service
	letters    *order.DeadLetters

	// Those who work in the background.
	room     *order.Waitroom
	keeper   *order.Keeper
	outbox   *order.Outbox
	closer   *order.Closer
	auditor  *order.Auditor
	recorder *order.Recorder
	crier    *order.Crier
	witness  *order.Witness // nil in the embedded mode, whose Redis ends with the process

	monitor *order.Monitor
}

// openShop wires the domain. Nothing works in the background yet; close ends what it holds.
func openShop(cfg config.Config, s *stores, ids *idworker.Worker, provider order.Provider, metrics *telemetry.Metrics, log *slog.Logger) *shop {
	ledger, redis := s.ledger, s.redis
	locks := locker{lock.New(s.clients.Commands, cfg.Redis.Prefix+"lock:"), metrics}
	catalog, complaints, room := order.NewCatalog(ledger), order.NewComplaints(), order.NewWaitroom(ledger, log)
	lookup := order.NewLookup(ledger, redis, ledger, catalog)

	outbox := order.NewOutbox(order.OutboxStores{Ledger: ledger, Sales: redis}, catalog, complaints, room, metrics, log)
	self := cfg.Server.Instance + ":" + uuid.NewString()
	diary := order.NewDiary()
	admission := order.NewAdmission(order.AdmissionStores{Gate: redis, Winners: redis, Rows: ledger},
		catalog, diary, complaints, metrics, cfg.Orders.MaxBacklog, log)
	keeping := order.KeeperStores{
		Ledger: ledger, Rows: ledger, Reader: redis, Builder: redis, Retirer: redis, Locker: locks, Outbox: outbox,
	}
	var witness *order.Witness
	if !cfg.Embedded() {
		keeping.Testimony = redis
		witness = order.NewWitness(order.WitnessStores{Hearings: redis, Held: redis, Rows: ledger},
			partition, self, diary, admission, complaints, log)
	}
	keeper := order.NewKeeper(keeping, catalog, complaints, metrics, log)
	vouchers := voucher.NewService(ledger, redis, keeper, ledger, outbox, time.Now)
	auditor := order.NewAuditor(order.AuditorStores{
		Sales: ledger, Vouchers: ledger, Accounts: ledger, Redis: redis, Locker: locks, Brake: brake{vouchers},
	}, complaints, metrics, log)
	consumer := redis.Consumer(partition, self)
	return &shop{
		catalog: catalog, complaints: complaints,
		shut:  sync.OnceFunc(admission.Close),
		desk:  order.NewDesk(admission, lookup, ledger, ids, room, order.DeskOptions{WaitForRow: cfg.Embedded()}),
		clerk: order.NewClerk(ledger, lookup, room, catalog, outbox, idworker.Time),
		cashier: order.NewCashier(ledger, provider, order.CashierDesk{Lookup: lookup, Room: room, Outbox: outbox},
			func() string { return "pay_" + uuid.NewString() }, metrics, log),
		storefront: order.NewStorefront(ledger, ids),
		vouchers:   vouchers,
		letters: order.NewDeadLetters(
			order.DeadLetterStores{Letters: redis, Held: redis, Rows: ledger, Ledger: ledger, Places: redis, Outbox: outbox},
			partition, ids, complaints, room, metrics, log),
		monitor: order.NewMonitor(ledger, catalog, redis, auditor),
		room:    room,
		crier:   order.NewCrier(admission, redis, metrics, log),
		keeper:  keeper,
		witness: witness,
		outbox:  outbox,
		closer:  order.NewCloser(ledger, locks, outbox, room, order.CloserOptions{Rate: cfg.Payment.CloseRate}, metrics, log),
		auditor: auditor,
		recorder: order.NewRecorder(
			order.RecorderStores{Queue: consumer, Membership: consumer, Ledger: ledger, Places: redis, Outbox: outbox},
			order.RecorderOptions{Partition: partition, Batch: cfg.Orders.RecordBatch, Drain: cfg.Embedded()},
			ids, complaints, room, metrics, log),
	}
}

// work starts everybody in the background whose work can be left at any moment, until ctx ends: all but the recorder.
func (s *shop) work(ctx context.Context, jobs *errgroup.Group) {
	runs := []func(context.Context) error{s.keeper.Run, s.room.Run, s.outbox.Run, s.closer.Run, s.cashier.Run, s.crier.Run, s.auditor.Run}
	if s.witness != nil {
		runs = append(runs, s.witness.Run)
	}
	for _, run := range runs {
		jobs.Go(func() error { return run(ctx) })
	}
}

// close waits for what is under way. Nobody may come any more.
func (s *shop) close() {
	s.shut()
	s.outbox.Close()
	s.catalog.Close()
}
