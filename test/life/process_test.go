package life

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"seckill/internal/idworker"
	"seckill/internal/order"
	"seckill/internal/redisstore"
	"seckill/internal/sqlstore"
	"seckill/internal/telemetry"
	"seckill/internal/voucher"
)

// process is one instance of the service without its HTTP side, wired as cmd/server wires it. Its background jobs run
// when the model says so.
type process struct {
	fate       *fate
	catalog    *order.Catalog
	complaints *order.Complaints
	keeper     *order.Keeper
	outbox     *order.Outbox
	admission  *order.Admission
	desk       *order.Desk
	clerk      *order.Clerk
	cashier    *order.Cashier
	vouchers   *voucher.Service
	ledger     ledger
	ids        *idworker.Worker
	newJob     func() *order.Recorder

	jobs sync.WaitGroup
}

// alone is a lock for a single process: what it guards is fenced by the epoch.
type alone struct{ turn chan struct{} }

func (a alone) Do(ctx context.Context, _ string, f func(context.Context) error) error {
	a.turn <- struct{}{}
	defer func() { <-a.turn }()
	return f(ctx)
}

func (a alone) TryDo(ctx context.Context, name string, f func(context.Context) error) error {
	return a.Do(ctx, name, f)
}

// stores are those of a world, shared by all its processes.
type stores struct {
	redis *redisstore.Store
	sql   *sqlstore.Store
	count *redisstore.Counter
	key   [16]byte
	bank  *bank
	log   *slog.Logger
}

// startProcess starts nothing yet; asked hears of everybody who is sent to Redis.
func startProcess(s stores, asked func(order.Batch)) *process {
	p := &process{fate: newFate()}
	p.ledger = ledger{s.sql, p.fate}
	redis := redisSide{s.redis, p.fate, asked}
	metrics := telemetry.NewMetrics(telemetry.Build{})
	p.ids = idworker.New(s.count, s.sql, s.key, idworker.Options{})
	p.catalog = order.NewCatalog(p.ledger)
	p.complaints = order.NewComplaints()
	room := order.NewWaitroom(p.ledger, s.log)
	p.outbox = order.NewOutbox(order.OutboxStores{Ledger: p.ledger, Sales: redis}, p.catalog, p.complaints, room, metrics, s.log)
	p.keeper = order.NewKeeper(order.KeeperStores{
		Ledger: p.ledger, Rows: p.ledger, Reader: redis, Builder: redis, Retirer: redis, Locker: alone{make(chan struct{}, 1)}, Outbox: p.outbox,
	}, p.catalog, p.complaints, metrics, s.log)
	p.admission = order.NewAdmission(order.AdmissionStores{Gate: redis, Winners: redis, Rows: p.ledger},
		p.catalog, order.NewDiary(), p.complaints, metrics, 1000, s.log)
	lookup := order.NewLookup(p.ledger, redis, p.ledger, p.catalog)
	p.desk = order.NewDesk(p.admission, lookup, p.ledger, p.ids, room, order.DeskOptions{})
	p.clerk = order.NewClerk(p.ledger, lookup, room, p.catalog, p.outbox, idworker.Time)
	p.cashier = order.NewCashier(p.ledger, s.bank, order.CashierDesk{Lookup: lookup, Room: room, Outbox: p.outbox},
		func() string { return "pay_" + uuid.NewString() }, metrics, s.log)
	p.vouchers = voucher.NewService(p.ledger, s.redis, p.keeper, p.ledger, p.outbox, time.Now)
	p.newJob = func() *order.Recorder {
		q := queue{s.redis.Consumer(0, "the one"), p.fate}
		return order.NewRecorder(
			order.RecorderStores{Queue: q, Membership: q, Ledger: p.ledger, Places: redis, Outbox: p.outbox},
			order.RecorderOptions{Batch: 3}, p.ids, p.complaints, room, metrics, s.log)
	}
	return p
}

// run runs a job until done says so, the process dies, or limit is over. A job of a process that has died ends by itself,
// some time: it hears nothing any more.
func (p *process) run(ctx context.Context, job func(context.Context) error, limit time.Duration, done func() bool) {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	p.jobs.Go(func() {
		defer close(ended)
		_ = job(ctx) // it ends because it is stopped
	})
	for end := time.Now().Add(limit); !done() && !p.fate.isDead() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	stop()
	if !p.fate.isDead() {
		<-ended
	}
}

// bury waits until nothing of a process is left.
func (p *process) bury(ctx context.Context) {
	p.fate.kill()
	p.jobs.Wait()
	p.admission.Close()
	p.outbox.Close()
	_ = p.ids.Close(ctx) // nobody takes ids any more
	p.catalog.Close()
}
