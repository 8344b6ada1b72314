package checklist

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"seckill/internal/kit/check"
	"seckill/internal/kit/words"
	"seckill/internal/order/partition"
)

const (
	ok, warning, no  = check.OK, check.Warning, check.No
	english, chinese = words.English, words.Chinese
)

var now = time.Date(2026, 6, 1, 19, 0, 0, 0, time.UTC)

// good returns facts with no objection to the sale.
func good() Facts {
	return Facts{
		Redis: Redis{
			Answer: time.Millisecond, Write: 2 * time.Millisecond, AppendOnly: "yes", AppendFsync: "always",
			Eviction: "noeviction", Used: 10 << 20, Limit: 100 << 20, Replicas: 1,
		},
		Ledger: Ledger{
			Answer: time.Millisecond, Commit: 5 * time.Millisecond, FlushAtTrx: "1", SyncBinlog: "1",
			Connections: 20, MaxConnected: 151,
		},
		Instances: []partition.Instance{{Name: "a", Version: "v1.2.3"}, {Name: "b", Version: "v1.2.3"}}, PoolSize: 16,
		HasProvider: true, Sale: &Sale{
			VoucherID: 7, Issued: 5000, Price: 1000, Worth: 1000, Currency: "CNY",
			Begin: now.Add(time.Hour), End: now.Add(2 * time.Hour),
		},
	}
}

// A Redis that hides INFO is a no-go, and its memory is unknown.
func TestListWithoutInfo(t *testing.T) {
	t.Parallel()
	f := good()
	f.Redis.NoInfo, f.Redis.Used = true, 0
	lines := List(f, now)
	for name, level := range map[string]check.Level{"redis.restarts": no, "redis.memory": warning} {
		if i := slices.IndexFunc(lines, func(l check.Line) bool { return l.Name == name }); lines[i].Level != level {
			t.Errorf("%s is %v, want %v", name, lines[i].Level, level)
		}
	}
	if check.Go(lines) {
		t.Error("it is a go")
	}
}

