package life

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the ledger
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"seckill/internal/feature/redemption"
	"seckill/internal/feature/waitlist"
	"seckill/internal/feature/webhook"
	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/order/gate"
	"seckill/internal/order/payment"
	"seckill/internal/order/service"
	"seckill/internal/redisstore"
	"seckill/internal/redisstore/idcounter"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/telemetry"
	"seckill/internal/testkit"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

var errOffShelf = voucher.ErrOffShelf

const quiesceTimeout = time.Minute // until nothing is under way

var admin = voucher.Author{AdminID: 1}

const providerName = "bank"

// provider is a payment provider that counts refunds.
type provider struct {
	mu      sync.Mutex
	refunds map[string]int  // by payment
	finalNo map[string]bool // payments whose refund it refuses for good
}

func (p *provider) Begin(_ context.Context, of payment.Beginning) (service.Checkout, error) {
	return service.Checkout{URL: "/pay", Reference: "of_" + of.ID}, nil
}

func (p *provider) Cancel(context.Context, payment.Payment) error { return nil }

func (p *provider) ReadRefund(_ context.Context, _ payment.Payment, r payment.Refund) (payment.Outcome, error) {
	return payment.Outcome{State: r.State}, nil
}

func (p *provider) Refund(_ context.Context, paid payment.Payment, _ payment.Refund) (payment.Outcome, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finalNo[paid.ID] && p.refunds[paid.ID] == 0 {
		return payment.Outcome{}, &payment.RefusedError{Reason: refusedForGood}
	}
	p.refunds[paid.ID]++
	return payment.Outcome{State: payment.RefundDone}, nil
}

// env has the stores that all worlds of one test use. Each world has its own voucher.
type env struct {
	stores stores
	rdb    *redis.Client
	prefix string
	db     *sql.DB

	dead  []*process // shut down when the test ends
	token int64      // of the locks of jobs; it never falls, as all worlds share the ledger
}

// world is one sale and the process that sells it.
type world struct {
	*env
	rt      *rapid.T
	ctx     context.Context //nolint:containedctx // the test's; a world belongs to one test
	voucher int64
	issued  int64         // units at the beginning
	users   []int64       // who may buy
	deltas  []int64       // possible changes of the stock
	within  time.Duration // how long an action may take while there are faults
	price   int64         // of a unit; 0: orders are paid when they are recorded
	process *process
	calm    bool // no faults happen
	off     callOffs

	mu             sync.Mutex
	sent           map[int64]int64 // order ids that were sent to Redis, with their users
	units          map[int64]int64 // the units that each asked for
	maybeConfirmed map[string]bool // payments whose notice was sent, answered or not
}

