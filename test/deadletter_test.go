package test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// bury makes a dead letter of a user's waiting entry, as the service does with one that it cannot decode, and returns
// the letter's id. No server may run.
func (l *liveStore) bury(t *testing.T, user int64) string {
	t.Helper()
	entries, err := l.rdb.XRange(t.Context(), l.streamKey(), "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Values["u"] != strconv.FormatInt(user, 10) {
			continue
		}
		if err := l.rdb.XDel(t.Context(), l.streamKey(), e.ID).Err(); err != nil {
			t.Fatal(err)
		}
		return l.letter(t, "key", e.ID, "why", `field "e" is missing`, "raw.v", e.Values["v"], "raw.u", e.Values["u"], "raw.o", e.Values["o"])
	}
	t.Fatalf("user %d has no entry in the stream", user)
	return ""
}

func (l *liveStore) letter(t *testing.T, fields ...any) string {
	t.Helper()
	id, err := l.rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: l.deadKey(), Values: fields}).Result()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// says runs a command and checks its exit code and that it says the words.
func (s *site) says(t *testing.T, code int, words []string, args ...string) {
	t.Helper()
	got := command(t, s.servers[0].settings, args...)
	if got.code != code {
		t.Errorf("%v: exit code %d, want %d", args, got.code, code)
	}
	for _, word := range words {
		if !strings.Contains(got.stdout+got.stderr, word) {
			t.Errorf("%v does not say %q", args, word)
		}
	}
	if t.Failed() {
		t.Fatalf("%v:\n%s%s", args, got.stdout, got.stderr)
	}
}

// TestDeadLetters: two accepted orders have become dead letters. One is replayed and recorded; the other one is discarded:
// it has failed, and its unit is sold again.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	s := realSite(t, 1)
	s.says(t, 0, []string{"no dead letters"}, "deadletter", "list")
	c := s.crowd(s.createSale(t, 3, time.Now().Add(time.Hour)))
	c.rush(t.Context(), 1, people(1, 1))
	s.order(t, 1, c.record.winners()[1])
	release := s.ledger.hold(t, c.voucher)
	c.rush(t.Context(), 1, people(2, 2))
	orders := c.record.winners()
	if len(orders) != 3 {
		t.Fatalf("%d accepted, want 3", len(orders))
	}
	if err := s.servers[0].kill(); err != nil {
		t.Fatal(err)
	}
	release()
	second, third, junk := s.live.bury(t, 2), s.live.bury(t, 3), s.live.letter(t, "key", "1-0", "why", "made up", "raw.note", "hello")

	s.says(t, 0, []string{second, third, junk, "waiting", "unreadable", fmt.Sprint(orders[2]), "hello", "3 of 3"}, "deadletter", "list")
	s.says(t, 0, []string{"2 of 3", "-after " + third}, "deadletter", "list", "-n", "2")
	s.says(t, 2, []string{"would fail", "nothing was done", "-yes"}, "deadletter", "discard", "-why", "test", third)
	s.says(t, 1, []string{"does not say whose"}, "deadletter", "replay", "-why", "test", junk)
	s.says(t, 0, []string{fmt.Sprintf("order %d of user 2 is queued again", orders[2]), "reason given", "somebody"},
		"deadletter", "replay", "-why", "reason given", "-by", "somebody", second)
	s.says(t, 1, []string{"no such dead letter"}, "deadletter", "replay", "-why", "test", second)
	s.says(t, 0, []string{fmt.Sprintf("order %d of user 3 is failed", orders[3])}, "deadletter", "discard", "-why", "test", "-yes", third, junk)
	s.says(t, 0, []string{"no dead letters"}, "deadletter", "list")

	if err := s.servers[0].start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the outcome of both", func() error {
		if o := s.order(t, 2, orders[2]); o.Status != "unpaid" {
			return fmt.Errorf("the replayed order is %s", o.Status)
		}
		if o := s.order(t, 3, orders[3]); o.Status != "failed" {
			return fmt.Errorf("the discarded order is %s", o.Status)
		}
		return nil
	})
	eventually(t, "the sale of the unit that came back", func() error { // it waits a moment until it can be sold
		if a := c.insist(t.Context(), 4); a.order == 0 {
			return fmt.Errorf("user 4 is told %s", a.code)
		}
		return nil
	})
	s.says(t, 0, []string{"balanced"}, "reconcile")
	s.client.must(t, http.StatusConflict, request{ // nothing is left
		method: http.MethodPost, url: s.url(fmt.Sprintf("/voucher/seckill/%d", c.voucher)), token: buyerToken(3),
	})
}