// Each problem makes its own line a warning or a no, and no other line.
func TestList(t *testing.T) {
	t.Parallel()
	away := errors.New("connection refused")
	for name, tc := range map[string]struct {
		change func(*Facts)
		line   string
		level  check.Level
		says   string
	}{
		"good":              {func(*Facts) {}, "", ok, ""},
		"no sale asked for": {func(f *Facts) { f.Sale = nil }, "", ok, ""},
		"it runs":           {func(f *Facts) { f.Sale.Begin = now.Add(-time.Minute) }, "", ok, ""},
		"it has ended": {
			func(f *Facts) { f.Sale.Begin, f.Sale.End = now.Add(-time.Hour), now }, "sale.window", no, "ended",
		},
		"it is retired":      {func(f *Facts) { f.Sale.Retired = true }, "sale.window", no, "ended"},
		"off the shelf":      {func(f *Facts) { f.Sale.OffShelf = true }, "sale.window", no, "shelf"},
		"paused":             {func(f *Facts) { f.Sale.Paused = true }, "sale.window", no, "resume"},
		"no unit is missing": {func(*Facts) {}, "sale.units", ok, "all accounted for"},
		"units not known": {
			func(f *Facts) { f.Sale.Undecided = "Redis is rebuilding it" }, "sale.units", warning,
			"not found out: Redis is rebuilding it",
		},
		"units missing": {
			func(f *Facts) { f.Sale.Unbalanced = "redis_wrong: +3" }, "sale.units", no, "redis_wrong: +3",
		},
		"dearer than its worth": {
			func(f *Facts) { f.Sale.Price = 1001 }, "sale.price", warning, "pay ¥10.01 for what is worth ¥10.00",
		},
		"nobody takes money": {
			func(f *Facts) { f.HasProvider = false }, "payment.provider", no, "SECKILL_PAYMENT_PROVIDER",
		},
		"free, no provider": {func(f *Facts) { f.HasProvider, f.Sale.Price = false, 0 }, "", ok, ""},
		"changed today": {
			func(f *Facts) { f.Sale.Changes = []Change{{now.Add(-time.Hour), "change", []string{"endTime"}, 3}} },
			"sale.changes", warning, "changed when it ends",
		},
		"paused by the service": {
			func(f *Facts) { f.Sale.Changes = []Change{{now.Add(-time.Hour), "pause", nil, 0}} }, "sale.changes",
			warning, "the service paused it",
		},
		"changed last week": {
			func(f *Facts) { f.Sale.Changes = []Change{{now.Add(-200 * time.Hour), "stock", nil, 3}} }, "", ok, "",
		},

		"Redis is away": {func(f *Facts) { f.RedisErr = away }, "redis.answers", no, "connection refused"},
		"Redis is slow": {
			func(f *Facts) { f.Redis.Answer = 20 * time.Millisecond }, "redis.answers", warning, "20 ms",
		},
		"Redis is hopeless": {func(f *Facts) { f.Redis.Answer = time.Second }, "redis.answers", no, "1 s"},
		"evicts": {
			func(f *Facts) { f.Redis.Eviction = "allkeys-lru" }, "redis.durability", no, "allkeys-lru",
		},
		"no append-only file": {
			func(f *Facts) { f.Redis.AppendOnly = "no" }, "redis.durability", no, "appendonly yes",
		},
		"never flushes": {
			func(f *Facts) { f.Redis.AppendFsync = "no" }, "redis.durability", no, "appendfsync always",
		},
		"measured": {
			func(f *Facts) { f.Redis.Eviction = "" }, "redis.durability", warning,
			"measured: a write is on disk within 2 ms, and then answered",
		},
		"measured, not flushed": {
			func(f *Facts) { f.Redis.AppendFsync = "everysec" }, "redis.durability", warning,
			"measured: a write is answered within 2 ms, before it is on disk",
		},
		"measured, in memory": {
			func(f *Facts) { f.Redis.AppendOnly = "no" }, "redis.durability", no,
			"measured: a write is answered within 2 ms, and in memory alone",
		},
		"measured, not known": {
			func(f *Facts) { f.Redis.AppendFsync = "" }, "redis.durability", warning,
			"(measured: a write is answered within 2 ms)",
		},
		"flushes each second": {
			func(f *Facts) { f.Redis.AppendFsync = "everysec" }, "redis.durability", warning, "last second",
		},
		"shows nothing": {
			func(f *Facts) { f.Redis.AppendFsync, f.Redis.AppendOnly, f.Redis.Eviction = "", "", "" },
			"redis.durability", warning, "appendonly ?",
		},
		"cannot write":           {func(f *Facts) { f.Redis.FailedWrites = true }, "redis.durability", no, "disk"},
		"memory is full":         {func(f *Facts) { f.Redis.Used = 90 << 20 }, "redis.memory", no, "of 100 MiB"},
		"orders fill the memory": {func(f *Facts) { f.Sale.Issued = 200_000 }, "redis.memory", no, "86 of 100 MiB"},
		"memory is scarce":       {func(f *Facts) { f.Redis.Used = 65 << 20 }, "redis.memory", warning, "maxmemory"},
		"no limit of memory":     {func(f *Facts) { f.Redis.Limit = 0 }, "redis.memory", warning, "no maxmemory"},
		"a replica is missing": {
			func(f *Facts) { f.Confirming = 2 }, "redis.replicas", no, "1 are connected, 2 must",
		},
		"one more failure": {
			func(f *Facts) { f.Confirming = 1 }, "redis.replicas", warning, "one more failure stops the sale",
		},
		"one replica to spare": {func(f *Facts) { f.Confirming, f.Redis.Replicas = 1, 2 }, "", ok, ""},
		"Redis's clock": {
			func(f *Facts) { f.Redis.Ahead = -2 * time.Second }, "redis.clock", warning, "2 s behind",
		},
		"Redis's clock is lost": {func(f *Facts) { f.Redis.Ahead = time.Minute }, "redis.clock", no, "1 min ahead"},

		"the database is away": {
			func(f *Facts) { f.LedgerErr = away }, "ledger.answers", no, "connection refused",
		},
		"read-only": {func(f *Facts) { f.Ledger.ReadOnly = true }, "ledger.answers", no, "primary"},
		"slow commits": {
			func(f *Facts) { f.Ledger.Commit = 60 * time.Millisecond }, "ledger.answers", warning, "60 ms",
		},
		"hopeless commits": {func(f *Facts) { f.Ledger.Commit = time.Second }, "ledger.answers", no, "1 s"},
		"measured commits": {
			func(f *Facts) { f.Ledger.SyncBinlog = "0" }, "ledger.durability", warning,
			"measured: a transaction is done within 5 ms, before it is on disk",
		},
		"commits are not flushed": {
			func(f *Facts) { f.Ledger.FlushAtTrx = "2" }, "ledger.durability", warning, "commit 2",
		},
		"binary log is not flushed": {
			func(f *Facts) { f.Ledger.SyncBinlog = "0" }, "ledger.durability", warning, "sync_binlog 0",
		},
		"no binary log": {func(f *Facts) { f.Ledger.SyncBinlog = "" }, "", ok, ""},
		"too few connections": {
			func(f *Facts) { f.Ledger.MaxConnected = 40 }, "ledger.connections", no, "max_connections to 42",
		},
		"the database's clock": {
			func(f *Facts) { f.Ledger.Ahead = 3 * time.Second }, "ledger.clock", warning, "3 s ahead",
		},

		"no instance":     {func(f *Facts) { f.Instances = nil }, "instances", no, "start some"},
		"one instance":    {func(f *Facts) { f.Instances = f.Instances[:1] }, "instances", warning, "second one"},
		"an old instance": {func(f *Facts) { f.Instances[1].Old = true }, "instances.versions", warning, "upgrade: b"},
		"two versions": {
			func(f *Facts) { f.Instances[1].Version = "v1.3.0" }, "instances.versions", warning, "v1.2.3: a; v1.3.0: b",
		},
		"an unnamed one": {
			func(f *Facts) { f.Instances[0].Version = "" }, "instances.versions", warning, "?: a; v1.2.3: b",
		},
		"many orders wait": {func(f *Facts) { f.Waiting = 2000 }, "orders.waiting", no, "rows: 2,000"},
		"a dead letter":    {func(f *Facts) { f.DeadLetters = 1 }, "orders.waiting", warning, "dead letters: 1"},
		"unknown backlog":  {func(f *Facts) { f.BacklogErr = away }, "orders.waiting", warning, "connection refused"},
		"a provider that is set no more": {
			func(f *Facts) { f.Unset = []UnsetProvider{{"bank", 3}} }, "payment.unset", warning, "no more: 3",
		},
		"what a feature says": {func(f *Facts) {
			f.Sale.More = []check.Line{
				check.NewLine("feature", warning, check.Say("not tried", "未试"), check.Say("try it", "试一试")),
			}
		}, "feature", warning, "not tried"},
		"the sale is not known": {
			func(f *Facts) { f.Sale, f.SaleErr = nil, away }, "sale.window", no, "connection refused",
		},
		"embedded": {
			func(f *Facts) { f.Embedded, f.Redis.AppendOnly, f.Instances = true, "", nil },
			"instances", warning, "trying out",
		},
		"more than one thing": {func(f *Facts) { f.Sale.Paused, f.DeadLetters = true, 0 }, "sale.window", no, "paused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts := good()
			tc.change(&facts)
			lines := List(facts, now)
			for _, l := range lines {
				want := ok
				if l.Name == tc.line {
					want = tc.level
				}
				texts := l.What(english) + " → " + l.Do(english)
				if l.Level != want {
					t.Errorf("%s is %s, want %s: %s", l.Name, l.Level, want, texts)
				}
				if l.Name == tc.line && !strings.Contains(texts, tc.says) {
					t.Errorf("%s says %q, not %q", l.Name, texts, tc.says)
				}
				if (l.Do(english) == "") != (l.Level == ok) || (l.Do(chinese) == "") != (l.Level == ok) {
					t.Errorf("%s is %s and says what to do: %q, %q", l.Name, l.Level, l.Do(english), l.Do(chinese))
				}
				if strings.Contains(fmt.Sprint(l), "%!") {
					t.Errorf("a text and its values do not match: %v", l)
				}
			}
			if check.Go(lines) == (tc.level == no) {
				t.Errorf("go: %t", check.Go(lines))
			}
		})
	}
}

