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

	"seckill/internal/order"
	"seckill/internal/redisstore"
	"seckill/internal/sqlstore"
	"seckill/internal/telemetry"
	"seckill/internal/testkit"
	"seckill/internal/voucher"
)

var errOffShelf = voucher.ErrOffShelf

const patience = time.Minute // for coming to rest

var admin = voucher.Author{AdminID: 1}

// bank is a payment provider that remembers what it was told to send back.
type bank struct {
	mu       sync.Mutex
	returned map[string]int
}

func (b *bank) Begin(context.Context, order.Payment) (string, error) { return "/pay", nil }

func (b *bank) Refund(_ context.Context, p order.Payment) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.returned[p.ID]++
	return nil
}

// site is the stores that all worlds of one test use, one voucher for each world.
type site struct {
	stores stores
	rdb    *redis.Client
	prefix string
	db     *sql.DB

	dead []*process
}

// world is one sale and the process that sells it.
type world struct {
	*site
	rt      *rapid.T
	ctx     context.Context //nolint:containedctx // of the test; a world is a test's own
	voucher int64
	process *process
	token   int64

	mu           sync.Mutex
	asked        map[int64]int64 // order ids that were sent to Redis, and for whom
	maybeNoticed map[string]bool // payments whose notice was sent and not answered
}

func newSite(t *testing.T) *site {
	t.Helper()
	rdb, prefix := testkit.Redis(t)
	dsn := testkit.MySQL(t)
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	store, err := redisstore.New(&redisstore.Clients{Commands: rdb, Blocking: rdb}, redisstore.Options{Prefix: prefix}, log)
	must(t, err)
	ledger, err := sqlstore.OpenMySQL(t.Context(), dsn, sqlstore.Options{Log: log})
	must(t, err)
	t.Cleanup(func() { must(t, ledger.Close()) })
	_, err = ledger.Migrate(t.Context())
	must(t, err)
	key, err := ledger.IDKey(t.Context())
	must(t, err)
	count, err := redisstore.NewCounter(rdb, prefix)
	must(t, err)
	db, err := sql.Open("mysql", dsn)
	must(t, err)
	t.Cleanup(func() { _ = db.Close() }) // it only read, and set clocks forward
	s := &site{
		rdb: rdb, prefix: prefix, db: db,
		stores: stores{redis: store, sql: ledger, count: count, key: key, bank: &bank{returned: map[string]int{}}, log: log},
	}
	t.Cleanup(func() {
		for _, p := range s.dead {
			p.bury(context.WithoutCancel(t.Context()))
		}
	})
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *site) newWorld(t *testing.T, rt *rapid.T) *world {
	t.Helper()
	w := &world{
		site: s, rt: rt, ctx: t.Context(),
		asked: map[int64]int64{}, maybeNoticed: map[string]bool{},
	}
	w.start()
	now := time.Now()
	shown, err := w.process.vouchers.CreateSeckill(w.ctx, admin,
		voucher.Draft{ShopID: 1, Title: "100 for 10", PayValue: price, ActualValue: 100_00},
		voucher.SaleDraft{Stock: firstStock, Begin: now.Add(-time.Minute), End: now.Add(time.Hour)})
	must(t, err)
	w.voucher = shown.ID
	return w
}

func (w *world) start() {
	w.process = startProcess(w.stores, func(b order.Batch) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, a := range b.Applicants {
			w.asked[a.OrderID] = a.UserID
		}
	})
}

// crash kills the process and starts another.
func (w *world) crash() {
	w.end()
	w.start()
}

// alive is the process, or its successor when it has died.
func (w *world) alive() *process {
	if w.process.fate.isDead() {
		w.crash()
	}
	return w.process
}

// end kills the process. What it has under way is waited for at the end of the test.
func (w *world) end() {
	w.process.fate.kill()
	w.dead = append(w.dead, w.process)
}

// brief is the time that an action may take: who waits for something that does not come gives up.
func (w *world) brief() (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.ctx, 300*time.Millisecond)
}

func (w *world) buy(user int64) (order.Order, error) {
	ctx, cancel := w.brief()
	defer cancel()
	return w.alive().desk.Buy(ctx, user, w.voucher, 0)
}

// askAgain buys once more for a user who has an order, and returns which one he is told.
func (w *world) askAgain(t *rapid.T, user int64) int64 {
	_, err := w.buy(user)
	bought, is := errors.AsType[*order.AlreadyBoughtError](err)
	if !is {
		t.Fatalf("user %d has a live order and is answered %v", user, err)
	}
	return bought.OrderID
}

