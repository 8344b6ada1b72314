package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/testkit"
)

// rig is one store on one server, with the helpers of its tests.
type rig struct {
	*Store
	t    testing.TB
	sale order.SaleRef
	// mini is the in-process server; nil on other servers.
	mini *miniredis.Miniredis
}

// testDelay is the rigs' order.ReturnDelay.
const testDelay = 60 * time.Millisecond

// testWord is the word of the rigs' ledger.
const testWord = "1/ledger"

// behaviour is tests by name; each must pass on every kind of server.
type behaviour map[string]func(*testing.T, *rig)

// TestOnEveryServer runs the tests of behaviour on a real server, on a real cluster, and on the in-process server of
// the embedded mode.
func TestOnEveryServer(t *testing.T) {
	t.Parallel()
	cluster := testkit.StartRedisCluster(t)
	servers := map[string]func(*testing.T) *rig{
		"redis":     func(t *testing.T) *rig { return newRig(t) },
		"cluster":   func(t *testing.T) *rig { return newClusterRig(t, cluster) },
		"miniredis": newMiniRig,
	}
	for server, open := range servers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			for _, tests := range []behaviour{
				formatTests, gateTests, holdersTests, operationsTests, salesTests, statsTests, rebuildTests,
				reportsTests, consumerTests, deadLetterTests, inventoryTests, nonsenseTests,
			} {
				for name, test := range tests {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						r := open(t)
						r.carry(testWord) // several tests write by hand before any script does
						test(t, r)
					})
				}
			}
		})
	}
}

// newRig returns a rig on the shared real server.
func newRig(t testing.TB) *rig {
	t.Helper()
	client, prefix := testkit.Redis(t)
	return rigOn(t, &rediskit.Clients{Commands: client, Blocking: client}, prefix)
}

func newClusterRig(t testing.TB, server *testkit.RedisServer) *rig {
	t.Helper()
	clients := patientClients(t, rediskit.Config{Topology: rediskit.Cluster, Addrs: []string{server.Addr}})
	return rigOn(t, clients, strconv.FormatInt(time.Now().UnixNano(), 36)+":")
}

func newMiniRig(t *testing.T) *rig {
	t.Helper()
	mini := miniredis.RunT(t)
	r := rigOn(t, patientClients(t, rediskit.Config{Topology: rediskit.Single, Addrs: []string{mini.Addr()}}), "")
	r.mini = mini
	return r
}

// newServerRig returns a rig on a server of the test's own.
func newServerRig(t testing.TB, server *testkit.RedisServer) *rig {
	t.Helper()
	return rigOn(t, newClients(t, rediskit.Config{Topology: rediskit.Single, Addrs: []string{server.Addr}}), "")
}

// newClients returns clients, with limits for a test unless c has its own.
func newClients(t testing.TB, c rediskit.Config) *rediskit.Clients {
	t.Helper()
	clients, err := rediskit.NewClients(limited(c))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := clients.Close(); err != nil {
			t.Error(err)
		}
	})
	return clients
}

// patientClients returns one client for everything, as newRig has: on a busy machine connecting may take longer than
// maxConnect, which these tests are not about.
func patientClients(t testing.TB, c rediskit.Config) *rediskit.Clients {
	t.Helper()
	o := limited(c).Options()
	o.PoolSize, o.DialTimeout, o.PoolTimeout = 64, o.ReadTimeout, o.ReadTimeout
	client := rediskit.NewClient(o)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return &rediskit.Clients{Commands: client, Blocking: client}
}

// limited returns c with limits, unless it has its own. A busy machine may take seconds to answer a call.
func limited(c rediskit.Config) rediskit.Config {
	c.PoolSize, c.Readers, c.Timeout = cmp.Or(c.PoolSize, 64), cmp.Or(c.Readers, 16), cmp.Or(c.Timeout, 10*time.Second)
	return c
}

func rigOn(t testing.TB, clients *rediskit.Clients, prefix string) *rig {
	t.Helper()
	store, err := New(clients, Options{Word: testWord, Prefix: prefix, OrphanAfter: 50 * time.Millisecond},
		slog.New(slog.NewTextHandler(testWriter{t}, nil)))
	if err != nil {
		t.Fatal(err)
	}
	store.returnDelay = testDelay
	return &rig{Store: store, t: t, sale: order.SaleRef{VoucherID: 7}}
}