func newEnv(t *testing.T) *env {
	t.Helper()
	rdb, prefix := testkit.Redis(t)
	dsn := testkit.MySQL(t)
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() && !checksGiven {
		log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	store, err := redisstore.New(&rediskit.Clients{Commands: rdb, Blocking: rdb},
		redisstore.Options{Word: "1/ledger", Prefix: prefix}, log)
	must(t, err)
	ledger, err := sqlstore.OpenMySQL(t.Context(), dsn,
		sqlkit.Options{Log: log, MaxConns: 16, Timeout: 10 * time.Second})
	must(t, err)
	t.Cleanup(func() { must(t, ledger.Close()) })
	_, err = ledger.Schema().Migrate(t.Context())
	must(t, err)
	coupons := redemption.NewLedger(ledger.DB(), ledger.Features)
	events := webhook.NewLedger(ledger.DB(), ledger.Features)
	ledger.Use(coupons.Hook(), sqlkit.Hook{Feature: "waitlist", Promised: waitlist.Promised}, events.Hook())
	_, err = coupons.CouponKeys(t.Context())
	must(t, err)
	_, err = events.CreateEndpoint(t.Context(), dispatch.Terms{URL: "https://example.com/hook"}, dispatch.NewSecret(),
		voucher.Author{AdminID: 1})
	must(t, err)
	key, err := ledger.IDKey(t.Context())
	must(t, err)
	count, err := idcounter.New(rdb, prefix)
	must(t, err)
	db, err := sql.Open("mysql", dsn)
	must(t, err)
	t.Cleanup(func() { _ = db.Close() }) // it only reads, and sets deadlines
	e := &env{
		rdb: rdb, prefix: prefix, db: db,
		stores: stores{
			redis: store, sql: ledgertest.WholeOf(ledger), coupons: coupons, events: events, count: count, key: key,
			provider: &provider{refunds: map[string]int{}, finalNo: map[string]bool{}}, log: log,
		},
	}
	t.Cleanup(func() {
		for _, p := range e.dead {
			p.shutdown(context.WithoutCancel(t.Context()))
		}
	})
	return e
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (e *env) newWorld(t *testing.T, rt *rapid.T) *world {
	t.Helper()
	w := e.openWorld(t, rt)
	w.users, w.issued, w.within = []int64{1, 2, 3, 4, 5}, firstStock, 300*time.Millisecond
	w.deltas = []int64{-3, -2, -1, 1, 2}
	now := time.Now()
	created, err := w.process.vouchers.CreateSeckill(w.ctx, admin,
		voucher.Draft{
			ShopID: 1, Title: "100 for 10", PayValue: w.price, ActualValue: 100_00, PerUser: perUser,
			Redemption: voucher.Redemption{ByCode: true, ValidDays: 1},
		},
		voucher.SaleDraft{
			Stock: firstStock, InviteWindow: inviteWindow, Begin: now.Add(-time.Minute), End: now.Add(time.Hour),
		})
	must(t, err)
	w.voucher = created.ID
	return w
}

// openWorld returns a world without a sale.
func (e *env) openWorld(t *testing.T, rt *rapid.T) *world {
	t.Helper()
	w := &world{
		env: e, rt: rt, ctx: t.Context(), price: rapid.SampledFrom([]int64{10_00, 10_00, 0}).Draw(rt, "price"),
		sent: map[int64]int64{}, units: map[int64]int64{}, maybeConfirmed: map[string]bool{},
	}
	w.start()
	return w
}

func (w *world) start() {
	w.process = newProcess(w.stores, func(b gate.Batch) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, r := range b.Requests {
			w.sent[r.OrderID], w.units[r.OrderID] = r.UserID, r.Quantity.Units()
		}
	})
}

// crash kills the process and starts another.
func (w *world) crash() {
	w.end()
	w.start()
}

// alive returns the process, or a new one if it has died.
func (w *world) alive() *process {
	if w.process.faults.isDead() {
		w.crash()
	}
	return w.process
}

// end kills the process. The end of the test waits for its remaining goroutines.
func (w *world) end() {
	w.process.faults.kill()
	w.dead = append(w.dead, w.process)
}

// withTimeout returns a context for one action. With injected faults its answer may never come; without them it must,
// however busy the machine is.
func (w *world) withTimeout() (context.Context, context.CancelFunc) {
	if w.calm {
		return context.WithTimeout(w.ctx, quiesceTimeout)
	}
	return context.WithTimeout(w.ctx, w.within)
}

func (w *world) buy(user, units int64) (order.Order, error) {
	ctx, cancel := w.withTimeout()
	defer cancel()
	return w.alive().buy(ctx, user, w.voucher, order.QuantityOf(units), 0)
}

// buyAgain buys once more for a user who has an order, and returns the order in the answer. It asks again while the
// answer is sold out, until soldOut has passed.
func (w *world) buyAgain(t *rapid.T, user int64, soldOut time.Duration) int64 {
	_, err := w.buy(user, perUser)
	for end := time.Now().Add(soldOut); errors.Is(err, gate.ErrSoldOut) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		_, err = w.buy(user, perUser)
	}
	bought, is := errors.AsType[*gate.AlreadyBoughtError](err)
	if !is {
		t.Fatalf("user %d has a live order and is answered %v", user, err)
	}
	if bought.Quantity.Units() != w.unitsOf(bought.OrderID) {
		t.Fatalf("order %d of %d units is answered as one of %s",
			bought.OrderID, w.unitsOf(bought.OrderID), bought.Quantity)
	}
	return bought.OrderID
}

// unitsOf returns how many units were asked for in the order.
func (w *world) unitsOf(id int64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.units[id]
}

// text returns the order as Redis stores it. The format is repeated here on purpose: other versions read it.
func (w *world) text(id int64) string {
	if units := w.unitsOf(id); units > 1 {
		return fmt.Sprintf("%d:%d", id, units)
	}
	return fmt.Sprint(id)
}