func (w *world) pay(user, id int64) (order.Payment, error) {
	ctx, cancel := w.brief()
	defer cancel()
	p, _, err := w.alive().cashier.Pay(ctx, user, id)
	return p, err
}

func (w *world) confirm(n order.Notice) error {
	ctx, cancel := w.brief()
	defer cancel()
	w.maybeNoticed[n.PaymentID] = true
	return w.alive().cashier.Confirm(ctx, n)
}

func (w *world) cancel(user, id int64) error {
	ctx, cancel := w.brief()
	defer cancel()
	_, err := w.alive().clerk.Cancel(ctx, user, id)
	return err
}

func (w *world) refund(user, id int64) error {
	ctx, cancel := w.brief()
	defer cancel()
	_, err := w.alive().cashier.Refund(ctx, user, id)
	return err
}

func (w *world) restock(key string, delta int64) error {
	ctx, cancel := w.brief()
	defer cancel()
	_, _, err := w.alive().vouchers.AddStock(ctx, admin, w.voucher, delta, key)
	return err
}

func (w *world) pause(t *rapid.T, paused bool) {
	ctx, cancel := w.brief()
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
	ctx, cancel := w.brief()
	defer cancel()
	if _, _, err := w.alive().vouchers.Change(ctx, admin, w.voucher, voucher.Change{OnShelf: &on}); err != nil {
		w.expected(t, err)
	}
}

// closeOverdue lets an order's payment deadline pass, and closes what is overdue.
func (w *world) closeOverdue(id int64) {
	_, err := w.db.ExecContext(w.ctx, "UPDATE tb_voucher_order SET pay_deadline = '2020-01-01' WHERE id = ?", id)
	w.must(w.rt, err)
	w.token++
	p := w.alive()
	orders, err := p.ledger.CloseDue(w.ctx, w.token, 10)
	if err == nil && len(orders) > 0 {
		p.outbox.Notify(w.voucher)
	}
}

// record lets the recorder work until the stream is empty.
func (w *world) record() {
	p := w.alive()
	p.run(w.ctx, p.newJob().Run, time.Second, func() bool { return w.waiting() == 0 })
}

// work lets the other jobs do what there is to do.
func (w *world) work() {
	ctx, cancel := w.brief()
	defer cancel()
	p := w.alive()
	_ = p.keeper.Open(ctx, w.voucher)   // looks, and rebuilds if it has to
	_ = p.outbox.Follow(ctx, w.voucher) // what fails is pending still
	p.run(w.ctx, p.cashier.Run, 2*time.Second, func() bool { return w.unsettledMoney() == 0 })
}

// rebuild has the sale rebuilt though nothing is wrong with it.
func (w *world) rebuild() {
	p := w.alive()
	var epoch int64
	w.must(w.rt, w.db.QueryRowContext(w.ctx, "SELECT epoch FROM tb_seckill_voucher WHERE voucher_id = ?", w.voucher).Scan(&epoch))
	p.complaints.Mend(w.voucher, epoch)
	ctx, cancel := w.brief()
	defer cancel()
	_ = p.keeper.Open(ctx, w.voucher) // what fails stands still until the next one
}

// rest lets everything come to its end, with nothing in the way.
func (w *world) rest() {
	w.alive().fate.forgive()
	for end := time.Now().Add(patience); ; {
		w.record()
		w.work()
		if w.waiting() == 0 && w.unsettledMoney() == 0 && w.isOpen() && w.pending() == 0 {
			return
		}
		if time.Now().After(end) {
			mode, err := w.rdb.HGetAll(w.ctx, w.saleKey()).Result()
			w.rt.Fatalf("no rest: %d entries wait, %d payments are unsettled, the sale is %v (%v), %d operations are pending; Redis cannot follow: %v",
				w.waiting(), w.unsettledMoney(), mode, err, w.pending(), w.alive().outbox.Follow(w.ctx, w.voucher))
		}
	}
}

func (w *world) waiting() int64 {
	n, err := w.rdb.XLen(w.ctx, w.prefix+"{p0}:orders").Result()
	w.must(w.rt, err)
	return n
}

func (w *world) unsettledMoney() int64 {
	return w.count("SELECT COUNT(*) FROM tb_payment WHERE state IN (3, 4) AND voucher_id = ?", w.voucher)
}

func (w *world) pending() int64 {
	return w.count("SELECT COUNT(*) FROM tb_voucher_operation WHERE state = 1 AND voucher_id = ?", w.voucher)
}

func (w *world) count(query string, args ...any) (n int64) {
	w.must(w.rt, w.db.QueryRowContext(w.ctx, query, args...).Scan(&n))
	return n
}

