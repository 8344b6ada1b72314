package lock_test

import (
	"database/sql"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/testkit"
)

var fencedRows = []row{
	{number: 46, group: "Fenced", says: "the token rises over owners, restarts and ForceUnlock", run: tokensRise},
	{number: 47, group: "Fenced", says: "a lost token key is noticed, and tokens never restart", run: lostCounter},
	{
		number: 48, group: "Fenced", says: "the stale write of a holder stopped past its lease changes no row in MySQL",
		run: stoppedHolder,
	},
	{
		number: 49, group: "Fenced",
		says: "with fewer replicas than asked for, the lock is released and the call fails",
		run:  enoughReplicas,
	},
	{number: 50, group: "Fenced", says: "goroutines and connections are back at the baseline", run: nothingIsLeft},
}

// tokens takes the lock again and again, each time from another process, and fails if a token does not rise.
type tokens struct {
	last int64
}

func (k *tokens) next(t *testing.T, l aLock, when string) aHold {
	t.Helper()
	h := mustLock(t, l)
	if h.Token() <= k.last || h.Token() >= 1<<53 {
		t.Errorf("%s: token %d after %d, want a higher one below 2^53", when, h.Token(), k.last)
	}
	k.last = h.Token()
	return h
}

func tokensRise(t *testing.T, s stage) {
	s, server := s.onOwnServer(t)
	var k tokens
	mustRelease(t, k.next(t, s.lock(), "first"))
	mustRelease(t, k.next(t, s.lock(), "after a release"))
	k.next(t, s.lock(lock.WithLease(2*time.Second)), "before its lease ends")
	k.next(t, s.rivals().lock(), "after a lease has ended")
	if _, err := s.rivals().lock().ForceUnlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := k.next(t, s.lock(), "after ForceUnlock")
	if left := s.client.TTL(t.Context(), s.highWater(t)).Val(); left <= 23*time.Hour || left > 24*time.Hour {
		t.Errorf("the counter lives for %v, want a day", left)
	}
	mustRelease(t, h)
	server.Kill()
	server.Start()
	mustRelease(t, k.next(t, s.lock(), "after an empty restart"))
}

func lostCounter(t *testing.T, s stage) {
	s, _ = s.onOwnServer(t)
	ctx := t.Context()
	var k tokens
	mustRelease(t, k.next(t, s.lock(), "first"))
	counters := s.highWaters(t) // each server's, because any may be in the next majority
	counter := counters[0]
	set := func(value string) {
		for _, counter := range counters {
			if err := s.client.Set(ctx, counter, value, time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	forget := func() {
		if err := s.client.FlushDB(ctx).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s.client.Del(ctx, counter)
	mustRelease(t, k.next(t, s.lock(), "counter expired"))
	forget()
	mustRelease(t, k.next(t, s.lock(), "all expired"))
	forget()
	set("17")
	mustRelease(t, k.next(t, s.lock(), "after Redis lost its last writes"))
	evict(t, s, counter)
	mustRelease(t, k.next(t, s.lock(), "counter evicted"))

	// Tokens an hour ahead of the clock stand for a clock that was set back an hour.
	const short = 2 * time.Second // long enough for an answer on a busy machine
	k.last = time.Now().Add(time.Hour).UnixMicro()
	forget()
	set(fmt.Sprint(k.last))
	survivor := newLocker(s.client, s.prefix)
	open := func() aLock { return s.kind.open(survivor, "m", lock.NewOwner()) }
	mustRelease(t, k.next(t, open(), "ahead of the clock, first"))
	k.next(t, s.lock(lock.WithLease(short)), "before its lease ends, clock set back")
	k.next(t, s.rivals().lock(lock.WithLease(short)), "after a lease has ended, clock set back")
	if _, err := s.rivals().lock().ForceUnlock(ctx); err != nil {
		t.Fatal(err)
	}
	mustRelease(t, k.next(t, open(), "after ForceUnlock, clock set back"))
	forget()
	mustRelease(t, k.next(t, open(), "counter lost and clock set back, in a process that has seen tokens"))
	h := k.next(t, open(), "once more")
	s.client.Del(ctx, counter)
	mustRelease(t, h) // restores the counter
	mustRelease(t, k.next(t, s.lock(), "counter lost while held, clock set back, in a new process"))
}

// evict fills the server's memory until it evicts the key.
func evict(t *testing.T, s stage, key string) {
	t.Helper()
	ctx := t.Context()
	for name, value := range map[string]string{"maxmemory": "3mb", "maxmemory-policy": "allkeys-random"} {
		if err := s.client.ConfigSet(ctx, name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	ballast := strings.Repeat("x", 4096)
	for i := range 100_000 {
		if err := s.client.Set(ctx, fmt.Sprint("ballast:", i), ballast, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 && s.client.Exists(ctx, key).Val() == 0 {
			if err := s.client.ConfigSet(ctx, "maxmemory", "0").Err(); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("the counter was not evicted")
}

func stoppedHolder(t *testing.T, s stage) {
	dsn := testkit.MySQL(t)
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		"CREATE TABLE fenced (id INT PRIMARY KEY, value VARCHAR(20) NOT NULL, token BIGINT NOT NULL)",
		"INSERT INTO fenced VALUES (1, 'nobody', 0)",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	holder := startChild(t, childTask{
		Do: "write", Kind: s.kind.name, Addr: testkit.RedisAddr(t), Prefix: s.prefix, DSN: dsn,
	})
	holder.says(t, "held")
	holder.stop(t)
	next := mustLock(t, s.rivals().lock()) // the stopped holder's lease has ended
	if n, err := fencedWrite(t.Context(), db, next.Token(), "successor"); err != nil || n != 1 {
		t.Errorf("the successor's write changed %d rows, %v; want 1", n, err)
	}
	if _, err := io.WriteString(holder.in, "write\n"); err != nil {
		t.Fatal(err)
	}
	holder.signal(t, syscall.SIGCONT)
	holder.says(t, "wrote 0 rows; "+lock.ErrLost.Error())
	var value string
	err = db.QueryRowContext(t.Context(), "SELECT value FROM fenced").Scan(&value)
	if err != nil || value != "successor" {
		t.Errorf("the row says %q, %v; want the successor", value, err)
	}
	mustRelease(t, next)
}

// nothingIsLeft checks connections; testkit.Main checks goroutines after all rows.
func nothingIsLeft(t *testing.T, s stage) {
	s, server := s.onOwnServer(t)
	own := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	locker := newLocker(own, s.prefix)
	before := connections(t, s.client)
	got := make(chan locked, 50)
	for range cap(got) {
		go func() {
			l := s.kind.open(locker, "m", lock.NewOwner(), lock.WithRenewedLease(soon/2))
			h, err := l.Lock(t.Context())
			if err == nil {
				err = h.Release(t.Context())
			}
			got <- locked{h, err, time.Now()}
		}()
	}
	for range cap(got) {
		if r := receive(t, "release", got); r.err != nil {
			t.Error(r.err)
		}
	}
	eventually(t, "without subscriptions", func() bool { return len(pubsubClients(t, s.client)) == 0 })
	if err := own.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "disconnected", func() bool { return connections(t, s.client) <= before })
	s.wantKeys(t, "at the end", 0)
}

// connections returns how many connections a server has.
func connections(t *testing.T, c redis.UniversalClient) int {
	t.Helper()
	list, err := c.ClientList(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(list, "\n")
}
