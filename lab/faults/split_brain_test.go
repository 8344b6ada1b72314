package faults

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/checker"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// envSplit is how long TestSplitBrain cuts a master off; if envReport is "write" too, the table is written. Default:
// quickSplit, for the settings that promise to lose nothing.
const envSplit = "SECKILL_TEST_SPLIT"

const (
	quickSplit = 2 * time.Second
	// splitReport is the document with the table.
	splitReport = "../notes/durability.md"
	splitBegin  = "<!-- split brain: begin -->\n"
	splitEnd    = "<!-- split brain: end -->\n"
)

// splitSetting is the settings of Redis and the service when a master, together with the instances, is cut off from a
// replica, which is promoted.
type splitSetting struct {
	title   string // in the document
	flush   string // appendfsync
	confirm int    // SECKILL_REDIS_REPLICAS
	stays   bool   // another replica stays on the old side
	least   bool   // min-replicas-to-write 1, min-replicas-max-lag 10
	safe    bool   // no order that a buyer was told of may be dropped
}

func splitSettings() []splitSetting {
	return []splitSetting{
		{title: "`everysec`", flush: "everysec"},
		{title: "`always`", flush: "always"},
		{title: "`always`, `min-replicas-to-write 1`, `min-replicas-max-lag 10`", flush: "always", least: true},
		{title: "`always`, `SECKILL_REDIS_REPLICAS=1`", flush: "always", confirm: 1, safe: true},
		{
			title: "`always`, `SECKILL_REDIS_REPLICAS=1`, two replicas, one of them cut off too", flush: "always",
			confirm: 1, stays: true,
		},
		{
			title: "`always`, `SECKILL_REDIS_REPLICAS=2`, two replicas, one of them cut off too", flush: "always",
			confirm: 2, stays: true, safe: true,
		},
	}
}

// split is the result of a split brain.
type split struct {
	told    int // accepted while the master was cut off, and the buyer told
	dropped int // of those, missing in the promoted replica
	gone    int // of those, missing in the ledger too
}

// TestSplitBrain cuts a master off together with the instances, promotes a replica, and kills the instances with all
// that they remember. It counts the orders that buyers were told of and that the promoted replica lacks, and those that
// the ledger lacks too.
func TestSplitBrain(t *testing.T) {
	long, during := os.Getenv(envSplit) != "", quickSplit
	if long {
		var err error
		if during, err = time.ParseDuration(os.Getenv(envSplit)); err != nil {
			t.Fatalf("%s: %v", envSplit, err)
		}
	}
	var rows []string
	for _, s := range splitSettings() {
		if !long && !s.safe {
			continue
		}
		t.Run(strings.ReplaceAll(s.title, "`", ""), func(t *testing.T) {
			var with, without split
			if long || !s.stays { // otherwise one of the two for each setting
				with = splitBrain(newRun(t, seedOf(t)), s, during, true)
			}
			if long || s.stays {
				without = splitBrain(newRun(t, seedOf(t)), s, during, false)
			}
			t.Logf("the ledger in reach: %+v; not: %+v", with, without)
			if s.safe && with.dropped+without.dropped > 0 {
				t.Errorf("%d and %d orders that buyers were told are dropped", with.dropped, without.dropped)
			}
			if !s.safe && with.dropped+without.dropped == 0 {
				t.Error("nothing was dropped: there was no split brain")
			}
			rows = append(rows, fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d |\n",
				s.title, with.told, with.dropped, with.gone, without.told, without.dropped, without.gone))
		})
	}
	if long && !t.Failed() && os.Getenv(envReport) == "write" {
		writeSplits(t, rows, during)
	}
}

func writeSplits(t *testing.T, rows []string, during time.Duration) {
	t.Helper()
	text, err := os.ReadFile(splitReport)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), splitBegin)
	_, after, ended := strings.Cut(rest, splitEnd)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", splitReport)
	}
	head := fmt.Sprintf(
		`Orders that buyers were told in %.0f s on the old side (%s, %d processors, two instances, 16 buyers at a time),
how many of them the promoted replica has not, and how many the ledger has not either: gone, since both instances are
then killed with what they remember.

| Setting | Told | Dropped | Gone | Without the ledger: told | Dropped | Gone |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
`, during.Seconds(), time.Now().UTC().Format(time.DateOnly), runtime.NumCPU())
	if err := os.WriteFile(splitReport, []byte(before+splitBegin+head+strings.Join(rows, "")+splitEnd+after),
		0o600); err != nil {
		t.Fatal(err)
	}
}

