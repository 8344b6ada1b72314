package test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// refusedStart starts the server, which must fail with an error that contains all the words.
func refusedStart(t *testing.T, s *box.Server, words ...string) {
	t.Helper()
	p, err := s.Launch()
	if err != nil {
		t.Fatal(err)
	}
	if code, err := s.ExitCode(p); err != nil || code != 1 {
		t.Fatalf("exit code %d, %v", code, err)
	}
	for _, word := range words {
		if !strings.Contains(s.Log.String(), word) {
			t.Errorf("the log does not name %q", word)
		}
	}
}

// oldOrder adds an accepted order to partition n in the way of versions that did not know the partition's word.
func oldOrder(t *testing.T, s *box.Site, n int) {
	t.Helper()
	err := s.Redis.XAdd(t.Context(), &redis.XAddArgs{
		Stream: s.Redis.In(n).StreamKey(), Values: []string{"v", "1", "u", "7", "o", "9", "e", "1", "s", "1"},
	}).Err()
	if err != nil {
		t.Fatal(err)
	}
}

// keysIn returns the keys in the site's Redis.
func keysIn(t *testing.T, s *box.Site) string {
	t.Helper()
	keys, err := s.Redis.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(len(keys), keys)
}

// emptyOn returns a site on its own Redis and schema, with servers that are not started.
func emptyOn(t *testing.T, instances, partitions int) (s *box.Site, addr string) {
	t.Helper()
	own, dsn := testkit.StartRedis(t), testkit.MySQL(t)
	s = box.EmptySite(t, own.Addr, "", dsn)
	for range instances {
		s.Add(t, own.Addr, dsn, map[string]string{"SECKILL_PARTITIONS": strconv.Itoa(partitions)})
	}
	return s, own.Addr
}

// A start that finds orders of an older version or of another installation is refused, and says what to do. Nothing may
// be written, neither there nor in an empty partition, and no order may be recorded.
func TestOtherDataRefusesAStart(t *testing.T) {
	t.Parallel()
	for name, word := range map[string]string{"of an older version": "", "of another installation": "1/another"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, addr := emptyOn(t, 1, 2)
			oldOrder(t, s, 1)
			found := "no {p1}:format"
			if word != "" {
				found = word
				if err := s.Redis.Set(t.Context(), "{p1}:format", word, 0).Err(); err != nil {
					t.Fatal(err)
				}
			}
			before := keysIn(t, s)
			for range 2 { // the first start creates the schema
				refusedStart(t, s.Servers[0], found, addr, "{p1}", "this ledger's word is",
					"SECKILL_REDIS_ADDRS", "docs/runbook.md")
			}
			if after := keysIn(t, s); after != before {
				t.Errorf("Redis has %s, and had %s", after, before)
			}
			if orders, err := s.Ledger.Orders(t.Context(), 1); err != nil || len(orders) > 0 {
				t.Errorf("recorded: %v, %v", orders, err)
			}
			if n := addedPartitions(t, s); n != 0 {
				t.Errorf("%d partitions were added", n)
			}
			if err := s.Redis.Del(t.Context(), "{p1}:format", s.Redis.In(1).StreamKey()).Err(); err != nil {
				t.Fatal(err)
			}
			s.Start(t) // after doing what the message says
			if n := addedPartitions(t, s); n != 1 {
				t.Errorf("%d partitions were added", n)
			}
		})
	}
}

