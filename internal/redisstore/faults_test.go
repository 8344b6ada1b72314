package redisstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/testkit"
)

// refused checks that a batch certainly had no effect and that its error says so.
func (r *rig) refused(before order.SaleView) {
	r.t.Helper()
	_, err := r.Admit(r.ctx(), gate.Batch{Sale: r.sale, Requests: requests(500, 3), MaxBacklog: 1000})
	if !errors.Is(err, order.ErrUnavailable) {
		r.t.Errorf("Admit: %v, want one that wraps ErrUnavailable", err)
	}
	after := r.view()
	before.Now, after.Now = time.Time{}, time.Time{}
	equal(r.t, before, after)
	equal(r.t, int(before.Buyers), len(r.holders()))
	equal(r.t, int(before.Mark.Sequence), len(r.stream()))
}

// TestRefusedWrites: a Redis that takes no writes leaves nothing half done, and its refusals are known as such.
func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fail, heal []any }{
		"out of memory": {[]any{"config", "set", "maxmemory", "1"}, []any{"config", "set", "maxmemory", "0"}},
		"read-only":     {[]any{"replicaof", "127.0.0.1", "1"}, []any{"replicaof", "no", "one"}},
		"no replicas": {
			[]any{"config", "set", "min-replicas-to-write", "1"}, []any{"config", "set", "min-replicas-to-write", "0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newServerRig(t, testkit.StartRedis(t))
			r.open(1, r.hour(50))
			r.admit(requests(1, 2)...)
			before := r.view()
			broken := order.SaleRef{VoucherID: 8}
			r.must(r.commands.Set(r.ctx(), r.keys.buyers(broken), "not a hash", 0).Err())
			r.must(r.commands.Do(r.ctx(), c.fail...).Err())

			r.refused(before)
			// A holder still gets their order id, and a caller that knows a higher mark still finds that the sale has
			// lost its tail.
			equal(t, []string{"0"}, codes(r.admit(requests(1, 1)...).Results))
			equal(t, []string{"3"},
				codes(r.admitBatch(gate.Batch{Known: order.Mark{Epoch: 9}, Requests: requests(1, 1)}).Results))
			steps := map[string]error{
				"begin": r.Begin(r.ctx(), r.sale, 2), "asking whether it would begin": r.Begin(r.ctx(), r.sale, 0),
			}
			if name != "out of memory" { // when out of memory, it may
				steps["correct"] = second(r.Correct(r.ctx(), []order.Correction{
					{Sale: r.sale, UserID: 1, OrderID: 1001, New: order.Held{OrderID: 5}, GiveBack: true},
					// A correction that a retry cannot help is reported after the others are done.
					{Sale: broken, UserID: 1, OrderID: 1001},
				}))
			}
			for step, err := range steps {
				if !errors.Is(err, order.ErrUnavailable) || errors.Is(err, order.ErrRejected) {
					t.Errorf("%s: %v", step, err)
				}
			}
			r.refused(before)

			r.must(r.commands.Do(r.ctx(), c.heal...).Err())
			equal(t, []string{"0"}, codes(r.admit(requests(9, 1)...).Results))
		})
	}
}

// TestOutOfMemoryDrains: acknowledging, dead letters and corrections need no memory, so a full Redis can drain.
func TestOutOfMemoryDrains(t *testing.T) {
	t.Parallel()
	r := newServerRig(t, testkit.StartRedis(t))
	r.queued(2)
	r.must(r.commands.XAdd(r.ctx(), addArgs(r, "x", "y")).Err())
	c := r.Consumer(0, "a")
	entries := r.next(c, 5)
	r.must(r.commands.ConfigSet(r.ctx(), "maxmemory", "1").Err())
	equal(t, 2, r.acknowledge(c, entries[0].Key, entries[1].Key))
	r.must(c.MoveToDeadLetters(r.ctx(), entries[2]))
	equal(t, []bool{true, true}, r.correct(
		order.Correction{UserID: 1, OrderID: 1001, New: order.Held{OrderID: 5001}},
		order.Correction{UserID: 2, OrderID: 1002, GiveBack: true}))
	equal(t, map[int64]int64{1: 5001}, r.holders())
	b, err := r.Backlog(r.ctx(), 0)
	r.must(err)
	equal(t, Backlog{Dead: 1}, b)
}