func (w *world) pay(user, id int64) (payment.Payment, error) {
	ctx, cancel := w.withTimeout()
	defer cancel()
	p, _, err := w.alive().payments.Pay(ctx, user, id, payment.Visit{})
	return p, err
}

func (w *world) confirm(n payment.Notice) error {
	ctx, cancel := w.withTimeout()
	defer cancel()
	w.maybeConfirmed[n.PaymentID] = true
	return w.alive().payments.Confirm(ctx, n)
}

func (w *world) cancel(user, id int64) error {
	ctx, cancel := w.withTimeout()
	defer cancel()
	_, err := w.alive().orders.Cancel(ctx, user, id)
	return err
}

func (w *world) refund(user, id int64) error {
	ctx, cancel := w.withTimeout()
	defer cancel()
	_, err := w.alive().payments.Refund(ctx, user, id)
	return err
}

func (w *world) restock(key string, delta int64) error {
	ctx, cancel := w.withTimeout()
	defer cancel()
	_, _, err := w.alive().vouchers.AddStock(ctx, admin, w.voucher, delta, key)
	return err
}

func (w *world) pause(t *rapid.T, paused bool) {
	ctx, cancel := w.withTimeout()
	defer cancel()
	set := w.alive().vouchers.Resume
	if paused {
		set = w.alive().vouchers.Pause
	}
	if _, _, err := set(ctx, admin, w.voucher); err != nil {
		w.expected(t, err)
	}
}

func (w *world) shelve(t *rapid.T, on bool) {
	ctx, cancel := w.withTimeout()
	defer cancel()
	if _, _, err := w.alive().vouchers.Change(ctx, admin, w.voucher, voucher.Change{OnShelf: &on}); err != nil {
		w.expected(t, err)
	}
}

// expire lets an order's payment deadline pass, and expires overdue orders.
func (w *world) expire(id int64) {
	_, err := w.db.ExecContext(w.ctx, "UPDATE tb_voucher_order SET pay_deadline = '2020-01-01' WHERE id = ?", id)
	w.must(w.rt, err)
	w.token++
	p := w.alive()
	orders, err := p.ledger.ExpireDue(w.ctx, w.token, 10)
	if err == nil && len(orders) > 0 {
		p.outbox.RequestFlush(w.voucher)
	}
}

// record lets the recorder work until the stream is empty.
func (w *world) record() {
	p := w.alive()
	p.run(w.ctx, p.newRecorder().Run, time.Second, func() bool { return w.waiting() == 0 })
}

// work runs the other jobs until they have nothing to do.
func (w *world) work() {
	within := w.within
	if w.calm {
		within = 3 * time.Second // the next call does what is not done by then
	}
	ctx, cancel := context.WithTimeout(w.ctx, within)
	defer cancel()
	p := w.alive()
	_ = p.reconciler.Open(ctx, w.voucher) // checks, and rebuilds if it has to
	w.turn()
	if w.off.known {
		w.unwindAll(w.rt)
	}
	_ = p.outbox.Flush(ctx, w.voucher) // what fails stays pending
	p.run(w.ctx, p.payments.Run, 2*time.Second, func() bool { return w.unfinishedPayments() == 0 })
}

// rebuild rebuilds a healthy sale.
func (w *world) rebuild() {
	p := w.alive()
	epoch := w.count("SELECT epoch FROM tb_seckill_voucher WHERE voucher_id = ?", w.voucher)
	p.repairs.RequestRepair(w.voucher, epoch)
	ctx, cancel := w.withTimeout()
	defer cancel()
	_ = p.reconciler.Open(ctx, w.voucher) // if it fails, the sale is stopped until the next rebuild
}

// quiesce runs all jobs without faults until nothing is under way.
func (w *world) quiesce() {
	w.alive().faults.clear()
	for end := time.Now().Add(quiesceTimeout); ; {
		w.record()
		w.work()
		if w.waiting() == 0 && w.unfinishedPayments() == 0 && w.isOpen() && w.pending() == 0 && w.undecided() == 0 &&
			w.toUnwind() == 0 && !w.hasOpenPlaces() && w.haveSameOperations() {
			return
		}
		if time.Now().After(end) {
			w.rt.Fatalf("not quiescent: %d entries wait, %d payments are unfinished, the sale is %s, %d operations "+
				"are pending; flushing them: %v",
				w.waiting(), w.unfinishedPayments(), w.inRedis(), w.pending(), w.alive().outbox.Flush(w.ctx, w.voucher))
		}
	}
}

