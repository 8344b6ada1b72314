package lock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/lock/group"
)

var edgeRows = []row{
	{
		number: 51, group: "Edges",
		says: "a silent publish/subscribe connection is replaced, and waiters wake within 5 s",
		run:  halfOpen,
	},
	{
		number: 52, group: "Edges", says: "the zero owner, a duplicate lock and a duplicate server are refused",
		run: ambiguousIsRefused,
	},
	{number: 53, group: "Edges", says: "a release succeeds on a full Redis", run: releaseWhenFull},
	{
		number: 54, group: "Edges",
		says: "a cancelled call returns within 100 ms while Redis is silent, and is cleaned up",
		run:  cancelWhileSilent,
	},
}

// deafness makes subscribed connections swallow what the server sends.
type deafness struct {
	mu     sync.Mutex
	conns  []*deafConn
	always atomic.Bool // new connections as well
}

type deafConn struct {
	net.Conn
	from           *deafness
	listens, deaf  atomic.Bool
	closedByClient atomic.Bool
}

func (c *deafConn) Write(b []byte) (int, error) {
	if bytes.Contains(bytes.ToLower(b), []byte("\r\nsubscribe\r\n")) {
		c.listens.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *deafConn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		swallowed := c.deaf.Load() || c.from.always.Load() && c.listens.Load()
		if err != nil || !swallowed {
			return n, err
		}
	}
}

func (c *deafConn) Close() error {
	c.closedByClient.Store(true)
	return c.Conn.Close()
}

// client returns a client whose connections can become deaf.
func (d *deafness) client(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := d.dialer(addr)
	t.Cleanup(func() { _ = c.Close() }) // no call is under way
	return c
}

// dialer is client for code outside of a test.
func (d *deafness) dialer(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		MaxRetries: -1, ContextTimeoutEnabled: true,
		Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			deaf := &deafConn{Conn: conn, from: d}
			d.mu.Lock()
			d.conns = append(d.conns, deaf)
			d.mu.Unlock()
			return deaf, nil
		},
	})
}

// begin makes the connections that are subscribed deaf, and returns them.
func (d *deafness) begin() (listening []*deafConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		if c.listens.Load() && !c.closedByClient.Load() {
			c.deaf.Store(true)
			listening = append(listening, c)
		}
	}
	return listening
}

func halfOpen(t *testing.T, s stage) {
	const most = 5 * time.Second
	for _, always := range []bool{false, true} { // with true, waiters must wake without messages
		for _, lease := range []time.Duration{most, 30 * time.Second, 300 * time.Second} {
			own := s
			own.prefix += lease.String() + ":"
			within(t, most+unaided, fmt.Sprintf("lease %v: a wait without connection", lease), func() time.Duration {
				took := own.wakesWhenDeaf(t, lease, always)
				t.Logf("%s, lease %v, new connections deaf %v: woke after %v", s.kind.name, lease, always, took)
				return took
			})
		}
	}
	connectionIsReplaced(t, s)
}

// wakesWhenDeaf returns how long after the release a waiter wakes whose connection is deaf; with always, so are new
// connections.
func (s stage) wakesWhenDeaf(t *testing.T, lease time.Duration, always bool) time.Duration {
	t.Helper()
	h := mustLock(t, s.rivals().lock(lock.WithRenewedLease(lease)))
	var d deafness
	waiting := s.lockAsync(t.Context(), t, s.through(d.client(t, redisAddr(s.client))))
	eventually(t, "subscribed", func() bool { return len(s.channels(t)) == 1 })
	deaf := d.begin()
	d.always.Store(always)
	if len(deaf) != 1 {
		t.Fatalf("%d connections listen, want 1", len(deaf))
	}
	released := time.Now()
	mustRelease(t, h)
	got := mustReceive(t, waiting)
	mustRelease(t, got.hold)
	return got.at.Sub(released)
}

// connectionIsReplaced fails unless a deaf connection is dropped while a waiter goes on waiting.
func connectionIsReplaced(t *testing.T, s stage) {
	t.Helper()
	s.prefix += "other:"
	h := mustLock(t, s.rivals().lock())
	var d deafness
	waiting := s.lockAsync(t.Context(), t, s.through(d.client(t, redisAddr(s.client))))
	deaf := d.begin()
	eventually(t, "dropped", func() bool { return deaf[0].closedByClient.Load() })
	eventually(t, "subscribed again", func() bool { return len(s.channels(t)) == 1 })
	mustRelease(t, h)
	mustRelease(t, mustReceive(t, waiting).hold)
}