func (w *world) isOpen() bool {
	mode, err := w.rdb.HGet(w.ctx, w.saleKey(), "mode").Result()
	return err == nil && mode != "rebuild"
}

func (w *world) saleKey() string   { return fmt.Sprintf("%s{p0}:sale:%d", w.prefix, w.voucher) }
func (w *world) buyersKey() string { return fmt.Sprintf("%s{p0}:buyers:%d", w.prefix, w.voucher) }

// redeliver appends an order's entry to the stream once more.
func (w *world) redeliver(id, user int64) {
	w.must(w.rt, w.rdb.XAdd(w.ctx, &redis.XAddArgs{
		Stream: w.prefix + "{p0}:orders",
		Values: []any{"v", w.voucher, "u", user, "o", id, "e", 1, "s", 1},
	}).Err())
}

// sentBack is how often each of this world's payments was sent back.
func (w *world) sentBack() map[string]int {
	w.stores.bank.mu.Lock()
	defer w.stores.bank.mu.Unlock()
	ours := map[string]int{}
	for id, n := range w.stores.bank.returned {
		if w.maybeNoticed[id] {
			ours[id] = n
		}
	}
	return ours
}

// view reads both stores.
func (w *world) view(t *rapid.T) view {
	v := view{places: map[int64]int64{}, waiting: w.waiting()}
	w.must(t, w.db.QueryRowContext(w.ctx, "SELECT stock, issued, last_operation FROM tb_seckill_voucher WHERE voucher_id = ?", w.voucher).
		Scan(&v.sale.stock, &v.sale.issued, &v.sale.last))
	v.open = w.pending()
	w.each(t, func(rows *sql.Rows) error {
		var o orderRow
		err := rows.Scan(&o.id, &o.user, &o.status, &o.last)
		v.orders = append(v.orders, o)
		return err
	}, `SELECT id, user_id, status,
		COALESCE((SELECT e.status FROM tb_order_event e WHERE e.order_id = o.id ORDER BY e.id DESC LIMIT 1), status)
		FROM tb_voucher_order o WHERE voucher_id = ?`)
	w.each(t, func(rows *sql.Rows) error {
		var p payRow
		err := rows.Scan(&p.id, &p.order, &p.state)
		v.pays = append(v.pays, p)
		return err
	}, "SELECT id, order_id, state FROM tb_payment WHERE voucher_id = ?")
	sale, err := w.rdb.HGetAll(w.ctx, w.saleKey()).Result()
	w.must(t, err)
	v.stock, v.applied = number(sale["stock"])+number(sale["returned"]), number(sale["op"])
	places, err := w.rdb.HGetAll(w.ctx, w.buyersKey()).Result()
	w.must(t, err)
	for user, id := range places {
		v.places[number(user)] = number(id)
	}
	return v
}

// balance is what an auditor finds now.
func (w *world) balance(t *rapid.T) order.Balance {
	auditor := order.NewAuditor(order.AuditorStores{Vouchers: w.stores.sql, Accounts: w.stores.sql, Redis: w.stores.redis},
		w.process.complaints, telemetry.NewMetrics(telemetry.Build{}), w.stores.log)
	b, err := auditor.Balance(w.ctx, w.voucher)
	w.must(t, err)
	return b
}

// each reads the rows of a query about the world's voucher.
func (w *world) each(t *rapid.T, read func(*sql.Rows) error, query string) {
	rows, err := w.db.QueryContext(w.ctx, query, w.voucher)
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

// expected fails for an error that nothing which befell a call explains.
func (w *world) expected(t *rapid.T, err error, also ...error) {
	for _, e := range append(also, errHarmed, errDead, order.ErrUnavailable, order.ErrUnknownOutcome, voucher.ErrUndecided, context.DeadlineExceeded) {
		if errors.Is(err, e) {
			return
		}
	}
	sale, errSale := w.rdb.HGetAll(w.ctx, w.saleKey()).Result()
	t.Fatalf("unexpected: %v; the sale is %v (%v)", err, sale, errSale)
}

// expectedOrState is expected for what an order's state may forbid.
func (w *world) expectedOrState(t *rapid.T, err error) {
	if _, is := errors.AsType[*order.StateError](err); !is {
		w.expected(t, err, order.ErrNotFound) // a queued one is not found while Redis is rebuilt
	}
}

// expectedOrStock is expected for what a sale's stock may forbid.
func (w *world) expectedOrStock(t *rapid.T, err error) {
	if _, is := errors.AsType[*voucher.InsufficientStockError](err); !is {
		w.expected(t, err)
	}
}
