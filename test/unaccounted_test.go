package test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// TestAcceptedInvitationsAreNotLost empties Redis after two invitations were accepted and, between them, a purchase was
// admitted but not recorded. The ledger has the orders of the two, although its mark does not cover them; only the
// purchase is lost, and only that may be reported.
func TestAcceptedInvitationsAreNotLost(t *testing.T) {
	t.Parallel()
	own := testkit.StartRedis(t)
	w := openWaitlist(t, box.SiteOn(t, 2, own.Addr, "", testkit.MySQL(t)), 4, 600)
	users := []int64{11, 12}
	box.Eventually(t, "the sale selling out", func() error {
		if r, err := w.ask(t.Context(), http.MethodPost, users[0], ""); err != nil ||
			r.StatusCode != http.StatusCreated {
			return fmt.Errorf("%d %s: %w", r.StatusCode, r.Body, err)
		}
		return nil
	})
	w.must(t, http.StatusCreated, http.MethodPost, users[1], "")
	for i, user := range users {
		w.cancel(t, int64(i+1))
		w.await(t, user, "invited")
		box.Eventually(t, "the accept", func() error {
			r, err := w.ask(t.Context(), http.MethodPost, user, "/accept")
			if err != nil || r.StatusCode >= http.StatusBadRequest {
				return fmt.Errorf("%d %s: %w", r.StatusCode, r.Body, err)
			}
			return nil
		})
		w.await(t, user, "bought")
		if i == 0 { // the purchase
			if err := w.Redis.HIncrBy(t.Context(), w.Redis.SaleKey(w.buyers.Voucher), "seq", 1).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := w.counted(t, rebuilds)
	if err := w.Redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	box.Eventually(t, "the rebuild", func() error {
		if n := w.counted(t, rebuilds); n <= before {
			return fmt.Errorf("%d rebuilds", n)
		}
		return nil
	})
	w.check(t)
	if n := w.counted(t, unaccounted); n != 1 {
		t.Errorf("%d accepted orders are said to be lost, want 1", n)
	}
}

// Matches the instances' counters.
var (
	rebuilds    = regexp.MustCompile(`(?m)^seckill_rebuilds_total\{result="rebuilt"\} (\d+)$`)
	unaccounted = regexp.MustCompile(`(?m)^seckill_recorder_unaccounted_orders_total (\d+)$`)
)

// counted returns the sum of a counter over all instances.
func (w waitlist) counted(t *testing.T, counter *regexp.Regexp) (sum int) {
	t.Helper()
	for _, srv := range w.Servers {
		found := counter.FindStringSubmatch(srv.Metrics(t))
		if found == nil {
			t.Fatalf("the metrics have no %s", counter)
		}
		n, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}
