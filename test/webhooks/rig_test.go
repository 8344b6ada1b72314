package webhooks

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/internal/feature/webhook"
	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/feature/webhook/sender"
	"seckill/internal/order"
	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/testkit"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
	"seckill/test/webhooks/receiver"
)

type webhooks = webhook.Ledger

// rig is a ledger with a shop, and instances that deliver its events.
type rig struct {
	ledgertest.Whole
	*webhooks

	tb      testing.TB
	raw     *sql.DB      // of MySQL; else nil
	ahead   atomic.Int64 // nanoseconds by which the clock is ahead
	leases  leases
	voucher int64
	orders  int64
	events  int // number of events written
	seen    seen
}

// seen counts what the instances observe.
type seen struct{ sent, failed, dead, disabled atomic.Int64 }

func (s *seen) EventSent(ok bool, _ time.Duration) {
	if ok {
		s.sent.Add(1)
	} else {
		s.failed.Add(1)
	}
}
func (s *seen) EventsGivenUp(n int) { s.dead.Add(int64(n)) }
func (s *seen) EndpointDisabled()   { s.disabled.Add(1) }

// each runs the test on MariaDB and on SQLite.
func each(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		test(t, newMySQLRig(t))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newSQLiteRig(t))
	})
}

func newMySQLRig(tb testing.TB) *rig {
	tb.Helper()
	r := &rig{tb: tb}
	dsn := testkit.MySQL(tb)
	raw, err := sql.Open("mysql", dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = raw.Close() }) // no statement is left
	r.raw = raw
	store, err := sqlstore.OpenMySQL(tb.Context(), dsn, r.options())
	return r.open(store, err)
}

// newSQLiteRig returns a rig whose clock a test can set ahead.
func newSQLiteRig(tb testing.TB) *rig {
	tb.Helper()
	r := &rig{tb: tb}
	store, err := sqlstore.OpenSQLite(tb.Context(), filepath.Join(tb.TempDir(), "ledger.db"), r.options())
	return r.open(store, err)
}

func (r *rig) options() sqlkit.Options {
	return sqlkit.Options{Now: r.now, Log: slog.New(slog.DiscardHandler), MaxConns: 16, Timeout: 10 * time.Second}
}

func (r *rig) now() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }

// leaps sets the clock ahead by d while nobody holds a lease. A leap during a turn would end its lease before the
// results are stored, and a test that leaps faster than the ledger writes would never end.
func (r *rig) leaps(d time.Duration) {
	r.tb.Helper()
	r.leases.claims.Lock()
	defer r.leases.claims.Unlock()
	for deadline := time.Now().Add(5 * soon); !r.leases.free(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.tb.Fatalf("somebody holds an endpoint for %v", 5*soon)
		}
	}
	r.ahead.Add(int64(d))
}

// leases knows which endpoints the rig's instances hold.
type leases struct {
	claims sync.RWMutex // locked for reading while a lease is being claimed

	mu   sync.Mutex
	held map[int64]held
}

// held is the holder of an endpoint, and until when it holds it without a renewal or release: on a busy machine a
// deliverer may give up before it has asked for either.
type held struct {
	owner string
	until time.Time
}

func (l *leases) hold(owner string, endpointID int64, lease time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(map[int64]held)
	}
	l.held[endpointID] = held{owner, time.Now().Add(lease)}
}

func (l *leases) release(owner string, endpointID int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[endpointID].owner == owner {
		delete(l.held, endpointID)
	}
}

// free reports whether nobody holds an endpoint.
func (l *leases) free() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.held {
		if time.Now().Before(h.until) {
			return false
		}
	}
	return true
}

// leased is a queue that tells the rig about its leases.
type leased struct {
	dispatch.Queue

	leases *leases
}

func (q leased) ClaimEndpoint(
	ctx context.Context, owner string, busy []int64, lease time.Duration,
) (int64, bool, error) {
	if !q.leases.claims.TryRLock() {
		return 0, false, nil // the clock is about to leap: the deliverer will try again
	}
	defer q.leases.claims.RUnlock()
	id, ok, err := q.Queue.ClaimEndpoint(ctx, owner, busy, lease)
	if ok && err == nil {
		q.leases.hold(owner, id, lease)
	}
	return id, ok, err
}

func (q leased) EventsToSend(
	ctx context.Context, owner string, endpointID int64, lease time.Duration, n int,
) (dispatch.Work, error) {
	w, err := q.Queue.EventsToSend(ctx, owner, endpointID, lease, n)
	if err == nil {
		q.leases.hold(owner, endpointID, lease)
	}
	return w, err
}

func (q leased) ReleaseEndpoint(ctx context.Context, owner string, endpointID int64) error {
	defer q.leases.release(owner, endpointID)
	return q.Queue.ReleaseEndpoint(ctx, owner, endpointID)
}