func (w *world) waiting() int64 {
	n, err := w.rdb.XLen(w.ctx, w.prefix+"{p0}:orders").Result()
	w.must(w.rt, err)
	return n
}

// unfinishedPayments counts late payments, and those being refunded.
func (w *world) unfinishedPayments() int64 {
	return w.count("SELECT COUNT(*) FROM tb_payment WHERE state IN (3, 4) AND voucher_id = ?", w.voucher)
}

func (w *world) pending() int64 {
	return w.count("SELECT COUNT(*) FROM tb_voucher_operation WHERE state = 1 AND voucher_id = ?", w.voucher)
}

// undecided counts acceptances that are not orders yet.
func (w *world) undecided() int64 {
	return w.count("SELECT COUNT(*) FROM tb_place WHERE state = 3 AND voucher_id = ?", w.voucher)
}

func (w *world) count(query string, args ...any) (n int64) {
	w.must(w.rt, w.db.QueryRowContext(w.ctx, query, args...).Scan(&n))
	return n
}

// hasOpenPlaces reports whether places of a sale that was called off are still to be ended.
func (w *world) hasOpenPlaces() bool {
	return w.off.known && w.count("SELECT COUNT(*) FROM tb_place WHERE open = 1 AND voucher_id = ?", w.voucher) > 0
}

// isOpen reports whether the sale is not being rebuilt and does not need to be.
func (w *world) isOpen() bool {
	fields, err := w.rdb.HMGet(w.ctx, w.saleKey(), "mode").Result()
	return err == nil && fields[0] != nil && fields[0] != "rebuild"
}

// haveSameOperations reports whether both stores have the sale's operations up to the same one. If the ledger has lost
// some, the rebuild may have failed that work tried, and the next sweep of an instance would try it again.
func (w *world) haveSameOperations() bool {
	last, err := w.rdb.HGet(w.ctx, w.saleKey(), "op").Int64()
	return err == nil &&
		last == w.count("SELECT last_operation FROM tb_seckill_voucher WHERE voucher_id = ?", w.voucher)
}

func (w *world) saleKey() string { return fmt.Sprint(w.prefix, "{p0}:sale:", w.voucher) }

func (w *world) buyersKey() string { return fmt.Sprint(w.prefix, "{p0}:buyers:", w.voucher) }

// inRedis describes the sale in Redis, for people.
func (w *world) inRedis() string {
	fields, err := w.rdb.HGetAll(w.ctx, w.saleKey()).Result()
	return fmt.Sprintf("%v (%v)", fields, err)
}

// sellable returns how many units Redis certainly can sell now.
func (w *world) sellable(t *rapid.T) (units int64) {
	now, err := w.rdb.Time(w.ctx).Result()
	w.must(t, err)
	sale, err := w.rdb.HGetAll(w.ctx, w.saleKey()).Result()
	w.must(t, err)
	past := func(field string) bool { return number(sale[field]) <= now.UnixMilli() }
	if sale["mode"] != "open" || number(sale["building"]) > 0 || !past("resumes") {
		return 0
	}
	if units = number(sale["stock"]); past("returned_at") {
		units += number(sale["returned"])
	}
	return units
}

// redeliver appends an order's entry to the stream once more.
func (w *world) redeliver(id, user int64) {
	w.must(w.rt, w.rdb.XAdd(w.ctx, &redis.XAddArgs{
		Stream: w.prefix + "{p0}:orders",
		Values: []any{"v", w.voucher, "u", user, "o", w.text(id), "e", 1, "s", 1},
	}).Err())
}

// refunded returns how often the provider refunded each of this world's payments.
func (w *world) refunded() map[string]int {
	w.stores.provider.mu.Lock()
	defer w.stores.provider.mu.Unlock()
	ours := map[string]int{}
	for id, n := range w.stores.provider.refunds {
		if w.maybeConfirmed[id] {
			ours[id] = n
		}
	}
	return ours
}

