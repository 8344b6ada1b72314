package test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/test/box"
)

// packStream replaces the entries that wait by packed ones, of so many orders each, as a later version writes them, and
// returns how many orders that were. No server may run.
func packStream(t *testing.T, l *box.Redis, size int) (orders int) {
	t.Helper()
	ctx := t.Context()
	entries, err := l.XRange(ctx, l.StreamKey(), "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	packed := strings.TrimSuffix(l.StreamKey(), ":orders") + ":packed"
	_, err = l.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, l.StreamKey()) // the group as well, which is made again
		for from := 0; from < len(entries); from += size {
			addPacked(ctx, p, l.StreamKey(), packed, entries[from:min(from+size, len(entries))])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func addPacked(ctx context.Context, p redis.Pipeliner, stream, packed string, entries []redis.XMessage) {
	var text strings.Builder
	first := entries[0].Values
	fmt.Fprintf(&text, "%s %s %s", first["v"], first["e"], first["s"])
	for _, e := range entries {
		fmt.Fprintf(&text, " %s %s", e.Values["u"], e.Values["o"])
	}
	p.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: []any{"n", len(entries), "p", text.String()}})
	p.IncrBy(ctx, packed, int64(len(entries)-1))
}

// TestPackedEntries: orders that a later version has put into packed entries are recorded by this one, each once, and nothing
// is left of them.
func TestPackedEntries(t *testing.T) {
	t.Parallel()
	const stock = 40
	s := box.RealSite(t, 1)
	b := s.Buyers(s.CreateSale(t, stock, time.Now().Add(time.Hour)))
	release := s.Ledger.LockSale(t, b.Voucher)
	b.BuyAll(t.Context(), 4, box.Users(1, 30))
	if n := len(b.Record.Winners()); n != 30 {
		t.Fatalf("%d accepted, want 30", n)
	}
	if err := s.Servers[0].Kill(); err != nil {
		t.Fatal(err)
	}
	release()
	if n := packStream(t, s.Redis, 7); n != 30 {
		t.Fatalf("%d orders waited, want 30", n)
	}
	if err := s.Servers[0].Start(); err != nil {
		t.Fatal(err)
	}
	b.BuyAll(t.Context(), 4, box.Users(31, stock))
	s.Check(t, b, stock)
	expectOutput(t, s, 0, []string{"balanced"}, "reconcile")
	packed := strings.TrimSuffix(s.Redis.StreamKey(), ":orders") + ":packed"
	box.Eventually(t, "the count of packed orders gone", func() error {
		n, err := s.Redis.Exists(t.Context(), packed).Result()
		if err == nil && n > 0 {
			err = fmt.Errorf("%s is there", packed)
		}
		return err
	})
}