// splitBrain causes one; ledger says whether the old side reaches the ledger.
func splitBrain(r *run, s splitSetting, during time.Duration, ledger bool) split {
	r.Helper()
	r.open(deployment{
		instances: 2, units: 1_000_000, redis: []string{"--appendonly", "yes", "--appendfsync", s.flush},
		settings: map[string]string{
			"SECKILL_REDIS_REPLICAS": fmt.Sprint(s.confirm), "SECKILL_REDIS_REPLICA_TIMEOUT": "200ms",
		},
	})
	other, link := r.replica()
	replicas := 1
	if s.stays {
		r.replica()
		replicas = 2
	}
	box.Eventually(r, "replicas that follow", func() error {
		n, err := r.redis.Client().Wait(r.Context(), replicas, 100*time.Millisecond).Result()
		if err == nil && n < int64(replicas) {
			err = fmt.Errorf("%d follow", n)
		}
		return err
	})
	if s.least {
		for name, value := range map[string]string{"min-replicas-max-lag": "10", "min-replicas-to-write": "1"} {
			r.must(r.redis.Client().ConfigSet(r.Context(), name, value).Err())
		}
	}
	end := r.buyOnce(16)
	r.await("300 purchases", r.buyers.Record.Reached(300))
	link.Blackhole()
	if !ledger {
		for _, p := range r.proxies {
			p.mysql.Blackhole()
		}
	}
	cut := time.Now()
	<-time.After(during)
	if s.safe { // even an instance that answers nobody drops nothing, which would prove nothing
		box.Eventually(r, "an unknown outcome since the cut", func() error { return r.expectUnknown(cut) })
	}
	end()
	for _, srv := range r.site.Servers {
		r.must(srv.Kill())
	}
	r.redis.Kill()
	r.must(other.Do(r.Context(), "replicaof", "no", "one").Err())
	return r.splitSince(cut, box.NewRedis(other, ""))
}

// replica starts a replica of the scenario's Redis, and returns its client and the proxy through which it replicates.
func (r *run) replica() (*redis.Client, *testkit.Proxy) {
	r.Helper()
	server, link := testkit.StartRedis(r), testkit.NewProxy(r, r.redis.Addr)
	host, port, err := net.SplitHostPort(link.Addr)
	r.must(err)
	client := server.Client()
	r.must(client.Do(r.Context(), "replicaof", host, port).Err())
	return client, link
}

// buyOnce lets clients buy until end, each time as a new user and without asking again.
func (r *run) buyOnce(clients int) (end func()) {
	ctx, stop := context.WithCancel(r.Context())
	var (
		buying sync.WaitGroup
		n      atomic.Int64
	)
	for range clients {
		buying.Go(func() {
			for ctx.Err() == nil {
				user := n.Add(1)
				r.buyers.Buy(r.Context(), r.site.Servers[user%2], user)
				<-time.After(4 * time.Millisecond)
			}
		})
	}
	return func() {
		stop()
		r.await("the last answer", closedAfter(&buying))
	}
}

// expectUnknown returns an error until a buyer who asked since the cut was answered that the outcome is unknown.
func (r *run) expectUnknown(cut time.Time) error {
	for _, a := range r.buyers.Record.Answers() {
		if !a.Sent.Before(cut) && a.Outcome == checker.Unknown && strings.HasPrefix(a.Code, "504 ") {
			return nil
		}
	}
	return fmt.Errorf("the answers are %v", r.buyers.Record.Counts())
}

// splitSince classifies the orders that buyers were told of since the cut.
func (r *run) splitSince(cut time.Time, promoted *box.Redis) (s split) {
	r.Helper()
	holders, err := promoted.HGetAll(r.Context(), promoted.BuyersKey(r.buyers.Voucher)).Result()
	r.must(err)
	rows, err := r.site.Ledger.Orders(r.Context(), r.buyers.Voucher)
	r.must(err)
	recorded := map[int64]bool{}
	for _, o := range rows {
		recorded[o.ID] = true
	}
	for _, a := range r.buyers.Record.Answers() {
		if a.Outcome != checker.Accepted || a.Sent.Before(cut) {
			continue
		}
		s.told++
		if holders[fmt.Sprint(a.User)] == fmt.Sprint(a.Order) {
			continue
		}
		s.dropped++
		if !recorded[a.Order] {
			s.gone++
		}
	}
	return s
}
