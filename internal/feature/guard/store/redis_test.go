package store

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/tally"
	"seckill/internal/order"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/testkit"
)

// rig is the Redis of guards on one server.
type rig struct {
	*Redis

	client redis.UniversalClient
}

// partitions are those of one server.
type partitions struct {
	client redis.UniversalClient
	prefix string
}

func (p partitions) In(int) redis.UniversalClient { return p.client }

func (p partitions) Key(partition int, rest string) string {
	return p.prefix + "{p" + strconv.Itoa(partition) + "}:" + rest
}

func rigOn(client redis.UniversalClient, prefix string) *rig {
	return &rig{NewRedis(partitions{client, prefix}), client}
}

// redisAt returns a client of a server, which is closed when the test ends.
func redisAt(t *testing.T, addr string) redis.UniversalClient {
	t.Helper()
	config := rediskit.Config{Topology: rediskit.Single, Addrs: []string{addr}, Timeout: 10 * time.Second}
	client := rediskit.NewClient(config.Options())
	t.Cleanup(func() { _ = client.Close() }) // nothing is under way
	return client
}

var sale7 = order.SaleRef{VoucherID: 7}

// TestRedis runs on a real server, on a real cluster, and on the in-process server of the embedded mode.
func TestRedis(t *testing.T) {
	t.Parallel()
	cluster := testkit.StartRedisCluster(t)
	for server, open := range map[string]func(*testing.T) *rig{
		"redis": func(t *testing.T) *rig {
			client, prefix := testkit.Redis(t)
			return rigOn(client, prefix)
		},
		"cluster": func(t *testing.T) *rig {
			config := rediskit.Config{
				Topology: rediskit.Cluster, Addrs: []string{cluster.Addr}, Timeout: 10 * time.Second,
			}
			client := rediskit.NewClient(config.Options())
			t.Cleanup(func() { _ = client.Close() }) // nothing is under way
			return rigOn(client, strconv.FormatInt(time.Now().UnixNano(), 36)+":")
		},
		"miniredis": func(t *testing.T) *rig { return rigOn(redisAt(t, miniredis.RunT(t).Addr()), "") },
	} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			for name, test := range map[string]func(*testing.T, *rig){"counts": testCounts, "spending": testSpending} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, open(t))
				})
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T any](t *testing.T, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What instances count of guards is added up; the highest networks are shown, and nonsense in the keys hides nothing
// else.
func testCounts(t *testing.T, r *rig) {
	figures := func() tally.Figures {
		got, err := r.Figures(t.Context(), sale7)
		must(t, err)
		return got
	}
	equal(t, tally.Figures{Counts: map[tally.Count]int64{}}, figures())
	keys := r.countKeys(sale7)
	must(t, r.client.Set(t.Context(), keys[0], "nonsense", 0).Err())
	must(t, r.client.Set(t.Context(), keys[2], "nonsense", 0).Err())
	equal(t, 0, len(figures().Counts))

	many := make(map[string]int64)
	for i := range 2 * networksKept {
		many[fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)] = int64(i) + 1
	}
	must(t, r.AddCounts(t.Context(), sale7,
		&tally.Delta{Counts: map[tally.Count]int64{"stop:limits": 3}, Stopped: many}))
	must(t, r.AddCounts(t.Context(), sale7, &tally.Delta{
		Counts:  map[tally.Count]int64{"stop:limits": 1 << 40, "dry:conditions": 2, "units:day": 1},
		Stopped: map[string]int64{"192.0.2.0/24": 5000}, Units: map[string]int64{
			"2001:db8::/48": 1, tally.OtherNetworks: 2,
		},
	}))
	must(t, r.client.HSet(t.Context(), keys[0], "units:week", "many").Err())
	got := figures()
	equal(t, map[tally.Count]int64{"stop:limits": 1<<40 + 3, "dry:conditions": 2, "units:day": 1}, got.Counts)
	equal(t, networksShown, len(got.Stopped))
	equal(t, []tally.NetworkCount{{Network: "192.0.2.0/24", Count: 5000}, {Network: "10.7.207.0/24", Count: 2000}},
		got.Stopped[:2])
	equal(t, []tally.NetworkCount{{Network: tally.OtherNetworks, Count: 2}, {Network: "2001:db8::/48", Count: 1}},
		got.Units)
	kept, err := r.client.ZCard(t.Context(), keys[1]).Result()
	must(t, err)
	equal(t, int64(networksKept), kept)
	for _, key := range keys {
		if ttl, err := r.client.PTTL(t.Context(), key).Result(); err != nil ||
			ttl < guardsKept-time.Minute || ttl > guardsKept {
			t.Errorf("%s is kept for %v, %v", key, ttl, err)
		}
	}
}

