package idcounter_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"seckill/internal/idworker"
	"seckill/internal/redisstore/idcounter"
	"seckill/internal/testkit"
)

const (
	day     = "2026:11:11"
	minLeap = 1 << 20
)

// counterKeys returns the names of the counter's keys, which people and dashboards read.
func counterKeys(prefix string) (counter, server string) {
	counter = prefix + "icr:order:" + day
	return counter, prefix + "icr:server:{" + counter + "}"
}

func TestCounterReserve(t *testing.T) {
	t.Parallel()
	const (
		most  = idworker.MaxNumber
		other = "0123456789abcdef" // another server
	)
	type want struct {
		from, to int64 // bounds of the last number, inclusive
		err      error
	}
	for name, c := range map[string]struct {
		stored string // "": missing
		server string // "": the present server
		ask    idworker.Reservation
		want   want
	}{
		"next numbers": {stored: "100", ask: idworker.Reservation{N: 10}, want: want{from: 110, to: 110}},
		"next numbers, known": {
			stored: "100", ask: idworker.Reservation{N: 10, Known: 100}, want: want{from: 110, to: 110},
		},
		"create does nothing if there is a counter": {
			stored: "100", ask: idworker.Reservation{N: 10, Create: true}, want: want{from: 110, to: 110},
		},
		"missing": {ask: idworker.Reservation{N: 10, Known: 7}, want: want{err: idworker.ErrCounterMissing}},
		"created": {ask: idworker.Reservation{N: 10, Create: true}, want: want{from: 10, to: 1<<31 + 10}},
		"created above known": {
			ask:  idworker.Reservation{N: 10, Known: 5e6, Create: true},
			want: want{from: 5e6 + 1<<23, to: 5e6 + 1<<25 + 10},
		},
		"below known": {
			stored: "100", ask: idworker.Reservation{N: 10, Known: 50e6},
			want: want{from: 50e6 + 1<<23, to: 50e6 + 1<<25 + 10},
		},
		"just below known": {
			stored: "100", ask: idworker.Reservation{N: 10, Known: 101},
			want: want{from: 101 + 1<<23, to: 101 + 1<<25 + 10},
		},
		"another server": {
			stored: "5000", server: other, ask: idworker.Reservation{N: 10, Known: 100},
			want: want{from: 5000 + (most-5000)/256, to: 5000 + 1<<25 + 10}, // the limit that idworker promises
		},
		"leap is never small": {
			stored: fmt.Sprint(most - 1<<24), server: other, ask: idworker.Reservation{N: 1},
			want: want{from: most - 1<<24 + minLeap, to: most - 1<<24 + 2*minLeap + 1},
		},
		"last numbers": {
			stored: fmt.Sprint(most - 10), ask: idworker.Reservation{N: 10}, want: want{from: most, to: most},
		},
		"too few left": {
			stored: fmt.Sprint(most - 9), ask: idworker.Reservation{N: 10}, want: want{err: idworker.ErrExhausted},
		},
		"leap over the end": {
			stored: fmt.Sprint(most - minLeap), server: other, ask: idworker.Reservation{N: 1},
			want: want{err: idworker.ErrExhausted},
		},
		"far above the end": {
			stored: "9223372036854775807", ask: idworker.Reservation{N: 1}, want: want{err: idworker.ErrExhausted},
		},
		"known is the end": {
			ask: idworker.Reservation{N: 1, Known: most, Create: true}, want: want{err: idworker.ErrExhausted},
		},
		"not a number":       {stored: "many", ask: idworker.Reservation{N: 1}, want: want{err: errAny}},
		"not a whole number": {stored: "1.5", ask: idworker.Reservation{N: 1}, want: want{err: errAny}},
		"not even finite":    {stored: "nan", ask: idworker.Reservation{N: 1}, want: want{err: errAny}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, prefix := testkit.Redis(t)
			ctx := t.Context()
			counterKey, serverKey := counterKeys(prefix)
			if c.server == "" {
				c.server = runID(t, client)
			}
			if c.stored != "" {
				set(t, client, counterKey, c.stored)
				set(t, client, serverKey, c.server)
			}
			c.ask.Day = day
			last, err := newCounter(t, client, prefix).Reserve(ctx, c.ask)
			if c.want.err != nil {
				//nolint:errorlint // errAny is this table's own mark
				if err == nil || c.want.err != errAny && !errors.Is(err, c.want.err) {
					t.Errorf("Reserve = %d, %v; want %v", last, err, c.want.err)
				}
				if got := client.Get(ctx, counterKey).Val(); got != c.stored {
					t.Errorf("after an error the counter is %q, want %q as before", got, c.stored)
				}
				return
			}
			if err != nil || last < c.want.from || last > c.want.to {
				t.Fatalf("Reserve = %d, %v; want %d to %d", last, err, c.want.from, c.want.to)
			}
			if got, want := client.Get(ctx, counterKey).Val(), fmt.Sprint(last); got != want {
				t.Errorf("the counter is %q, want %q", got, want)
			}
			if diff := cmp.Diff(runID(t, client), client.Get(ctx, serverKey).Val()); diff != "" {
				t.Errorf("server that counted last (-want +got):\n%s", diff)
			}
			for _, k := range []string{counterKey, serverKey} {
				if ttl := client.TTL(ctx, k).Val(); ttl < 71*time.Hour || ttl > 72*time.Hour {
					t.Errorf("%s lives %v, want three days", k, ttl)
				}
			}
		})
	}
}