// testWriter logs into the test.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Helper()
	w.t.Logf("%s", p)
	return len(p), nil
}

// carry writes the word into partition 0.
func (r *rig) carry(word string) {
	r.t.Helper()
	r.must(r.commands.Set(r.ctx(), r.keys.format(0), word, 0).Err())
}

// hour returns a sale whose window is open now, for an hour.
func (r *rig) hour(stock int64) order.Opening {
	now := r.now()
	return order.Opening{Stock: stock, Begin: now.Add(-time.Hour), End: now.Add(time.Hour), Mode: order.SaleOpen}
}

// open builds the sale at the epoch, and lets it sell at once.
func (r *rig) open(epoch int64, o order.Opening) {
	r.t.Helper()
	r.must(r.Begin(r.ctx(), r.sale, epoch))
	r.must(r.Publish(r.ctx(), r.sale, epoch, o))
	r.set(fieldResumes, 0)
}

// set changes fields of the sale's hash, bypassing the scripts.
func (r *rig) set(fields ...any) {
	r.t.Helper()
	r.must(r.commands.HSet(r.ctx(), r.keys.sale(r.sale), fields...).Err())
}

// field reads one field of the sale's hash.
func (r *rig) field(name string) string {
	r.t.Helper()
	value, err := r.commands.HGet(r.ctx(), r.keys.sale(r.sale), name).Result()
	r.must(err)
	return value
}

func (r *rig) now() time.Time {
	r.t.Helper()
	now, err := r.commands.Time(r.ctx()).Result()
	r.must(err)
	return now
}

// Admit sends one batch in a call of its own.
func (r *rig) Admit(ctx context.Context, b gate.Batch) (gate.BatchResult, error) {
	results, err := r.Store.Admit(ctx, []gate.Batch{b})
	if err != nil {
		return gate.BatchResult{}, err
	}
	return results[0], results[0].Err
}

// admit sends the requests, without a known mark and without a limit on the backlog.
func (r *rig) admit(requests ...gate.Request) gate.BatchResult {
	r.t.Helper()
	return r.admitBatch(gate.Batch{Requests: requests})
}

func (r *rig) admitBatch(b gate.Batch) gate.BatchResult {
	r.t.Helper()
	b.Sale = r.sale
	if b.MaxBacklog == 0 {
		b.MaxBacklog = 1 << 40
	}
	v, err := r.Admit(r.ctx(), b)
	r.must(err)
	return v
}

// view returns the sale's view.
func (r *rig) view() order.SaleView {
	r.t.Helper()
	views, err := r.Views(r.ctx(), []order.SaleRef{r.sale})
	r.must(err)
	return views[0]
}

// stream returns the partition's whole stream as claims.
func (r *rig) stream() []order.Claim {
	r.t.Helper()
	messages, err := r.commands.XRange(r.ctx(), r.keys.orders(r.sale.Partition), "-", "+").Result()
	r.must(err)
	var claims []order.Claim
	for _, m := range messages {
		for _, entry := range appendEntry(nil, 0, m) {
			r.must(entry.Malformed)
			claims = append(claims, entry.Claim)
		}
	}
	return claims
}

// holders returns the sale's holders.
func (r *rig) holders() map[int64]int64 {
	r.t.Helper()
	holders := map[int64]int64{}
	for c, err := range r.Holders(r.ctx(), r.sale) {
		r.must(err)
		holders[c.UserID] = c.OrderID
	}
	return holders
}

func (r *rig) ctx() context.Context { return context.Background() }

// patient returns the context of a caller who waits longer than order.AdmissionTimeout.
func (r *rig) patient() context.Context {
	ctx, cancel := context.WithTimeout(r.ctx(), time.Minute)
	r.t.Cleanup(cancel)
	return ctx
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// requests returns n requests, of users from the given one on, with order ids 1000 above.
func requests(from int64, n int) []gate.Request {
	as := make([]gate.Request, n)
	for i := range as {
		as[i] = gate.Request{UserID: from + int64(i), OrderID: from + int64(i) + 1000}
	}
	return as
}

// codes returns the outcomes' codes, with the order if there is one.
func codes(outcomes []gate.Result) []string {
	texts := make([]string, len(outcomes))
	for i, o := range outcomes {
		texts[i] = strconv.Itoa(int(o.Outcome))
		if o.OrderID != 0 {
			texts[i] += fmt.Sprintf(":%d", o.OrderID)
		}
	}
	return texts
}