// If the instances are unknown, it is unknown whether their connections suffice.
func TestUnknownInstances(t *testing.T) {
	t.Parallel()
	facts := good()
	facts.Instances, facts.InstancesErr = nil, errors.New("connection refused")
	var warned []string
	for _, l := range List(facts, now) {
		if l.Level != ok {
			warned = append(warned, l.Name+" "+string(l.Level))
		}
	}
	if want := []string{"ledger.connections warning", "instances warning"}; !slices.Equal(warned, want) {
		t.Errorf("%q, want %q", warned, want)
	}
}

// Every advice exists in Chinese as well.
func TestChinese(t *testing.T) {
	t.Parallel()
	facts := good()
	facts.Sale.Paused, facts.Redis.AppendOnly, facts.Ledger.ReadOnly, facts.HasProvider = true, "no", true, false
	facts.Redis.Answer, facts.Confirming, facts.Redis.Limit, facts.Instances, facts.DeadLetters = time.Second,
		5, 0, nil, 3
	facts.Ledger.MaxConnected, facts.Ledger.FlushAtTrx, facts.Redis.Ahead, facts.Sale.Unbalanced = 1, "0",
		time.Hour, "+1"
	for _, l := range List(facts, now) {
		if l.Level != ok && !strings.ContainsFunc(l.Do(chinese),
			func(r rune) bool { return unicode.Is(unicode.Han, r) }) && l.Name != "sale.units" {
			t.Errorf("%s: %q", l.Name, l.Do(chinese))
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	calls := 0
	if _, err := median(func() error { calls++; return nil }); err != nil || calls != samples {
		t.Errorf("%d calls, %v", calls, err)
	}
	if _, err := median(func() error { return errors.New("away") }); err == nil {
		t.Error("the error is lost")
	}
}