// errAny stands in a table for any error that is not a known one.
var errAny = errors.New("any error")

// Two leaps from the same number, as after a second loss, do not reach the same numbers.
func TestCounterLeapsDiffer(t *testing.T) {
	t.Parallel()
	client, prefix := testkit.Redis(t)
	counterKey, _ := counterKeys(prefix)
	c := newCounter(t, client, prefix)
	for kind, ask := range map[string]idworker.Reservation{
		"leap":   {Day: day, N: 1, Known: 1000},
		"create": {Day: day, N: 1, Create: true},
	} {
		seen := make(map[int64]bool)
		for range 20 {
			if kind == "leap" {
				set(t, client, counterKey, "10")
			} else if err := client.Del(t.Context(), counterKey).Err(); err != nil {
				t.Fatal(err)
			}
			last, err := c.Reserve(t.Context(), ask)
			if err != nil {
				t.Fatal(err)
			}
			seen[last] = true
		}
		if len(seen) < 15 {
			t.Errorf("%s: only %d different numbers in 20 tries", kind, len(seen))
		}
		// A leap may have little room; a random start must avoid numbers that are unknown.
		if highest := slices.Max(slices.Collect(maps.Keys(seen))); kind == "create" && highest < 1<<28 {
			t.Errorf("create: no number above %d in 20 tries, want them anywhere up to 2^31", highest)
		}
	}
}

// A restarted server may lack its last writes, whatever its settings say: all processes together leap once.
func TestCounterLeapsAfterARestart(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	ask := idworker.Reservation{Day: day, N: 10, Create: true, Known: 1000}
	before, err := newCounter(t, server.Client(), "").Reserve(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	server.Start()
	c := newCounter(t, server.Client(), "")
	ask.Known = before
	first, err := c.Reserve(t.Context(), ask)
	if err != nil || first < before+minLeap {
		t.Fatalf("Reserve after the restart = %d, %v; want a leap from %d", first, err, before)
	}
	if second, err := c.Reserve(t.Context(), ask); err != nil || second != first+10 {
		t.Fatalf("the Reserve after that = %d, %v; want %d", second, err, first+10)
	}
}

// The two keys of the script are in one slot.
func TestCounterInACluster(t *testing.T) {
	t.Parallel()
	client := testkit.StartRedisCluster(t).ClusterClient()
	for _, prefix := range []string{"", "shop:"} {
		c := newCounter(t, client, prefix)
		for range 2 {
			if _, err := c.Reserve(t.Context(), idworker.Reservation{Day: day, N: 10, Create: true}); err != nil {
				t.Errorf("prefix %q: %v", prefix, err)
			}
		}
	}
}

// The embedded Redis does not show a run id.
func TestCounterInMiniredis(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	t.Cleanup(func() { _ = client.Close() }) // nothing is under way
	c := newCounter(t, client, "")
	first, err := c.Reserve(t.Context(), idworker.Reservation{Day: day, N: 10, Create: true, Known: 1})
	if err != nil || first < minLeap {
		t.Fatalf("Reserve = %d, %v", first, err)
	}
	if second, err := c.Reserve(t.Context(), idworker.Reservation{Day: day, N: 10}); err != nil || second != first+10 {
		t.Errorf("Reserve = %d, %v; want %d", second, err, first+10)
	}
}

// Errors of Redis or the network are passed on.
func TestCounterAway(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t)
	c := newCounter(t, server.Client(), "")
	server.Kill()
	last, err := c.Reserve(t.Context(), idworker.Reservation{Day: day, N: 10, Create: true})
	if err == nil || errors.Is(err, idworker.ErrCounterMissing) || errors.Is(err, idworker.ErrExhausted) {
		t.Errorf("Reserve = %d, %v; want the network's error", last, err)
	}
}

// ledger is an idworker.History of ids in memory.
type ledger []int64

func (l ledger) OrderIDs(_ context.Context, from, to int64, yield func(int64)) error {
	for _, id := range l {
		if id >= from && id < to {
			yield(id)
		}
	}
	return nil
}