// redisAddr returns the address of a client's server.
func redisAddr(c redis.UniversalClient) string { return c.(*redis.Client).Options().Addr }

func ambiguousIsRefused(t *testing.T, s stage) {
	locker := newLocker(s.client, s.prefix)
	m := func() *lock.Lock { return locker.Mutex("m") }
	alias := newLocker(s.client, s.prefix)
	type ambiguous struct {
		lock aLock
		want error
	}
	var cases map[string]ambiguous
	switch s.kind.name {
	case "Multi":
		cases = map[string]ambiguous{
			"one twice":              {several(group.Multi(m(), m())), group.ErrDuplicate},
			"one twice, two lockers": {several(group.Multi(m(), alias.Mutex("m"))), group.ErrDuplicate},
			"both sides": {
				several(group.Multi(locker.Read("m", "o"), locker.Write("m", "o"))), group.ErrDuplicate,
			},
		}
	case "Redlock":
		own, server := s.onOwnServer(t)
		short := lock.WithLease(time.Second) // long enough for an answer on a busy machine
		direct := newLocker(own.client, "").Mutex("m", short)
		_, through := proxied(t, server.Addr)
		elsewhere := newLocker(through, "").Mutex("m", short) // another address of the same server
		eventually(t, "old enough", func() bool { return uptime(t, own.client) >= 3 })
		// Without the third server, neither answer of the first decides before the other has come.
		gone := newLocker(&spy{Client: s.client, failScript: func() error { return io.ErrUnexpectedEOF }}, "")
		cases = map[string]ambiguous{
			"one three times":  {several(group.Redlock(m(), m(), m())), group.ErrDuplicate},
			"one server twice": {several(group.Redlock(direct, elsewhere, gone.Mutex("m", short))), group.ErrDuplicate},
		}
	default:
		cases = map[string]ambiguous{"zero owner": {s.kind.open(locker, "m", ""), lock.ErrNoOwner}}
	}
	for name, tc := range cases {
		for what, call := range map[string]func(context.Context) (aHold, error){
			"TryLock": tc.lock.TryLock, "Lock": tc.lock.Lock,
		} {
			h, err := call(t.Context())
			if err == nil {
				_ = h.Release(t.Context()) // the test has failed already
			}
			wantErr(t, name+": "+what, err, tc.want)
			if errors.Is(err, lock.ErrNotObtained) {
				t.Errorf("%s: %s: %v, want an error that does not blame another holder", name, what, err)
			}
		}
	}
}

