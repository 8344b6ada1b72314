package wiring

import (
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/config"
	"seckill/internal/telemetry"
	"seckill/internal/testkit"
)

// Features can ask how long the oldest order has been waiting for its row.
func TestOldest(t *testing.T) {
	t.Parallel()
	commands, prefix := testkit.Redis(t)
	cfg, err := config.Load([]string{
		"SECKILL_REDIS_ADDRS=" + testkit.RedisAddr(t), "SECKILL_REDIS_PREFIX=" + prefix,
		"SECKILL_MYSQL_DSN=" + testkit.MySQL(t), "SECKILL_JWT_SECRET=0123456789abcdef0123456789abcdef",
	})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	stores, err := Open(t.Context(), cfg, telemetry.Build{}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer stores.Close(log)
	oldest := stores.forFeatures().Oldest
	if waits, err := oldest(t.Context()); err != nil || waits != 0 {
		t.Errorf("without orders: %v, %v", waits, err)
	}
	minuteAgo := time.Now().Add(-time.Minute).UnixMilli()
	for _, at := range []int64{minuteAgo, minuteAgo + 50_000} {
		err := commands.XAdd(t.Context(), &redis.XAddArgs{
			Stream: prefix + "{p0}:orders", ID: strconv.FormatInt(at, 10) + "-0", Values: []string{"o", "x"},
		}).Err()
		if err != nil {
			t.Fatal(err)
		}
	}
	if waits, err := oldest(t.Context()); err != nil || waits < time.Minute || waits > time.Hour {
		t.Errorf("with one of a minute ago: %v, %v", waits, err)
	}
	stores.Close(log)
	if waits, err := oldest(t.Context()); err == nil {
		t.Errorf("without Redis: %v", waits)
	}
}
