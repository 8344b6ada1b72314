package redisstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/guard"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// statsTests are the behaviour of a sale's stats.
var statsTests = behaviour{
	"stats":          testStats,
	"stats, no sale": testStatsOfNothing,
	"guards' counts": testGuardCounts,
	"spending":       testSpending,
}

func testStats(t *testing.T, r *rig) {
	v := voucher.Voucher{ID: 7, Status: voucher.OnShelf, Sale: &voucher.Sale{}}
	r.open(3, r.hour(5))
	r.admit(requests(1, 1)...)
	r.admit(requests(2, 1)...)
	r.must(r.Add(r.ctx(), r.sale, order.Counts{"accepted": 2, "sold_out": 1 << 40}))
	r.must(r.Add(r.ctx(), r.sale, order.Counts{"sold_out": 1, "unknown_outcome": 3}))
	r.must(r.commands.HSet(r.ctx(), r.keys.outcomes(r.sale), "another_day", "9").Err()) // of a later version

	got, err := r.LiveStats(r.ctx(), v)
	r.must(err)
	equal(t, order.Counts{"accepted": 2, "sold_out": 1<<40 + 1, "unknown_outcome": 3}, got.Answers)
	equal(t, voucher.StateOnSale, got.State)
	equal(t, [4]int64{3, 2, 2, 0}, [4]int64{got.View.Stock, got.View.Buyers, got.Waiting, got.DeadLetters})
	if got.OldestWaiting < 0 || got.OldestWaiting > time.Minute {
		t.Errorf("the oldest has waited %v", got.OldestWaiting)
	}
	kept, err := r.commands.PTTL(r.ctx(), r.keys.outcomes(r.sale)).Result()
	r.must(err)
	if kept < countsKept-time.Minute || kept > countsKept {
		t.Errorf("the counts are kept for %v", kept)
	}
	r.must(r.commands.HSet(r.ctx(), r.keys.outcomes(r.sale), "accepted", "many").Err())
	if _, err := r.LiveStats(r.ctx(), v); err == nil {
		t.Error("a count that is none was read")
	}
}

func testStatsOfNothing(t *testing.T, r *rig) {
	got, err := r.LiveStats(r.ctx(), voucher.Voucher{ID: 7, Status: voucher.OnShelf, Sale: &voucher.Sale{}})
	r.must(err)
	equal(t, order.Counts{}, got.Answers)
	equal(t, voucher.StatePreparing, got.State)
	equal(t, time.Duration(0), got.OldestWaiting)
}

// What instances count of guards is added up; the highest networks are shown, and nonsense in the keys hides nothing
// else.
func testGuardCounts(t *testing.T, r *rig) {
	v := voucher.Voucher{ID: 7, Status: voucher.OnShelf, Sale: &voucher.Sale{}}
	r.open(3, r.hour(5))
	figures := func() guard.Figures {
		got, err := r.LiveStats(r.ctx(), v)
		r.must(err)
		return got.Guards
	}
	equal(t, guard.Figures{Counts: map[guard.Count]int64{}}, figures())
	keys := r.keys.guards(r.sale)
	r.must(r.commands.Set(r.ctx(), keys[0], "nonsense", 0).Err())
	r.must(r.commands.Set(r.ctx(), keys[2], "nonsense", 0).Err())
	equal(t, 0, len(figures().Counts))

	many := make(map[string]int64)
	for i := range 2 * networksKept {
		many[fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)] = int64(i) + 1
	}
	r.must(r.AddGuardCounts(r.ctx(), r.sale,
		&guard.Delta{Counts: map[guard.Count]int64{"stop:limits": 3}, Stopped: many}))
	r.must(r.AddGuardCounts(r.ctx(), r.sale, &guard.Delta{
		Counts:  map[guard.Count]int64{"stop:limits": 1 << 40, "dry:conditions": 2, "units:day": 1},
		Stopped: map[string]int64{"192.0.2.0/24": 5000}, Units: map[string]int64{
			"2001:db8::/48": 1, guard.OtherNetworks: 2,
		},
	}))
	r.must(r.commands.HSet(r.ctx(), keys[0], "units:week", "many").Err())
	got := figures()
	equal(t, map[guard.Count]int64{"stop:limits": 1<<40 + 3, "dry:conditions": 2, "units:day": 1}, got.Counts)
	equal(t, networksShown, len(got.Stopped))
	equal(t, []guard.NetworkCount{{Network: "192.0.2.0/24", Count: 5000}, {Network: "10.7.207.0/24", Count: 2000}},
		got.Stopped[:2])
	equal(t, []guard.NetworkCount{{Network: guard.OtherNetworks, Count: 2}, {Network: "2001:db8::/48", Count: 1}},
		got.Units)
	kept, err := r.commands.ZCard(r.ctx(), keys[1]).Result()
	r.must(err)
	equal(t, int64(networksKept), kept)
	for _, key := range keys {
		if ttl, err := r.commands.PTTL(r.ctx(), key).Result(); err != nil ||
			ttl < guardsKept-time.Minute || ttl > guardsKept {
			t.Errorf("%s is kept for %v, %v", key, ttl, err)
		}
	}
}

// TestGuardFiguresAway: what a Redis in trouble does not tell is not nothing.
func TestGuardFiguresAway(t *testing.T) {
	t.Parallel()
	r := newMiniRig(t)
	for _, says := range []string{
		"LOADING Redis is loading the dataset in memory", "MASTERDOWN Link with MASTER is down",
	} {
		r.mini.SetError(says)
		if got, err := r.GuardFigures(r.ctx(), r.sale); !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s: %+v, %v", says, got, err)
		}
	}
	r.mini.SetError("")
}

// What one instance tells all others hear once, for some seconds, and nobody hears what they told themselves.
func testSpending(t *testing.T, r *rig) {
	cursors := map[string]string{}
	exchange := func(name string, here ...guard.Spent) (budgets []string) {
		t.Helper()
		elsewhere, cursor, err := r.ExchangeSpending(r.ctx(), name, cursors[name], here)
		r.must(err)
		cursors[name] = cursor
		for _, s := range elsewhere {
			if s.Ago < 0 || s.Ago > spendingKept {
				t.Errorf("%+v", s)
			}
			budgets = append(budgets, fmt.Sprint(s.Budget, "=", int64(s.Time)))
		}
		return budgets
	}
	spent := func(budget string, ns int64) guard.Spent { return guard.Spent{Budget: budget, Time: time.Duration(ns)} }
	key := r.keys.spending()

	r.must(r.commands.Set(r.ctx(), key, "nonsense", 0).Err())
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
		r.must(r.commands.ZAdd(r.ctx(), key, redis.Z{Score: at, Member: member}).Err())
	}
	equal(t, []string{"7:user:9=2"}, exchange("a", spent("7:user:1", 8)))
	equal(t, nil, exchange("a"))
	if ttl, err := r.commands.PTTL(r.ctx(), key).Result(); err != nil || ttl <= 0 || ttl > 2*spendingKept {
		t.Errorf("it is kept for %v, %v", ttl, err)
	}

	// Redis has lost everything, and its clock is behind what the instance has seen.
	r.must(r.commands.Del(r.ctx(), key).Err())
	cursors["b"] = fmt.Sprintf("%.0f", now+5e6)
	equal(t, nil, exchange("b"))
	equal(t, nil, exchange("a", spent("7:user:1", 9)))
	equal(t, []string{"7:user:1=9"}, exchange("b"))
}
