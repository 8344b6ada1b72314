package test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/test/box"
)

// makeDeadLetter turns a user's waiting entry into a dead letter, as the service does with an undecodable one, and
// returns the dead letter's id. No server may be running.
func makeDeadLetter(t *testing.T, l *box.Redis, user int64) string {
	t.Helper()
	entries, err := l.XRange(t.Context(), l.StreamKey(), "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Values["u"] != strconv.FormatInt(user, 10) {
			continue
		}
		if err := l.XDel(t.Context(), l.StreamKey(), e.ID).Err(); err != nil {
			t.Fatal(err)
		}
		return addDeadLetter(t, l, "key", e.ID, "why", `field "e" is missing`, "raw.v", e.Values["v"], "raw.u",
			e.Values["u"], "raw.o", e.Values["o"])
	}
	t.Fatalf("user %d has no entry in the stream", user)
	return ""
}

// addDeadLetter adds a dead letter and returns its id.
func addDeadLetter(t *testing.T, l *box.Redis, fields ...any) string {
	t.Helper()
	id, err := l.XAdd(t.Context(), &redis.XAddArgs{Stream: l.DeadKey(), Values: fields}).Result()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// expectOutput runs a command, and checks its exit code and that its output contains the words.
func expectOutput(t *testing.T, s *box.Site, code int, words []string, args ...string) {
	t.Helper()
	got := box.Command(t, s.Servers[0].Settings, args...)
	if got.Code != code {
		t.Errorf("%v: exit code %d, want %d", args, got.Code, code)
	}
	for _, word := range words {
		if !strings.Contains(got.Stdout+got.Stderr, word) {
			t.Errorf("the output of %v has no %q", args, word)
		}
	}
	if t.Failed() {
		t.Fatalf("%v:\n%s%s", args, got.Stdout, got.Stderr)
	}
}

// audited returns the operators' entries of the audit trail that contain all the words.
func audited(t *testing.T, s *box.Site, words ...string) (entries []string) {
	t.Helper()
	rows, err := s.Ledger.DB.QueryContext(t.Context(),
		"SELECT CONCAT(action, ' ', changes) FROM tb_audit WHERE admin_id = 0 AND request_id LIKE 'server %'")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // rows.Err reports the error
	for rows.Next() {
		var entry string
		if err := rows.Scan(&entry); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(entry, word) }) {
			entries = append(entries, entry)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return entries
}

// expectAudited checks that the audit trail has one entry of an operator with the words.
func expectAudited(t *testing.T, s *box.Site, words ...string) {
	t.Helper()
	if got := audited(t, s, words...); len(got) != 1 {
		t.Errorf("the audit trail has %q with %q, want one", got, words)
	}
}

// TestDeadLetters has two accepted orders in dead letters. One is replayed and recorded. The other is discarded: it
// fails, and its unit is sold again.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	s := box.RealSite(t, 1)
	expectOutput(t, s, 0, []string{"no dead letters"}, "deadletter", "list")
	b := s.Buyers(s.CreateSale(t, 3, time.Now().Add(time.Hour)))
	b.BuyAll(t.Context(), 1, box.Users(1, 1))
	s.Order(t, 1, b.Record.Winners()[1])
	release := s.Ledger.LockSale(t, b.Voucher)
	b.BuyAll(t.Context(), 1, box.Users(2, 2))
	orders := b.Record.Winners()
	if len(orders) != 3 {
		t.Fatalf("%d accepted, want 3", len(orders))
	}
	if err := s.Servers[0].Kill(); err != nil {
		t.Fatal(err)
	}
	release()
	second, third, junk := makeDeadLetter(t, s.Redis, 2), makeDeadLetter(t, s.Redis, 3), addDeadLetter(t, s.Redis,
		"key", "1-0", "why", "made up", "raw.note", "hello")

	expectOutput(t, s, 0, []string{
		second, third, junk, "waiting", "unreadable", fmt.Sprint(orders[2]), "hello", "3 of 3",
	}, "deadletter", "list")
	expectOutput(t, s, 0, []string{"2 of 3", "-after " + third}, "deadletter", "list", "-n", "2")
	expectOutput(t, s, 2, []string{"would fail", "nothing was done", "-yes"}, "deadletter",
		"discard", "-why", "test", third)
	expectOutput(t, s, 1, []string{"does not say whose"}, "deadletter", "replay", "-why", "test", junk)
	expectOutput(t, s, 0,
		[]string{fmt.Sprintf("order %d of user 2 is queued again", orders[2]), "reason given", "somebody"},
		"deadletter", "replay", "-why", "reason given", "-by", "somebody", second)
	expectAudited(t, s, "replay", `"deadLetter"`, second, "somebody", "reason given")
	expectOutput(t, s, 1, []string{"no such dead letter"}, "deadletter", "replay", "-why", "too late", second)
	expectOutput(t, s, 0, []string{fmt.Sprintf("order %d of user 3 is failed", orders[3])}, "deadletter", "discard",
		"-why", "test", "-yes", third, junk)
	expectAudited(t, s, "discard", `"deadLetter"`, third, "test")
	expectAudited(t, s, "discard", `"deadLetter"`, junk, "test")
	if n := len(audited(t, s, "too late")); n > 0 {
		t.Errorf("%d entries of the audit trail are about a dead letter that is not there", n)
	}
	expectOutput(t, s, 0, []string{"no dead letters"}, "deadletter", "list")

	if err := s.Servers[0].Start(); err != nil {
		t.Fatal(err)
	}
	box.Eventually(t, "the outcome of both", func() error {
		if o := s.Order(t, 2, orders[2]); o.Status != "unpaid" {
			return fmt.Errorf("the replayed order is %s", o.Status)
		}
		if o := s.Order(t, 3, orders[3]); o.Status != "failed" {
			return fmt.Errorf("the discarded order is %s", o.Status)
		}
		return nil
	})
	box.Eventually(t, "the sale of the unit that came back", func() error { // after a short delay
		if a := b.BuyUntilAnswered(t.Context(), 4); a.Order == 0 {
			return fmt.Errorf("user 4 is answered %s", a.Code)
		}
		return nil
	})
	expectOutput(t, s, 0, []string{"balanced"}, "reconcile")
	s.Client.Must(t, http.StatusConflict, box.Request{ // nothing is left
		Method: http.MethodPost, URL: s.URL(fmt.Sprintf("/voucher/seckill/%d", b.Voucher)), Token: box.BuyerToken(3),
	})
}