// TestReplyLost: the script ran, but its answer did not arrive. The outcome is unknown, not refused; the identical
// batch finds out (F03).
func TestReplyLost(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t)
	proxy := testkit.NewProxy(t, server.Addr)
	r := rigOn(t, newClients(t, rediskit.Config{Topology: rediskit.Single, Addrs: []string{proxy.Addr}}), "")
	r.open(1, r.hour(5))
	r.admit(requests(1, 1)...)
	batch := gate.Batch{Sale: r.sale, Requests: requests(2, 2), MaxBacklog: 100}

	proxy.DropRepliesTo("evalsha", 1)
	if _, err := r.Admit(r.ctx(), batch); err == nil || errors.Is(err, order.ErrUnavailable) {
		t.Fatalf("the answer was lost: %v", err)
	}
	equal(t, 1, proxy.Lost())
	equal(t, 3, len(r.stream()))
	equal(t, []string{"0", "0"}, codes(r.admitBatch(batch).Results))
	equal(t, 3, len(r.stream()))

	c := r.Consumer(0, "a")
	proxy.DropRepliesTo("xreadgroup", 1)
	r.must(r.Take(r.ctx(), 0))
	if _, err := c.Next(r.ctx(), 2, 0); err == nil {
		t.Fatal("a read whose answer was lost returns no error")
	}
	equal(t, []int64{1, 2}, users(r.own(c, "", 5))) // nothing is lost: it was delivered
	r.own(c, "", 5)
	key := r.own(c, "", 5)[0].Key
	r.acknowledge(c, key) // so that Redis has the script
	key = r.own(c, "", 5)[0].Key
	proxy.DropRepliesTo("evalsha", 1)
	if _, err := c.Acknowledge(r.ctx(), []string{key}); err == nil || errors.Is(err, order.ErrUnavailable) {
		t.Fatalf("the answer was lost: %v", err)
	}
	equal(t, 0, r.acknowledge(c, key))
	equal(t, []int64{3}, users(r.next(c, 5)))
}

// TestSlowRedis: if a deadline passes while Redis is silent, the outcome is unknown; if it has passed before, nothing
// is sent.
func TestSlowRedis(t *testing.T) {
	t.Parallel()
	proxy := testkit.NewProxy(t, testkit.StartRedis(t).Addr)
	r := rigOn(t, newClients(t,
		rediskit.Config{Topology: rediskit.Single, Addrs: []string{proxy.Addr}, Timeout: time.Minute}), "")
	r.open(1, r.hour(5))
	batch := gate.Batch{Sale: r.sale, Requests: requests(1, 1), MaxBacklog: 100}
	r.admitBatch(gate.Batch{Requests: requests(2, 1)})

	proxy.Blackhole()
	ctx, cancel := context.WithTimeout(r.ctx(), time.Second) // enough for a busy machine to send the call
	defer cancel()
	start := time.Now()
	if _, err := r.Admit(ctx, batch); err == nil || errors.Is(err, order.ErrUnavailable) {
		t.Errorf("after a deadline that passed during the call: %v", err)
	}
	if took := time.Since(start); took > 30*time.Second { // the client's own timeout is a minute
		t.Errorf("a deadline of a second took %v", took)
	}
	<-ctx.Done() // the socket's deadline is a little earlier
	if _, err := r.Admit(ctx, batch); !errors.Is(err, order.ErrUnavailable) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after a deadline that had passed before: %v", err)
	}
	proxy.Heal()
}

// TestRedisAway: where no server listens, Redis is unavailable at once; once it is back, the clients reach it again.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	r := rigOn(t, newClients(t,
		rediskit.Config{Topology: rediskit.Single, Addrs: []string{server.Addr}, Timeout: time.Minute}), "")
	r.open(1, r.hour(5))
	r.admit(requests(1, 1)...)
	c := r.Consumer(0, "a")
	r.next(c, 1)
	server.Kill()
	// An old connection may fail in a way that proves nothing; a new one cannot be made.
	batch := gate.Batch{Sale: r.sale, Requests: requests(2, 1), MaxBacklog: 100}
	var err error
	for range 40 {
		if _, err = r.Admit(r.ctx(), batch); errors.Is(err, order.ErrUnavailable) {
			break
		}
	}
	start := time.Now()
	for name, err := range map[string]error{
		"admit":     err,
		"heartbeat": c.Heartbeat(r.ctx()),
		"next":      second(c.Next(r.ctx(), 1, time.Second)),
		"views":     second(r.Views(r.ctx(), []order.SaleRef{r.sale})),
		"held":      second(r.OrdersOf(r.ctx(), r.sale, []int64{1})),
		"ping":      r.Ping(r.ctx()),
	} {
		if !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if took := time.Since(start); took > 30*time.Second { // no call waited for its timeout
		t.Errorf("finding out took %v", took)
	}
	server.Start()
	testkit.Eventually(t, func() bool { return r.Ping(r.ctx()) == nil })
	// This is another run of the server, which may have lost something.
	equal(t, []string{"3", "3"}, codes(r.admit(requests(1, 2)...).Results))
	r.open(2, r.hour(5))
	equal(t, []string{"0", "0"}, codes(r.admit(requests(1, 2)...).Results))
	equal(t, []int64{1}, users(r.own(c, "", 5)))
}

func second[T any](_ T, err error) error { return err }