// TestFiguresAway: what a Redis in trouble does not tell is not nothing.
func TestFiguresAway(t *testing.T) {
	t.Parallel()
	mini := miniredis.RunT(t)
	r := rigOn(redisAt(t, mini.Addr()), "")
	for _, says := range []string{
		"LOADING Redis is loading the dataset in memory", "MASTERDOWN Link with MASTER is down",
	} {
		mini.SetError(says)
		if got, err := r.Figures(t.Context(), sale7); !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s: %+v, %v", says, got, err)
		}
	}
	mini.SetError("")
}

// What one instance tells all others hear once, for some seconds, and nobody hears what they told themselves.
func testSpending(t *testing.T, r *rig) {
	cursors := map[string]string{}
	exchange := func(name string, here ...budget.Spent) (budgets []string) {
		t.Helper()
		elsewhere, cursor, err := r.ExchangeSpending(t.Context(), name, cursors[name], here)
		must(t, err)
		cursors[name] = cursor
		for _, s := range elsewhere {
			if s.Ago < 0 || s.Ago > spendingKept {
				t.Errorf("%+v", s)
			}
			budgets = append(budgets, fmt.Sprint(s.Budget, "=", int64(s.Time)))
		}
		return budgets
	}
	spent := func(of string, ns int64) budget.Spent {
		return budget.Spent{Budget: of, Time: time.Duration(ns)}
	}
	key := r.spendingKey()

	must(t, r.client.Set(t.Context(), key, "nonsense", 0).Err())
	equal(t, nil, exchange("a"))
	equal(t, nil, exchange("a", spent("7:user:1", 5), spent("7:address4:2", 1<<40)))
	equal(t, nil, exchange("a", spent("7:user:1", 5)))
	equal(t, []string{"7:user:1=5", "7:address4:2=1099511627776", "7:user:1=5"}, exchange("b", spent("7:user:1", 6)))
	equal(t, nil, exchange("b"))
	equal(t, []string{"7:user:1=6"}, exchange("a", spent("7:user:1", 7)))
	equal(t, []string{"7:user:1=7"}, exchange("b"))
	equal(t, 5, len(exchange("c"))) // a new one hears of the last seconds

	// What somebody wrote there, and what is too old or of a clock that was set back since, hides nothing.
	now := float64(time.Now().UnixMicro())
	for member, at := range map[string]float64{
		"x": now, "a 1": now, "y 1 7:user:1": now, "z 1 7:user:1 many 7:user:9 2": now, "old 1 7:user:3 1": now - 11e6,
		"ahead 1 7:user:3 1": now + 3600e6,
	} {
		must(t, r.client.ZAdd(t.Context(), key, redis.Z{Score: at, Member: member}).Err())
	}
	equal(t, []string{"7:user:9=2"}, exchange("a", spent("7:user:1", 8)))
	equal(t, nil, exchange("a"))
	if ttl, err := r.client.PTTL(t.Context(), key).Result(); err != nil || ttl <= 0 || ttl > 2*spendingKept {
		t.Errorf("it is kept for %v, %v", ttl, err)
	}

	// Redis has lost everything, and its clock is behind what the instance has seen.
	must(t, r.client.Del(t.Context(), key).Err())
	cursors["b"] = fmt.Sprintf("%.0f", now+5e6)
	equal(t, nil, exchange("b"))
	equal(t, nil, exchange("a", spent("7:user:1", 9)))
	equal(t, []string{"7:user:1=9"}, exchange("b"))
}
