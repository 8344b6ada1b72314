package test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/test/box"
)

// insideLine is a redis-cli line of docs/tutorial.md: its words, and the comment.
var insideLine = regexp.MustCompile(`(?m)^redis-cli (.+?) +# (.+)$`)

// TestTutorialLooksInside runs the redis-cli lines of docs/tutorial.md while an order waits for its row. Each must show
// something, and the stream, its group and its pending list that order.
func TestTutorialLooksInside(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := insideLine.FindAllStringSubmatch(string(document), -1)
	if len(lines) < 10 {
		t.Fatalf("docs/tutorial.md has %d lines of redis-cli: is the pattern right?", len(lines))
	}
	s := box.RealSite(t, 1)
	b := s.Buyers(s.CreateSale(t, 5, time.Now().Add(time.Hour)))
	release := s.Ledger.LockSale(t, b.Voucher)
	b.BuyAll(t.Context(), 1, box.Users(42, 1))
	box.Eventually(t, "a pending order", func() error {
		if _, pending, err := s.Redis.Backlog(t.Context()); err != nil || pending == 0 {
			return fmt.Errorf("%d pending, %w", pending, err)
		}
		return nil
	})
	prefix := strings.TrimSuffix(s.Redis.StreamKey(), "{p0}:orders")
	ours := strings.NewReplacer("{p0}", prefix+"{p0}", "icr:", prefix+"icr:",
		":7", ":"+strconv.FormatInt(b.Voucher, 10), "'", "")
	shown := map[string]string{}
	for _, line := range lines {
		words := strings.Fields(ours.Replace(line[1]))
		got, err := inside(t, s, words)
		if err != nil {
			t.Errorf("redis-cli %s: %v", line[1], err)
		}
		if got == "" || got == "[]" || got == "map[]" || got == "<nil>" {
			t.Errorf("redis-cli %s shows nothing", line[1])
		}
		shown[strings.Join(strings.Fields(line[1])[:2], " ")] = got
	}
	order := strconv.FormatInt(b.Record.Answers()[0].Order, 10)
	for what, want := range map[string]string{
		"HGETALL {p0}:sale:7": "stock:4", "HLEN {p0}:buyers:7": "1", "HGET {p0}:buyers:7": order,
		"XLEN {p0}:orders": "1", "XRANGE {p0}:orders": order, "XPENDING {p0}:orders": "1",
		"XINFO GROUPS": box.RecorderGroup, "XINFO CONSUMERS": "instance-1", "XLEN {p0}:dead": "0",
	} {
		if !strings.Contains(shown[what], want) {
			t.Errorf("redis-cli %s … shows %q, want %q in it", what, shown[what], want)
		}
	}
	release()
	s.Check(t, b, 5)
}

// inside runs one line and returns what it shows.
func inside(t *testing.T, s *box.Site, words []string) (string, error) {
	t.Helper()
	if words[0] == "--scan" {
		keys, _, err := s.Redis.Scan(t.Context(), 0, words[2], 100_000).Result()
		return fmt.Sprint(keys), err
	}
	got, err := s.Redis.Do(t.Context(), anys(words)...).Result()
	return fmt.Sprint(got), err
}
