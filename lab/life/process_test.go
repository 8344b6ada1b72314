package life

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"seckill/internal/feature/redemption"
	"seckill/internal/feature/waitlist"
	"seckill/internal/feature/webhook"
	"seckill/internal/idworker"
	"seckill/internal/order"
	"seckill/internal/order/admission"
	"seckill/internal/order/audit"
	"seckill/internal/order/catalog"
	"seckill/internal/order/gate"
	"seckill/internal/order/outbox"
	"seckill/internal/order/recorder"
	"seckill/internal/order/recovery"
	"seckill/internal/order/service"
	"seckill/internal/redisstore"
	"seckill/internal/redisstore/idcounter"
	"seckill/internal/telemetry"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// process is one instance of the service without its HTTP side, wired as in cmd/server. Its background jobs run only
// when the model runs them.
type process struct {
	faults      *faults
	catalog     *catalog.Catalog
	repairs     *recovery.RepairQueue
	reconciler  *recovery.Reconciler
	outbox      *outbox.Outbox
	admission   *admission.Admission
	purchases   *service.Purchases
	orders      *service.Orders
	payments    *service.Payments
	vouchers    *voucher.Service
	tills       *redemption.Tills
	staff       *redemption.Staff
	coupons     faultyCoupons
	waitlists   *waitlist.Waitlists
	turns       *waitlist.Turns
	ledger      ledger
	ids         *idworker.Worker
	newRecorder func() *recorder.Recorder

	jobs sync.WaitGroup
}

// localLock is a lock for a single process: the epoch fences what it protects.
type localLock struct{ held chan struct{} }

func (l localLock) Do(ctx context.Context, _ string, f func(context.Context) error) error {
	l.held <- struct{}{}
	defer func() { <-l.held }()
	return f(ctx)
}

func (l localLock) TryDo(ctx context.Context, name string, f func(context.Context) error) error {
	return l.Do(ctx, name, f)
}

// stores are shared by all processes of a world.
type stores struct {
	redis    *redisstore.Store
	sql      ledgertest.Whole
	coupons  *redemption.Ledger
	events   *webhook.Ledger
	count    *idcounter.Counter
	key      [16]byte
	provider *provider
	log      *slog.Logger
}

// newProcess starts no job. The process calls sent with each batch that it sends to Redis.
func newProcess(s stores, sent func(gate.Batch)) *process {
	p := &process{faults: newFaults()}
	p.ledger = ledger{s.sql, p.faults, func(orderID, userID int64) {
		sent(gate.Batch{Requests: []gate.Request{{OrderID: orderID, UserID: userID, Quantity: order.OneUnit}}})
	}}
	redis := redisStore{s.redis, p.faults, sent}
	metrics := telemetry.NewMetrics(telemetry.Build{})
	p.ids = idworker.New(s.count, s.sql, s.key, idworker.Options{})
	p.catalog = catalog.New(p.ledger)
	p.repairs = recovery.NewRepairQueue()
	notifier := service.NewNotifier(p.ledger, s.log)
	p.outbox = outbox.New(outbox.Stores{Ledger: p.ledger, Apply: redis.Apply}, p.catalog, p.repairs, notifier,
		metrics, s.log)
	p.reconciler = recovery.New(recovery.Stores{
		Ledger: p.ledger, Rows: p.ledger, Reader: redis, Builder: redis, Locker: localLock{make(chan struct{}, 1)},
		Outbox: p.outbox, Suspect: audit.NewSuspects().Suspect,
	}, p.catalog, p.repairs, metrics, s.log)
	p.admission = admission.New(admission.Stores{Gate: redis.Admit, Holders: redis.Holders, Rows: p.ledger},
		p.catalog, p.repairs, metrics, 1000, s.log)
	lookup := service.NewLookup(
		service.LookupStores{Rows: p.ledger, Holdings: redis, NewSales: p.ledger.SalesAbove}, p.catalog)
	p.purchases = service.NewPurchases(p.admission, lookup, p.ledger, p.ids, notifier, service.PurchaseOptions{})
	p.orders = service.NewOrders(p.ledger, lookup, notifier, p.catalog, p.outbox, idworker.Time)
	p.payments = service.NewPayments(p.ledger, service.Providers{
		Default: providerName, ByName: map[string]service.Provider{providerName: sendingBack{s.provider, p.faults}},
	}, service.PaymentParts{
		Lookup: lookup, Notifier: notifier, Outbox: p.outbox,
		SwitchOn: func(context.Context) error { return order.ErrUpgrading },
	},
		func() string { return "pay_" + uuid.NewString() }, metrics, s.log)
	p.vouchers = voucher.NewService(voucher.Parts{
		Ledger: p.ledger, Changes: p.ledger, Outbox: p.outbox, Changed: func(context.Context, voucher.Voucher) {},
		Live: s.redis.Live, Open: p.reconciler.Open, Now: time.Now,
	})
	p.coupons = faultyCoupons{s.coupons, p.faults}
	p.tills = redemption.NewTills(p.coupons, notifier, redemption.NewMetrics(), uuid.NewString, time.Now)
	p.staff = redemption.NewStaff(p.coupons, notifier)
	kept := lists{waitlist.NewLedger(s.sql.DB(), s.sql.Features.KeptUnits), p.ledger}
	p.turns = waitlist.NewTurns(kept.Turn, p.ids, p.outbox, waitlist.NewMetrics())
	p.waitlists = waitlist.NewWaitlists(waitlist.Stores{
		Ledger: kept, Views: redis.Views, Held: redis.OrdersOf, LiveOrder: p.ledger.LiveOrder, IDs: p.ids,
		Outbox: p.outbox, Turns: p.turns, Wake: func(int64) {},
	}, waitlist.NewMetrics())
	p.newRecorder = func() *recorder.Recorder {
		q := queue{s.redis.Consumer(0, "life"), p.faults}
		return recorder.New(
			recorder.Stores{
				Queue: q, Heartbeat: q.Heartbeat, Leave: q.Leave, Ledger: p.ledger, Correct: redis.Correct,
				Flush: p.outbox.Flush,
			},
			recorder.Options{Batch: 3}, p.repairs, notifier, metrics, s.log)
	}
	return p
}

// run runs a job until done reports true, the process dies, or limit has passed. A job of a dead process ends by itself
// some time later, because it no longer reaches the stores.
func (p *process) run(ctx context.Context, job func(context.Context) error, limit time.Duration, done func() bool) {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	p.jobs.Go(func() {
		defer close(ended)
		_ = job(ctx) // its error says only that it was stopped
	})
	for end := time.Now().Add(limit); !done() && !p.faults.isDead() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	stop()
	if !p.faults.isDead() {
		<-ended
	}
}

// shutdown kills the process and waits until all its goroutines have ended.
func (p *process) shutdown(ctx context.Context) {
	p.faults.kill()
	p.jobs.Wait()
	p.admission.Close()
	p.waitlists.Close()
	p.outbox.Close()
	_ = p.ids.Close(ctx) // no ids are needed any more
	p.catalog.Close()
}

// buy buys units of the voucher as the catalog has it, as HTTP does.
func (p *process) buy(
	ctx context.Context, userID, voucherID int64, q order.Quantity, wait time.Duration,
) (order.Order, error) {
	v, err := p.catalog.Find(ctx, voucherID)
	if err != nil {
		return order.Order{}, err
	}
	return p.purchases.Buy(ctx, userID, v, q, wait)
}