func (r *rig) open(store *sqlstore.Store, err error) *rig {
	r.tb.Helper()
	if err != nil {
		r.tb.Fatal(err)
	}
	r.Whole, r.webhooks = ledgertest.WholeOf(store), webhook.NewLedger(store.DB(), store.Features)
	store.Use(r.Hook())
	r.tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			r.tb.Errorf("close: %v", err)
		}
	})
	if _, err := store.Schema().Migrate(r.tb.Context()); err != nil {
		r.tb.Fatal(err)
	}
	v := voucher.Voucher{
		ShopID: 1, Title: "100 for 10", PayValue: 1000, ActualValue: 10000, Kind: voucher.Seckill,
		Status: voucher.OnShelf, PayWithin: voucher.DefaultPayWithin,
		Sale: &voucher.Sale{
			Stock: 1_000_000, Issued: 1_000_000, Begin: time.Now().Add(-time.Hour), End: time.Now().Add(time.Hour),
		},
	}
	if err := r.CreateVoucher(r.tb.Context(), &v, voucher.Author{AdminID: 1}); err != nil {
		r.tb.Fatal(err)
	}
	if _, err := r.RaiseEpoch(r.tb.Context(), v.ID, 0, order.SaleView{}); err != nil {
		r.tb.Fatal(err)
	}
	r.voucher = v.ID
	return r
}

// endpoint creates an endpoint of the shop that leads to the receiver.
func (r *rig) endpoint(to *receiver.Receiver, types ...dispatch.Type) dispatch.Endpoint {
	r.tb.Helper()
	e, err := r.CreateEndpoint(r.tb.Context(), dispatch.Terms{ShopID: 1, URL: to.URL(), Types: types},
		dispatch.NewSecret(), voucher.Author{AdminID: 1})
	if err != nil {
		r.tb.Fatal(err)
	}
	to.Expect(e.Secret)
	return e
}

// sells records n orders, each with one event.
func (r *rig) sells(n int) []order.Claim {
	r.tb.Helper()
	cs := make([]order.Claim, n)
	for i := range cs {
		r.orders++
		cs[i] = order.Claim{
			OrderID: 1<<40 + r.orders, UserID: r.orders, VoucherID: r.voucher, Epoch: 1, Sequence: r.orders,
		}
	}
	for len(cs) > 0 {
		part := cs[:min(500, len(cs))]
		if err := r.Insert(r.tb.Context(), part); err != nil {
			r.tb.Fatal(err)
		}
		r.events += len(part)
		if len(cs) == len(part) {
			return part
		}
		cs = cs[len(part):]
	}
	return nil
}

// cancels ends orders by cancelling them, each with one event.
func (r *rig) cancels(cs []order.Claim) {
	r.tb.Helper()
	for _, c := range cs {
		if _, err := r.Transition(r.tb.Context(), c.OrderID, 0, order.Cancel, order.Owner); err != nil {
			r.tb.Fatal(err)
		}
		r.events++
	}
}

// instance runs an instance's jobs until stop is called; stop returns once they have ended.
func (r *rig) instance(name string) (stop func()) {
	r.tb.Helper()
	log := slog.New(slog.DiscardHandler)
	out := sender.New(sender.Options{
		Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, UserAgent: "seckill",
	})
	deliverer := dispatch.NewDeliverer(leased{r.webhooks, &r.leases}, out.Send,
		dispatch.DelivererOptions{Owner: name, Lanes: 16, Now: time.Now}, &r.seen, log)
	sequence := func(ctx context.Context) error { return r.Sequence(ctx, deliverer.Wake, log) }
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.tb.Context()))
	var jobs errgroup.Group
	for _, run := range []func(context.Context) error{deliverer.Run, sequence} {
		jobs.Go(func() error { return run(ctx) })
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := jobs.Wait(); err != nil {
			r.tb.Error(err)
		}
		out.Close()
	}
	r.tb.Cleanup(stop)
	return stop
}

// states returns how many of the endpoint's events are in each state.
func (r *rig) states(e dispatch.Endpoint) map[dispatch.State]int {
	r.tb.Helper()
	states := make(map[dispatch.State]int)
	before := int64(1 << 60)
	for {
		ds, next, err := r.Deliveries(r.tb.Context(), e.ID, before, 500)
		if err != nil {
			r.tb.Fatal(err)
		}
		for _, d := range ds {
			states[d.State]++
		}
		if next == 0 {
			return states
		}
		before = next
	}
}

// finished waits until all events are delivered or dead.
func (r *rig) finished(e dispatch.Endpoint) map[dispatch.State]int {
	r.tb.Helper()
	for deadline := time.Now().Add(soon); ; time.Sleep(50 * time.Millisecond) { // the ledger offers no signal
		states := r.states(e)
		if states[dispatch.Waiting]+states[dispatch.Retrying] == 0 || time.Now().After(deadline) {
			return states
		}
	}
}

func name(i int) string { return fmt.Sprintf("instance-%d", i) }

var by = voucher.Author{AdminID: 1, Request: "test"}
