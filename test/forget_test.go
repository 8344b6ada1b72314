package test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"seckill/test/box"
)

// TestForgotten forgets a person who has bought, paid and waited, and then looks for them everywhere.
func TestForgotten(t *testing.T) {
	t.Parallel()
	// Everything that the service would log is logged.
	s, provider := sessionSiteWith(t, map[string]string{"SECKILL_LOG_LEVEL": "debug", "SECKILL_LOG_FORMAT": "json"})
	const subject = "alice-in-wonderland"
	alice := signIn(t, s, 0, provider.Token(t, subject, nil))
	w := &shopper{Site: s, tb: t}
	voucher := w.sale(20, map[string]any{"redeemable": true, "validDays": 30})
	placed := box.Decode[box.Placed](t, s.Client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: s.URL(fmt.Sprintf("/voucher/seckill/%d?wait=30s", voucher)), Token: alice.Token,
	}))
	execute(t, s, "INSERT INTO tb_payment (id, order_id, user_id, voucher_id, shop_id, amount, state, create_time) "+
		"VALUES ('pay_alice', ?, ?, ?, 1, 1000, 2, UTC_TIMESTAMP(3))", placed.OrderID, alice.UserID, voucher)
	execute(t, s, "INSERT INTO tb_coupon (order_id, code, voucher_id, shop_id, create_time) VALUES "+
		"(?, 'CODEOFALICE12345', ?, 1, UTC_TIMESTAMP(3))", placed.OrderID, voucher)
	execute(t, s, "INSERT INTO tb_webhook_event (number, shop_id, subject, subject_number, type, body, create_time) "+
		"VALUES (1, 1, ?, 1, 'order.paid', ?, UTC_TIMESTAMP(3))", "order-"+placed.OrderID,
		fmt.Sprintf(`{"data":{"id":%q,"userId":%d,"quantity":1}}`, placed.OrderID, alice.UserID))
	execute(t, s, "INSERT INTO tb_unpaid (user_id, expired, last_time, number) VALUES (?, 1, UTC_TIMESTAMP(3), 1)",
		alice.UserID)
	execute(t, s, "INSERT INTO tb_request (caller, request_key, route, body_digest, made, create_time) VALUES "+
		"(?, 'k', 'POST /x', REPEAT('x', 32), '1', UTC_TIMESTAMP(3))", alice.UserID)
	execute(t, s, "INSERT INTO tb_place (voucher_id, position, user_id, state, create_time) VALUES (?, 1, ?, 7, "+
		"UTC_TIMESTAMP(3))", voucher, alice.UserID)
	ordinary := box.Decode[box.Voucher](t, s.Client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: s.URL("/voucher"), Token: box.AdminToken(),
		Body: map[string]any{"shopId": 1, "title": "Always", "payValue": 1, "actualValue": 2},
	})).ID
	execute(t, s, "INSERT INTO tb_limited_buyer (voucher_id, user_id, writes) VALUES (?, ?, 1)", ordinary, alice.UserID)
	forget := func() string {
		t.Helper()
		return call(t, s, 0, http.MethodPost, fmt.Sprintf("/admin/user/%d/forget", alice.UserID), box.AdminToken(),
			map[string]string{"why": "she asked"})
	}
	if got := forget(); got != "409 STILL_OWED" {
		t.Fatalf("while the sale runs: %s", got)
	}
	if len(inRedis(t, s, fmt.Sprint(alice.UserID))) == 0 {
		t.Error("Redis does not know her while the sale runs: nothing could be found there")
	}
	execute(t, s, "UPDATE tb_voucher_order SET status = 3 WHERE id = ?", placed.OrderID)
	over(t, s, voucher)
	var want map[string]any
	box.Eventually(t, "the purchase being in the timeline", func() error { // it is written every few seconds
		if want = reported(t, s, voucher); want["accepted"] != float64(1) {
			return fmt.Errorf("%v", want["accepted"])
		}
		return nil
	})
	export := s.Client.Must(t, http.StatusOK, box.Request{
		Method: http.MethodGet, URL: s.URL(fmt.Sprintf("/admin/user/%d/export", alice.UserID)), Token: box.AdminToken(),
	})
	for _, has := range []string{
		subject, "CODEOFALICE12345", "pay_alice", placed.OrderID, `"place"`, `"unpaid"`, `"request"`,
	} {
		if !strings.Contains(string(export.Body), has) {
			t.Errorf("the export has no %s: %s", has, export.Body)
		}
	}
	for range 2 { // the second finds nothing
		if got := forget(); got != "200" {
			t.Fatalf("forgetting: %s", got)
		}
	}
	if diff := gocmp.Diff(want, reported(t, s, voucher)); diff != "" {
		t.Errorf("the report has changed:\n%s", diff)
	}
	box.Eventually(t, "her token being void", func() error {
		got := call(t, s, 1, http.MethodGet, "/order/"+placed.OrderID, alice.Token, nil)
		if got != "401 UNAUTHENTICATED" {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	pseudonym := number(t, s, "SELECT user_id FROM tb_voucher_order WHERE id = ?", placed.OrderID)
	if pseudonym < 9e15 || number(t, s, "SELECT COUNT(*) FROM tb_voucher_order WHERE user_id = ?", pseudonym) != 1 {
		t.Errorf("her order is user %d's", pseudonym)
	}
	if got := call(t, s, 0, http.MethodGet, "/order/"+placed.OrderID, box.BuyerToken(pseudonym), nil); got !=
		"401 UNAUTHENTICATED" {
		t.Errorf("a token that names the pseudonym: %s", got)
	}
	nowhere(t, s, fmt.Sprint(alice.UserID), subject, "CODEOFALICE12345")
	requests := 0
	for _, srv := range s.Servers {
		requests += inLog(t, srv, fmt.Sprint(alice.UserID), subject, "CODEOFALICE12345")
	}
	if requests == 0 {
		t.Error("no request of hers is logged: nothing could be found")
	}
}

// nowhere looks for texts in every column of every table, in Redis and in the metrics.
func nowhere(t *testing.T, s *box.Site, texts ...string) {
	t.Helper()
	rows, err := s.Ledger.DB.QueryContext(t.Context(),
		"SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE()")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // rows.Err reports the error
	var columns [][2]string
	for rows.Next() {
		var c [2]string
		if err := rows.Scan(&c[0], &c[1]); err != nil {
			t.Fatal(err)
		}
		columns = append(columns, c)
	}
	if err := rows.Err(); err != nil || len(columns) < 200 {
		t.Fatal(len(columns), err)
	}
	for _, c := range columns {
		if c[0] == "tb_session_void" { // so that her tokens stay void
			continue
		}
		for _, text := range texts {
			query := "SELECT COUNT(*) FROM " + c[0] + " WHERE CAST(`" + c[1] + "` AS CHAR) LIKE ?"
			if n := number(t, s, query, "%"+text+"%"); n > 0 {
				t.Errorf("%s is in %s.%s", text, c[0], c[1])
			}
		}
	}
	for _, text := range texts {
		if keys := inRedis(t, s, text); len(keys) > 0 {
			t.Errorf("%s is in Redis's %v", text, keys)
		}
	}
	for _, srv := range s.Servers {
		metrics := srv.Metrics(t)
		for _, text := range texts {
			if strings.Contains(metrics, text) {
				t.Errorf("%s is in the metrics", text)
			}
		}
	}
}

// inLog looks for texts in a log. What it keeps of a person is what operations.md says: their number, in the lines of
// requests, and what says who that is nowhere. It returns how many lines have the number.
func inLog(t *testing.T, srv *box.Server, id string, never ...string) (requests int) {
	t.Helper()
	for line := range strings.Lines(srv.Log.String()) {
		for _, text := range never {
			if strings.Contains(line, text) {
				t.Errorf("%s is in the log: %s", text, line)
			}
		}
		if !strings.Contains(line, id) {
			continue
		}
		if requests++; !strings.Contains(line, `"msg":"request"`) {
			t.Errorf("%s is in a line that is no request's: %s", id, line)
		}
	}
	return requests
}

// inRedis returns the keys of the site that have the text in their name or value.
func inRedis(t *testing.T, s *box.Site, text string) (found []string) {
	t.Helper()
	ctx, r := t.Context(), s.Redis
	keys, err := r.Keys(ctx, strings.TrimSuffix(r.StreamKey(), "{p0}:orders")+"*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatal(keys, err)
	}
	for _, key := range keys {
		kind, err := r.Type(ctx, key).Result()
		if err != nil {
			t.Fatal(err)
		}
		var value any
		switch kind {
		case "string":
			value, err = r.Get(ctx, key).Result()
		case "hash":
			value, err = r.HGetAll(ctx, key).Result()
		case "set":
			value, err = r.SMembers(ctx, key).Result()
		case "zset":
			value, err = r.ZRangeWithScores(ctx, key, 0, -1).Result()
		case "list":
			value, err = r.LRange(ctx, key, 0, -1).Result()
		case "stream":
			value, err = r.XRange(ctx, key, "-", "+").Result()
		case "none": // it has expired since
		default:
			t.Fatalf("%s is a %s", key, kind)
		}
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
		if strings.Contains(key, text) || strings.Contains(fmt.Sprint(value), text) {
			found = append(found, key)
		}
	}
	return found
}