// addedPartitions returns how many partitions the ledger has besides the first.
func addedPartitions(t *testing.T, s *box.Site) (n int) {
	t.Helper()
	const query = "SELECT COUNT(*) FROM tb_setting WHERE name LIKE 'partition%'"
	if err := s.Ledger.DB.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Two installations share a Redis by mistake: the second is refused, and the first goes on selling.
func TestSecondInstallationIsRefused(t *testing.T) {
	t.Parallel()
	const units = 20
	first, addr := emptyOn(t, 2, 1)
	first.Start(t) // starts both instances at once on empty stores
	b := first.Buyers(first.CreateSale(t, units, time.Now().Add(time.Hour)))
	dsn := testkit.MySQL(t)
	second := box.EmptySite(t, addr, "", dsn)
	second.Add(t, addr, dsn, nil)
	refusedStart(t, second.Servers[0], wordOf(t, first), "this ledger's word is", addr)
	b.BuyAll(t.Context(), 8, box.Users(1, units+10))
	if e := first.Check(t, b, units); e.Live() != units {
		t.Errorf("%d sold", e.Live())
	}
}

// wordOf returns the word of partition 0.
func wordOf(t *testing.T, s *box.Site) string {
	t.Helper()
	word, err := s.Redis.Get(t.Context(), "{p0}:format").Result()
	if err != nil {
		t.Fatal(err)
	}
	return word
}

// While instances run, a partition gets another installation's data, as after a failover to the wrong server. Its sales
// are paused and nothing is written there. The instances stay alive and report it, and the sales of other partitions go
// on. Later the partition is ours again.
func TestOtherDataInASale(t *testing.T) {
	t.Parallel()
	const units = 20
	s, _ := emptyOn(t, 2, 2)
	s.Start(t)
	other, here := saleIn(t, s, 1, units), saleIn(t, s, 0, units)
	b := s.Buyers(other)
	b.BuyAll(t.Context(), 4, box.Users(1, 5))
	in1 := s.Redis.In(1)
	box.Eventually(t, "an empty stream", func() error { return emptyStream(t.Context(), in1) })
	word := wordOf(t, s)
	if err := s.Redis.Set(t.Context(), "{p1}:format", "1/another", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for i, server := range s.Servers {
		box.Eventually(t, "a partition with other data",
			func() error { return readyNames(t, s, server, "degraded", "partitions [1]") })
		buy := box.Request{
			Method: http.MethodPost, URL: server.URL("/voucher/seckill/" + strconv.FormatInt(other, 10)),
			Token: box.BuyerToken(int64(100 + i)),
		}
		if a := s.Client.Must(t, http.StatusServiceUnavailable, buy); a.Code != "PAUSED" {
			t.Errorf("a purchase is answered %s", a.Body)
		}
		box.Eventually(t, "a line of the log with both words", func() error { // it comes after /readyz reports it
			if log := server.Log.String(); !strings.Contains(log, "1/another") || !strings.Contains(log, word) {
				return errors.New("there is none")
			}
			return nil
		})
	}
	box.Eventually(t, "the end of reads that wait", func() error { return noReads(t.Context(), in1) })
	oldOrder(t, s, 1) // the other installation's
	before := contentsOf(t, in1, other)
	s.AwaitState(t, other, "paused")
	draft := box.SeckillDraft(1, 5, time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	draft["partition"] = 1
	create := box.Request{Method: http.MethodPost, URL: s.URL("/voucher/seckill"), Token: box.AdminToken(), Body: draft}
	if a := s.Client.Must(t, http.StatusConflict, create); a.Code != "OTHER_DATA" {
		t.Errorf("a sale there is answered %s", a.Body)
	}
	list := box.Command(t, s.Servers[0].Settings, "partition", "list")
	if list.Code != 1 || !strings.Contains(list.Stdout, "has other data") ||
		!strings.Contains(list.Stderr, "1/another") {
		t.Errorf("partition list: %d\n%s%s", list.Code, list.Stdout, list.Stderr)
	}
	sells := s.Buyers(here)
	sells.BuyAll(t.Context(), 4, box.Users(1, units+5))
	if e := s.Check(t, sells, units); e.Live() != units {
		t.Errorf("%d sold in partition 0", e.Live())
	}
	if after := contentsOf(t, in1, other); after != before {
		t.Errorf("partition 1 has\n%s, and had\n%s", after, before)
	}

	entry := s.Redis.XTrimMaxLen(t.Context(), in1.StreamKey(), 0).Err()
	if err := s.Redis.Set(t.Context(), "{p1}:format", word, 0).Err(); entry != nil || err != nil {
		t.Fatal(entry, err)
	}
	for _, server := range s.Servers {
		box.Eventually(t, "readiness", func() error { return readyNames(t, s, server, `"ready"`) })
	}
	b.BuyAll(t.Context(), 4, box.Users(1, units+5))
	s.Redis.Partition = 1
	if e := s.Check(t, b, units); e.Live() != units {
		t.Errorf("%d sold in partition 1", e.Live())
	}
}

// emptyStream returns an error while entries wait.
func emptyStream(ctx context.Context, r *box.Redis) error {
	n, err := r.XLen(ctx, r.StreamKey()).Result()
	if err == nil && n > 0 {
		err = fmt.Errorf("%d entries wait", n)
	}
	return err
}

// noReads returns an error until every consumer's last read started longer ago than a read may block.
func noReads(ctx context.Context, r *box.Redis) error {
	consumers, err := r.XInfoConsumers(ctx, r.StreamKey(), box.RecorderGroup).Result()
	for _, c := range consumers {
		if c.Idle < 1100*time.Millisecond {
			err = fmt.Errorf("%s read %v ago", c.Name, c.Idle)
		}
	}
	return err
}

// readyNames returns an error unless the answer of /readyz contains the words.
func readyNames(t *testing.T, s *box.Site, server *box.Server, words ...string) error {
	t.Helper()
	ready, err := s.Client.Do(t.Context(), box.Request{Method: http.MethodGet, URL: server.URL("/readyz")})
	if err != nil {
		return err
	}
	for _, word := range words {
		if !strings.Contains(string(ready.Body), word) {
			return fmt.Errorf("%d %s", ready.StatusCode, ready.Body)
		}
	}
	return nil
}

// contentsOf returns a partition's data of a sale, with its stream and consumers.
func contentsOf(t *testing.T, r *box.Redis, voucher int64) string {
	t.Helper()
	ctx := t.Context()
	partition := strings.TrimSuffix(r.StreamKey(), ":orders")
	held := []any{
		r.HGetAll(ctx, r.SaleKey(voucher)).Val(), r.HGetAll(ctx, r.BuyersKey(voucher)).Val(),
		r.XRange(ctx, r.StreamKey(), "-", "+").Val(),
		r.XInfoGroups(ctx, r.StreamKey()).Val(), r.XInfoConsumers(ctx, r.StreamKey(), box.RecorderGroup).Val(),
		r.ZRangeWithScores(ctx, partition+":consumers", 0, -1).Val(),
		r.ZRangeWithScores(ctx, partition+":reporters", 0, -1).Val(),
		r.ZRangeWithScores(ctx, partition+":stops", 0, -1).Val(),
	}
	consumers := held[4].([]redis.XInfoConsumer)
	for i := range consumers {
		consumers[i].Idle, consumers[i].Inactive = 0, 0 // these always grow
	}
	text, err := json.Marshal(held)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A data directory of an older version is not opened, and the message says to move it away.
func TestOldDataDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	s := box.EmbeddedSite(t)
	if code, err := s.Servers[0].Terminate(); err != nil || code != 0 {
		t.Fatalf("%d, %v", code, err)
	}
	dir := s.Servers[0].Settings["SECKILL_DATA_DIR"]
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "seckill.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"DELETE FROM tb_migration WHERE version_id > 0", "DROP TABLE tb_format",
		"INSERT INTO tb_migration (version_id, is_applied) VALUES (1, 1), (17, 1)",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	refusedStart(t, s.Servers[0], "move the data directory "+dir+" away")
}