// view reads both stores; the ledger as it was at one moment, as acceptances become orders all the time.
func (w *world) view(t *rapid.T) view {
	v := view{holders: map[int64]string{}, waiting: w.waiting()}
	ledger, err := w.db.BeginTx(w.ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	w.must(t, err)
	defer func() { _ = ledger.Rollback() }() // it only reads
	w.eachIn(t, ledger, func(rows *sql.Rows) error {
		return rows.Scan(&v.sale.stock, &v.sale.kept, &v.sale.accepted, &v.sale.issued, &v.sale.last,
			&v.sale.calledOff)
	}, "SELECT stock, kept, accepted, issued, last_operation, called_off IS NOT NULL FROM tb_seckill_voucher "+
		"WHERE voucher_id = ?")
	v.pending, v.places = w.pending(), w.placesIn(t, ledger)
	w.eachIn(t, ledger, func(rows *sql.Rows) error {
		var o orderRow
		err := rows.Scan(&o.id, &o.user, &o.status, &o.units, &o.last)
		v.orders = append(v.orders, o)
		return err
	}, `SELECT id, user_id, status, quantity,
		COALESCE((SELECT e.status FROM tb_order_event e WHERE e.order_id = o.id ORDER BY e.id DESC LIMIT 1), status)
		FROM tb_voucher_order o WHERE voucher_id = ?`)
	w.eachIn(t, ledger, func(rows *sql.Rows) error {
		var p paymentRow
		err := rows.Scan(&p.id, &p.order, &p.state)
		v.payments = append(v.payments, p)
		return err
	}, "SELECT id, order_id, state FROM tb_payment WHERE voucher_id = ?")
	sale, err := w.rdb.HGetAll(w.ctx, w.saleKey()).Result()
	w.must(t, err)
	v.mode = sale["mode"]
	v.redis = saleRow{
		stock: number(sale["stock"]) + number(sale["returned"]), last: number(sale["op"]), extra: number(sale["extra"]),
	}
	holders, err := w.rdb.HGetAll(w.ctx, w.buyersKey()).Result()
	w.must(t, err)
	for user, text := range holders {
		v.holders[number(user)] = text
	}
	return v
}

// balance returns the auditor's present result.
func (w *world) balance(t *rapid.T) audit.Balance {
	b, err := w.auditor().Balance(w.ctx, w.voucher)
	w.must(t, err)
	return b
}

func (w *world) auditor() *audit.Auditor {
	return audit.New(audit.Stores{
		Vouchers: w.stores.sql, Totals: w.stores.sql.LedgerTotals, Inventory: w.stores.redis.Inventory,
	}, w.process.repairs, telemetry.NewMetrics(telemetry.Build{}), w.stores.log)
}

// each reads the rows of a query about the world's voucher.
func (w *world) each(t *rapid.T, read func(*sql.Rows) error, query string) {
	w.eachIn(t, w.db, read, query)
}

// querier is the database, or one transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (w *world) eachIn(t *rapid.T, in querier, read func(*sql.Rows) error, query string) {
	rows, err := in.QueryContext(w.ctx, query, w.voucher)
	w.must(t, err)
	defer func() { _ = rows.Close() }() // read to its end below
	for rows.Next() {
		w.must(t, read(rows))
	}
	w.must(t, rows.Err())
}

func (w *world) must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// expected fails the test for an error that neither an injected fault nor also explains.
func (w *world) expected(t *rapid.T, err error, also ...error) {
	if w.off.asked && errors.Is(err, voucher.ErrCalledOff) {
		return
	}
	for _, e := range append(also, errInjected, errDead, order.ErrUnavailable, order.ErrUnknownOutcome,
		voucher.ErrUndecided, context.DeadlineExceeded) {
		if errors.Is(err, e) {
			return
		}
	}
	t.Fatalf("unexpected: %v; the sale is %s", err, w.inRedis())
}

// expectedOrState is expected for actions that an order's state may forbid.
func (w *world) expectedOrState(t *rapid.T, err error) {
	if _, is := errors.AsType[*order.StateError](err); !is {
		w.expected(t, err, order.ErrNotFound) // a queued order is not found while Redis is rebuilt
	}
}

// expectedOrStock is expected for changes that a sale's stock may forbid.
func (w *world) expectedOrStock(t *rapid.T, err error) {
	if _, is := errors.AsType[*voucher.InsufficientStockError](err); !is {
		w.expected(t, err)
	}
}