// uptime returns how long a server has run, in seconds.
func uptime(t *testing.T, c redis.UniversalClient) int {
	t.Helper()
	info, err := c.InfoMap(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := strconv.Atoi(info["Server"]["uptime_in_seconds"])
	if err != nil {
		t.Fatal(err)
	}
	return seconds
}

func releaseWhenFull(t *testing.T, s stage) {
	s, _ = s.onOwnServer(t)
	memory := func(most string) {
		if err := s.client.ConfigSet(t.Context(), "maxmemory", most).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, repeats := range []bool{false, true} {
		locker := newLocker(&spy{Client: s.client, repeats: repeats}, s.prefix)
		h := mustLock(t, s.kind.open(locker, "m", lock.NewOwner()))
		memory("1")
		if _, err := s.rivals().lock().TryLock(t.Context()); err == nil {
			t.Error("TryLock of a held lock succeeded")
		}
		if err := h.Release(t.Context()); err != nil {
			t.Errorf("Release when Redis is full (repeats %v): %v", repeats, err)
		}
		wantErr(t, "second Release", h.Release(t.Context()), lock.ErrNotHeld)
		if got := s.owner(t); got != "" {
			t.Errorf("owner %q after the release", got)
		}
		memory("0")
		withWaiterWhenFull(t, s, locker, memory)
	}
}

// withWaiterWhenFull releases a lock while another goroutine of the process waits: the waiter gets the lock or Redis's
// error.
func withWaiterWhenFull(t *testing.T, s stage, locker *lock.Locker, memory func(string)) {
	t.Helper()
	h := mustLock(t, s.rivals().kind.open(locker, "m", lock.NewOwner()))
	waiting := s.lockAsync(t.Context(), t, s.kind.open(locker, "m", lock.NewOwner()))
	memory("1")
	if err := h.Release(t.Context()); err != nil {
		t.Errorf("Release with a waiter: %v", err)
	}
	got := receive(t, "answer", waiting)
	if got.err == nil {
		if err := got.hold.Release(t.Context()); err != nil {
			t.Errorf("Release of the waiter: %v", err)
		}
	} else if !strings.Contains(got.err.Error(), "OOM") {
		t.Errorf("Lock when Redis is full: %v", got.err)
	}
	memory("0")
}

func cancelWhileSilent(t *testing.T, s stage) {
	const most, tries = 100 * time.Millisecond, 20
	type call func(ctx context.Context, l aLock) error
	take := func(h aHold, err error) error {
		if err == nil {
			err = h.Release(t.Context())
		}
		return err
	}
	type scene struct {
		name  string
		taken bool // somebody else holds the lock
		waits bool // it listens before Redis falls silent
		call  call
	}
	scenes := []scene{
		{"TryLock", false, false, func(ctx context.Context, l aLock) error { return take(l.TryLock(ctx)) }},
		{"Lock", false, false, func(ctx context.Context, l aLock) error { return take(l.Lock(ctx)) }},
		{"Lock that waits", true, true, func(ctx context.Context, l aLock) error { return take(l.Lock(ctx)) }},
		{"State", false, false, func(ctx context.Context, l aLock) error { _, err := l.State(ctx); return err }},
		{"ForceUnlock", false, false, func(ctx context.Context, l aLock) error {
			_, err := l.ForceUnlock(ctx)
			return err
		}},
	}
	// The first call waits some time for its answer; after an unanswered one, calls leave at once when cancelled.
	for i := range 2 * len(scenes) {
		tc, ready := scenes[i/2], i%2 == 1
		best := time.Hour
		for try := 0; try < tries && best > most; try++ { // a busy machine may stop a process for longer
			own := s
			own.prefix += fmt.Sprint(i, "-", try, ":")
			p, through := s.viaProxy(t)
			if err := through.Ping(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			var h aHold
			if tc.taken {
				h = mustLock(t, own.rivals().lock())
			}
			var client lock.Client = through
			if ready {
				client = &spy{Client: through, repeats: true} // hides the client's timeouts from the Locker
			}
			locker := newLocker(client, own.prefix)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			watched := make(chan struct{})
			ask := func() {
				close(watched)
				done <- tc.call(ctx, own.kind.open(locker, "m", lock.NewOwner()))
			}
			if tc.waits {
				wait := func() { done <- tc.call(ctx, own.kind.open(locker, "m", lock.NewOwner())) }
				go wait()
				eventually(t, "waiting", func() bool {
					select {
					case err := <-done: // on a busy machine a Redlock may see no majority for two seconds
						t.Logf("%s, %s: %v", s.kind.name, tc.name, err)
						go wait()
					default:
					}
					return len(own.channels(t)) == 1
				})
				p.Blackhole()
			} else {
				p.Blackhole()
				go ask()
				<-watched
			}
			time.Sleep(20 * time.Millisecond) // until it is sent; no answer comes
			cancelled := time.Now()
			cancel()
			err := receive(t, "answer", done)
			best = min(best, time.Since(cancelled))
			wantErr(t, tc.name, err, context.Canceled)
			p.Heal()
			if h != nil {
				mustRelease(t, h)
			}
			// The abandoned request arrives now, and its lock is given back.
			eventually(t, "free", func() bool { return len(own.remains(t)) == 0 })
			eventually(t, "done with the abandoned call", func() bool { n, _ := lock.Left(locker); return n == 0 })
			if got := own.owner(t); got != "" {
				t.Errorf("%s: the lock was left to %q", tc.name, got)
			}
		}
		if best > most {
			t.Fatalf("%s returned %v after it was cancelled, want %v at most", tc.name, best, most)
		}
		t.Logf("%s, %s, ready to leave %v: %v", s.kind.name, tc.name, ready, best)
	}
	lateIsNotKept(t, s)
	cancelledAreBounded(t, s)
	cancelledWaitersGiveUp(t, s)
}

// lateIsNotKept obtains a lock after its caller has left, and cannot give it back: at least it must not be renewed.
func lateIsNotKept(t *testing.T, s stage) {
	t.Helper()
	s.prefix += "late:"
	broken, gone := errors.New("broken"), make(chan struct{})
	var asked atomic.Int64
	slow := &spy{Client: s.client, repeats: true, failScript: func() error {
		if asked.Add(1) > int64(s.kind.locks()) {
			return broken
		}
		return nil
	}, afterScript: func() { <-gone }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.through(slow, lock.WithRenewedLease(time.Second)).TryLock(ctx)
		done <- err
	}()
	eventually(t, "obtained", func() bool { return slow.answers.Load() > 0 })
	cancel()
	wantErr(t, "TryLock", receive(t, "answer", done), context.Canceled)
	close(gone)
	eventually(t, "free", func() bool { return len(s.remains(t)) == 0 })
}

// cancelledAreBounded abandons calls to a client that never answers. At the limit, the next call must be refused.
func cancelledAreBounded(t *testing.T, s stage) {
	t.Helper()
	const atOnce = 300
	gone := make(chan struct{})
	end := sync.OnceFunc(func() { close(gone) })
	defer end()
	silent := &spy{Client: s.client, failScript: func() error {
		<-gone // without a limit: a timeout could end a call that a busy machine starts late
		return errors.New("gone")
	}}
	locker := newLocker(silent, s.prefix+"many:")
	left := make(chan error, atOnce)
	ask := func(ctx context.Context) {
		_, err := s.kind.open(locker, "m", lock.NewOwner()).State(ctx)
		left <- err
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range atOnce {
		go ask(ctx)
	}
	asked := int64(atOnce * max(s.kind.parts-1, 1)) // the first member is asked after the others
	eventually(t, "asked", func() bool { return silent.scripts.Load() == asked })
	cancel()
	for range atOnce {
		wantErr(t, "State", receive(t, "answer", left), context.Canceled)
	}
	if n, most := lock.Left(locker); n != int(asked) || n < most {
		t.Errorf("%d abandoned calls, want %d, which is more than %d", n, asked, most)
	}
	refused, done := context.WithCancel(t.Context())
	defer done()
	go ask(refused)
	if err := receive(t, "refusal", left); err == nil || silent.scripts.Load() != asked {
		t.Errorf("State at the limit: %v, %d scripts after %d", err, silent.scripts.Load(), asked)
	}
	end()
	eventually(t, "done with the abandoned calls", func() bool { n, _ := lock.Left(locker); return n == 0 })
}

// cancelledWaitersGiveUp cancels more waiters with places in a silent Redis's queue than calls may be abandoned.
func cancelledWaitersGiveUp(t *testing.T, s stage) {
	t.Helper()
	if s.kind.name != "Fair" && s.kind.name != "Write" { // waiters of other kinds leave nothing in Redis
		return
	}
	const waiters = 300
	p, through := s.viaProxy(t)
	s.prefix += "waiters:"
	h := mustLock(t, s.rivals().lock())
	locker := newLocker(through, s.prefix)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	left := make(chan error, waiters)
	for range waiters {
		go func() {
			_, err := s.kind.open(locker, "m", lock.NewOwner()).Lock(ctx)
			left <- err
		}()
	}
	eventually(t, "in the queue", func() bool { return s.places(t) == waiters })
	p.Blackhole()
	cancel()
	for range waiters {
		wantErr(t, "Lock", receive(t, "answer", left), context.Canceled)
	}
	refused, done := context.WithCancel(t.Context())
	defer done()
	_, err := s.kind.open(locker, "m", lock.NewOwner()).TryLock(refused)
	if err == nil || errors.Is(err, lock.ErrNotObtained) {
		t.Errorf("TryLock while many give up: %v, want an error that does not say who has the lock", err)
	}
	p.Heal()
	eventually(t, "done with the abandoned calls", func() bool { n, _ := lock.Left(locker); return n == 0 })
	eventually(t, "without places", func() bool { return s.places(t) == 0 })
	mustRelease(t, h)
}
