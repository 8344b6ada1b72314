package test

import (
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// TestNoOrderIDsAtTheStart starts an instance while only the Redis node with the counter of order ids is down: the
// instance starts, and sells as soon as it gets ids.
func TestNoOrderIDsAtTheStart(t *testing.T) {
	t.Parallel()
	own := testkit.StartRedis(t)
	dsn := testkit.MySQL(t)
	s := box.EmptySite(t, own.Addr, "", dsn)
	var counters []string
	for _, day := range []time.Time{time.Now(), time.Now().Add(24 * time.Hour)} {
		counters = append(counters, "icr:order:"+day.UTC().Format("2006:01:02"))
	}
	for _, key := range counters {
		if err := s.Redis.RPush(t.Context(), key, "nonsense").Err(); err != nil {
			t.Fatal(err)
		}
	}
	s.Add(t, own.Addr, dsn, nil)
	s.Start(t)
	b := s.Buyers(s.CreateSale(t, 10, time.Now().Add(time.Hour)))
	if a := b.Buy(t.Context(), s.Servers[0], 1); a.Code != "UNAVAILABLE" {
		t.Errorf("without ids: %+v", a)
	}
	if err := s.Redis.Del(t.Context(), counters...).Err(); err != nil {
		t.Fatal(err)
	}
	b.BuyAll(t.Context(), 5, box.Users(1, 10))
	s.Check(t, b, 10)
}
