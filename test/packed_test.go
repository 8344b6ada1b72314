package test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/test/box"
)

// packStream replaces the waiting entries by packed ones of up to size orders, and returns the number of orders. No
// server may be running.
func packStream(t *testing.T, l *box.Redis, size int) (orders int) {
	t.Helper()
	ctx := t.Context()
	entries, err := l.XRange(ctx, l.StreamKey(), "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, l.StreamKey()) // deletes the group as well, which is created again
		for from := 0; from < len(entries); from += size {
			some, first := entries[from:min(from+size, len(entries))], entries[from].Values
			var packed strings.Builder
			for _, e := range some {
				fmt.Fprintf(&packed, "%s %s ", e.Values["u"], e.Values["o"])
			}
			p.XAdd(ctx, &redis.XAddArgs{Stream: l.StreamKey(), Values: []any{
				"v", first["v"], "e", first["e"], "s", first["s"], "p", packed.String(),
			}})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// expectPacked fails unless waiting orders share entries.
func expectPacked(t *testing.T, l *box.Redis) {
	t.Helper()
	orders, _, err := l.Backlog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	entries, err := l.XLen(t.Context(), l.StreamKey()).Result()
	if err != nil {
		t.Fatal(err)
	}
	if entries >= orders {
		t.Errorf("%d orders wait in %d entries: none is packed", orders, entries)
	}
}

// TestPackedEntries checks that orders waiting in packed entries are recorded, each once, including those of an
// instance that died, and the orders of a crowd whose calls are shared.
func TestPackedEntries(t *testing.T) {
	t.Parallel()
	const stock = 300
	s := box.RealSite(t, 1)
	b := s.Buyers(s.CreateSale(t, stock, time.Now().Add(time.Hour)))
	release := s.Ledger.LockSale(t, b.Voucher)
	b.BuyAll(t.Context(), 1, box.Users(1, 30)) // one by one, so that each has its own entry
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
	box.Eventually(t, "the rows of the orders that waited", func() error {
		if waiting, _, err := s.Redis.Backlog(t.Context()); err != nil || waiting > 0 {
			return fmt.Errorf("%d wait: %w", waiting, err)
		}
		return nil
	})
	release = s.Ledger.LockSale(t, b.Voucher)
	b.BuyAll(t.Context(), 64, box.Users(31, stock))
	expectPacked(t, s.Redis)
	release()
	s.Check(t, b, stock)
	expectOutput(t, s, 0, []string{"balanced"}, "reconcile")
}