// TestClusterSendsOnce: the cluster client normally repeats commands after network errors; scripts and reads of new
// entries are sent once.
func TestClusterSendsOnce(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedisCluster(t)
	breaking := &breaker{}
	options := rediskit.Config{Topology: rediskit.Cluster, Addrs: []string{server.Addr}, Timeout: time.Second}.Options()
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return &breaksAfterWrite{Conn: conn, breaker: breaking}, err
	}
	client := redis.NewUniversalClient(options)
	defer func() { _ = client.Close() }()
	r := rigOn(t, &rediskit.Clients{Commands: client, Blocking: client}, "")
	r.open(1, r.hour(5))
	r.admit(requests(1, 1)...)

	r.must(r.Take(r.ctx(), 0))
	breaking.verb.Store("evalsha")
	_, err := r.Admit(r.ctx(), gate.Batch{Sale: r.sale, Requests: requests(2, 1), MaxBacklog: 100})
	if err == nil || errors.Is(err, order.ErrUnavailable) {
		t.Errorf("the answer was lost: %v", err)
	}
	equal(t, int64(1), breaking.sent.Load())
	testkit.Eventually(t, func() bool { return len(r.stream()) == 2 })

	c := r.Consumer(0, "a")
	breaking.verb.Store("xreadgroup")
	if entries, err := c.Next(r.ctx(), 1, 0); err == nil {
		t.Errorf("the answer was lost, and the next read returned %v", users(entries))
	}
	equal(t, int64(2), breaking.sent.Load())
	breaking.verb.Store("")
	testkit.Eventually(t, func() bool { return len(r.own(c, "", 5)) == 1 })
}

// breaker names the command that breaks its connection.
type breaker struct {
	verb atomic.Value // string; "" for none
	sent atomic.Int64 // how many commands did so
}

// breaksAfterWrite is a connection that ends once it has sent a command that the breaker names.
type breaksAfterWrite struct {
	net.Conn
	*breaker
}

func (c *breaksAfterWrite) Write(p []byte) (int, error) {
	verb, _ := c.verb.Load().(string)
	if verb == "" || !bytes.Contains(p, []byte(verb)) {
		return c.Conn.Write(p)
	}
	c.sent.Add(1)
	n, err := c.Conn.Write(p)
	return n, errors.Join(err, c.Close())
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	reply := func(text string) error { return fmt.Errorf("wrapped: %w", replyError(text)) }
	const nothing, unavailable, rejected = "", "unavailable", "rejected"
	for _, c := range []struct {
		err  error
		want string
	}{
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, unavailable},
		{fmt.Errorf("sentinels: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}), unavailable},
		{redis.ErrPoolTimeout, unavailable},
		{redis.ErrClosed, unavailable},
		{
			reply("OOM command not allowed when used memory > 'maxmemory'. script: abc, on @user_script:12."),
			unavailable,
		},
		{reply("ERR Error running script (call to f_abc): @user_script:12: -OOM command not allowed"), unavailable},
		{reply("LOADING Redis is loading the dataset in memory"), unavailable},
		{reply("READONLY You can't write against a read only replica."), unavailable},
		{reply("MISCONF Errors writing to the AOF file: No space left on device"), unavailable},
		{reply("NOREPLICAS Not enough good replicas to write."), unavailable},
		{reply("CLUSTERDOWN The cluster is down"), unavailable},
		{reply("MASTERDOWN Link with MASTER is down"), unavailable},
		{reply("TRYAGAIN Multiple keys request during rehashing of slot"), unavailable},
		{reply("BUSY Redis is busy running a script."), unavailable},
		{reply("NOAUTH Authentication required."), unavailable},
		{reply("WRONGPASS invalid username-password pair or user is disabled."), unavailable},
		{reply("ERR max number of clients reached"), unavailable},

		{&net.OpError{Op: "read", Err: errors.New("i/o timeout")}, nothing},
		{&net.OpError{Op: "write", Err: errors.New("broken pipe")}, nothing},
		{io.EOF, nothing},
		{context.DeadlineExceeded, nothing},
		{reply("ERR user_script:3: attempt to index a nil value script: abc"), rejected},
		{reply("WRONGTYPE Operation against a key holding the wrong kind of value"), rejected},
		{
			reply("ERR Error running script (call to f_abc): @user_script:3: user_script:3: attempt to index " +
				"a nil value"), rejected,
		},
		{reply("CROSSSLOT Keys in request don't hash to the same slot"), rejected},
		{reply("ERR Script killed by user with SCRIPT KILL."), nothing},
		{redis.Nil, nothing},
		{reply("NOPERM ACL failure in script"), nothing}, // may come after the script's first write
		{reply("OOMPH"), rejected},
	} {
		got := rediskit.Translate(c.err)
		if !errors.Is(got, c.err) {
			t.Errorf("%v: the cause is lost", c.err)
		}
		if errors.Is(got, order.ErrUnavailable) != (c.want == unavailable) ||
			rediskit.Rejects(got) != (c.want == rejected) {
			t.Errorf("%v: %v, rejected %v, want it %q", c.err, got, rediskit.Rejects(got), c.want)
		}
	}
	if rediskit.Translate(nil) != nil {
		t.Error("nil is an error")
	}
}

// replyError is an error reply of Redis.
type replyError string

func (e replyError) Error() string { return string(e) }
func (replyError) RedisError()     {}
