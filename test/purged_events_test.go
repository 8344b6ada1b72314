package test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/testkit"
	"seckill/test/box"
	"seckill/test/webhooks/receiver"
)

// TestReplayOfWhatIsGone replays webhooks of an order that was purged since (F65): one event is 404, a period sends
// what is there, and the receiver gets nothing of the order again.
func TestReplayOfWhatIsGone(t *testing.T) {
	t.Parallel()
	_, prefix := testkit.Redis(t)
	redis, dsn := testkit.RedisAddr(t), testkit.MySQL(t)
	site := box.EmptySite(t, redis, prefix, dsn)
	site.Add(t, redis, dsn, map[string]string{"SECKILL_WEBHOOK_ALLOW": "127.0.0.0/8"})
	site.Start(t)
	s, hook := &shopper{Site: site, tb: t, user: 7}, receiver.New(t)
	endpoint := box.Decode[struct {
		ID     int64
		Secret dispatch.Secret
	}](t, s.admin(http.StatusCreated, http.MethodPost, map[string]any{"shopId": 1, "url": hook.URL()}, "",
		"/admin/webhook"))
	hook.Expect(endpoint.Secret)
	if err := site.Servers[0].KillAndStart(); err != nil { // it looks for new endpoints once a second
		t.Fatal(err)
	}
	gone, left := s.sale(5, nil), s.sale(5, nil)
	purged, stays := s.buy(gone, s.user), s.buy(left, s.user)
	for _, order := range []string{purged, stays} {
		s.post(http.StatusOK, "/order/%s/cancel", order)
		s.awaitStatus(order, "cancelled")
	}
	taken := func(order string, n int) int { return hook.Took()[fmt.Sprintf("order-%s-%d", order, n)] }
	box.Eventually(t, "all events being delivered", func() error {
		waiting := number(t, site, "SELECT COUNT(*) FROM tb_webhook_event e JOIN tb_webhook_endpoint p "+
			"WHERE e.number IS NULL OR p.next_number <= e.number")
		if waiting > 0 || taken(purged, 2) == 0 || taken(stays, 2) == 0 {
			return fmt.Errorf("%d are waiting; taken: %v", waiting, hook.Took())
		}
		return nil
	})
	over(t, site, gone)
	expectOutput(t, site, 0, []string{"1 orders are gone"}, "purge", "-before", time.Now().UTC().Format(time.DateOnly),
		"-why", "two years are over")

	const replay = "/admin/webhook/%d/replay"
	got := s.admin(http.StatusNotFound, http.MethodPost, map[string]any{"eventId": "order-" + purged + "-2"}, "",
		replay, endpoint.ID)
	if got.Code != "NOT_FOUND" {
		t.Errorf("an event of the purged order: %s", got.Body)
	}
	s.admin(http.StatusAccepted, http.MethodPost, map[string]any{"from": time.Now().Add(-time.Hour)}, "", replay,
		endpoint.ID)
	box.Eventually(t, "the period being sent again", func() error {
		if taken(stays, 1) < 2 || taken(stays, 2) < 2 {
			return fmt.Errorf("taken: %v", hook.Took())
		}
		return nil
	})
	if taken(purged, 1) != 1 || taken(purged, 2) != 1 {
		t.Errorf("the purged order's events were sent again: %v", hook.Took())
	}
	for _, path := range []string{"delivery", "deadletter"} {
		page := s.admin(http.StatusOK, http.MethodGet, nil, "", "/admin/webhook/%d/%s?limit=100", endpoint.ID, path)
		if strings.Contains(string(page.Body), purged) {
			t.Errorf("%s has the purged order: %s", path, page.Body)
		}
	}
	hook.Right()
}