// Two processes hand out ids; Redis is emptied; one of them goes on and a third one starts, which knows the recorded
// ids or none.
func TestIDsWhenTheCounterIsLost(t *testing.T) {
	t.Parallel()
	for name, recorded := range map[string]bool{"recorded": true, "nothing recorded": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, prefix := testkit.Redis(t)
			now := time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)
			worker := func(l ledger) *idworker.Worker {
				w := idworker.New(newCounter(t, client, prefix), l, [16]byte{7}, idworker.Options{
					BlockSize: 100, Now: func() time.Time { return now },
				})
				t.Cleanup(func() {
					if err := w.Close(context.WithoutCancel(t.Context())); err != nil {
						t.Error(err)
					}
				})
				return w
			}
			var ids ledger
			give := func(n int, ws ...*idworker.Worker) {
				for i := range n {
					id, err := ws[i%len(ws)].Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					ids = append(ids, id)
				}
			}
			a, b := worker(nil), worker(nil)
			give(1010, a, b)
			var known ledger
			if recorded {
				known = slices.Clone(ids[:500])
			}
			counterKey, _ := counterKeys(prefix)
			if n := client.Del(t.Context(), counterKey).Val(); n != 1 {
				t.Fatal("there was no counter to lose")
			}
			give(3000, worker(known), a, b)
			checkIDs(t, ids, 4010)
		})
	}
}

// The environment that turns a run of this test into one of idProcess's processes.
const (
	envIDFile   = "REDISSTORE_TEST_ID_FILE"
	envIDAddr   = "REDISSTORE_TEST_ID_ADDR"
	envIDPrefix = "REDISSTORE_TEST_ID_PREFIX"
	idProcesses = 4
	idsEach     = 250_000
)

// Four processes that share nothing but Redis hand out a million ids, all different.
func TestAMillionIDsOfFourProcesses(t *testing.T) {
	t.Parallel()
	if file := os.Getenv(envIDFile); file != "" {
		idProcess(t, file)
		return
	}
	addr := testkit.RedisAddr(t)
	_, prefix := testkit.Redis(t)
	dir := t.TempDir()
	began := time.Now()
	var wg sync.WaitGroup
	for p := range idProcesses {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAMillionIDsOfFourProcesses$",
			"-test.count=1")
		cmd.Env = append(os.Environ(), envIDAddr+"="+addr, envIDPrefix+"="+prefix,
			envIDFile+"="+filepath.Join(dir, fmt.Sprint(p)))
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", p, err, out)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	ids := make([]int64, 0, idProcesses*idsEach)
	for p := range idProcesses {
		raw, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(p)))
		if err != nil {
			t.Fatal(err)
		}
		own := make([]int64, len(raw)/8)
		for i := range own {
			own[i] = int64(binary.BigEndian.Uint64(raw[8*i:]))
		}
		if !slices.IsSortedFunc(own, func(a, b int64) int { return idworker.Time(a).Compare(idworker.Time(b)) }) {
			t.Errorf("the ids of process %d do not rise with time", p)
		}
		ids = append(ids, own...)
	}
	checkIDs(t, ids, idProcesses*idsEach)
	for _, id := range ids {
		if at := idworker.Time(id); at.Before(began.Add(-time.Second)) || at.After(time.Now()) {
			t.Fatalf("id %d is of %v, want between %v and now", id, at, began)
		}
	}
}

// idProcess is what each process does: it takes ids and writes them into the file.
func idProcess(t *testing.T, file string) {
	client := redis.NewClient(&redis.Options{Addr: os.Getenv(envIDAddr)})
	defer func() { _ = client.Close() }() // nothing is under way
	w := idworker.New(newCounter(t, client, os.Getenv(envIDPrefix)), ledger(nil), [16]byte{42},
		idworker.Options{BlockSize: 1000})
	var raw []byte
	for range idsEach {
		id, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		raw = binary.BigEndian.AppendUint64(raw, uint64(id))
	}
	if err := errors.Join(w.Close(t.Context()), os.WriteFile(file, raw, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// checkIDs fails the test unless ids are n different positive numbers.
func checkIDs(t *testing.T, ids []int64, n int) {
	t.Helper()
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	if different := len(slices.Compact(sorted)); different != n || len(ids) != n {
		t.Errorf("%d ids, %d different ones, want %d", len(ids), different, n)
	}
	if len(ids) > 0 && slices.Min(ids) <= 0 {
		t.Errorf("id %d is not positive", slices.Min(ids))
	}
}

// newCounter returns a counter with the prefix.
func newCounter(t *testing.T, client redis.UniversalClient, prefix string) *idcounter.Counter {
	t.Helper()
	c, err := idcounter.New(client, prefix)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// runID returns the server's run id.
func runID(t *testing.T, client *redis.Client) string {
	t.Helper()
	info, err := client.Info(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "run_id:")
	id, _, ok := strings.Cut(rest, "\r\n")
	if !ok {
		t.Fatalf("no run id in %q", info)
	}
	return id
}

// set stores a string.
func set(t *testing.T, client *redis.Client, key, value string) {
	t.Helper()
	if err := client.Set(t.Context(), key, value, 0).Err(); err != nil {
		t.Fatal(err)
	}
}
