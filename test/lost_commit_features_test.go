package test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"seckill/test/box"
)

// coupons serves a coupon at a till, and changes it for staff.
func (w *lostCommits) coupons() {
	w.t.Helper()
	order := w.paid(w.sale(2, map[string]any{"validDays": 30}), 631)
	code := (&writer{shopper: w.shopper, t: w.t}).code(order)
	claims := box.Claims(900, "till")
	claims["shop"] = 1
	till := box.Sign(box.Secret, claims)
	of := map[string]any{"code": code}
	w.lose("POST /till/validate", unknown, "200", w.as(till, of, "/till/validate"))
	w.lose("POST /till/reserve", unknown, "200", w.as(till, of, "/till/reserve"))
	var reservation string
	if err := w.Ledger.DB.QueryRowContext(w.t.Context(), "SELECT reservation FROM tb_coupon WHERE order_id = ?",
		order).Scan(&reservation); err != nil {
		w.t.Fatal(err)
	}
	w.lose("POST /till/release", unknown, "200",
		w.as(till, map[string]any{"code": code, "reservationId": reservation}, "/till/release"))
	w.lose("POST /till/redeem", unknown, "200", w.as(till, of, "/till/redeem"))
	w.one("redeeming", "tb_order_event WHERE order_id = ? AND status = 3", order)
	w.lose("POST /admin/order/{id}/unredeem", unknown, "200",
		w.asAdmin(map[string]string{"why": "by mistake"}, "/admin/order/%s/unredeem", order))
	later := map[string]any{"why": "closed", "validUntil": time.Now().AddDate(2, 0, 0).Format(time.RFC3339)}
	w.lose("POST /admin/order/{id}/extend", unknown, "200", w.asAdmin(later, "/admin/order/%s/extend", order))
	w.one("undoing", "tb_audit WHERE action = 'unredeem'")
	w.one("extending", "tb_audit WHERE action = 'extend'")
}

// stuck decides about refunds that the provider has refused.
func (w *lostCommits) stuck() {
	w.t.Helper()
	sale := w.sale(2, nil)
	why := map[string]string{"why": "the bank says so"}
	for i, act := range []string{"retry", "close"} {
		order := w.paid(sale, int64(641+i))
		var id string
		if err := w.Ledger.DB.QueryRowContext(w.t.Context(), "SELECT id FROM tb_payment WHERE order_id = ?",
			order).Scan(&id); err != nil {
			w.t.Fatal(err)
		}
		for _, statement := range []string{
			"UPDATE tb_payment SET state = 6, stuck_time = UTC_TIMESTAMP(3), refusal = 'closed' WHERE order_id = ?",
			"UPDATE tb_voucher_order SET status = 5, refunding_time = UTC_TIMESTAMP(3) WHERE id = ?",
		} {
			if _, err := w.Ledger.DB.ExecContext(w.t.Context(), statement, order); err != nil {
				w.t.Fatal(err)
			}
		}
		w.lose("POST /admin/payment/{id}/"+act, unknown, "200", w.asAdmin(why, "/admin/payment/%s/%s", id, act))
	}
	w.one("trying again", "tb_audit WHERE action = 'retry_refund'")
	w.one("closing", "tb_audit WHERE action = 'close_refund'")
}

// parts has staff send parts of a payment back; the first one switches them on.
func (w *lostCommits) parts() {
	w.t.Helper()
	order := w.paid(w.sale(2, nil), 646)
	var id string
	if err := w.Ledger.DB.QueryRowContext(w.t.Context(), "SELECT id FROM tb_payment WHERE order_id = ?", order).
		Scan(&id); err != nil {
		w.t.Fatal(err)
	}
	part := func(cents int) box.Request {
		return w.asAdmin(map[string]any{"amount": cents, "why": "a scratch"}, "/admin/payment/%s/refund", id)
	}
	first := part(1)
	first.Method, first.Header = http.MethodPost, map[string]string{"Idempotency-Key": "first-part"}
	box.Eventually(w.t, "the first part", func() error {
		r, err := w.Client.Do(w.t.Context(), first)
		if err == nil && r.StatusCode != http.StatusAccepted {
			err = fmt.Errorf("%d %s", r.StatusCode, r.Body)
		}
		return err
	})
	w.lose("POST /admin/payment/{id}/refund", unknown, "202", part(2))
	w.one("sending a part back", "tb_refund WHERE amount = 2")
}

// waitlist joins a list, accepts, and leaves.
func (w *lostCommits) waitlist() {
	w.t.Helper()
	sale := w.sale(2, map[string]any{"waitlistWindowSeconds": 600})
	list := waitlist{Site: w.Site, buyers: w.Buyers(sale), units: 2}
	list.buyers.BuyAll(w.t.Context(), 1, box.Users(651, 2))
	list.joined(w.t, "", 661)
	w.lose("POST /voucher/{id}/waitlist", unknown, "201", w.as(box.BuyerToken(662), nil, "/voucher/%d/waitlist", sale))
	w.one("joining", "tb_place WHERE user_id = 662")
	list.cancel(w.t, 651)
	list.await(w.t, 661, "invited")
	w.lose("POST /voucher/{id}/waitlist/accept", unknown, "201",
		w.as(box.BuyerToken(661), nil, "/voucher/%d/waitlist/accept", sale))
	list.await(w.t, 661, "bought")
	w.one("accepting", "tb_voucher_order WHERE user_id = 661")
	w.lose("POST /voucher/{id}/waitlist/leave", unknown, "200",
		w.as(box.BuyerToken(662), nil, "/voucher/%d/waitlist/leave", sale))
}

// others changes templates and webhook endpoints.
func (w *lostCommits) others() {
	w.t.Helper()
	sale := w.number("SELECT id FROM tb_voucher WHERE title = 'found'")
	// The first request makes sure that no earlier version lives, outside the transactions whose COMMIT is lost.
	w.Client.Must(w.t, http.StatusOK, func() box.Request {
		r := w.asAdmin(map[string]string{"why": "asked by letter"}, "/admin/user/%d/forget", 4710)
		r.Method = http.MethodPost
		return r
	}())
	w.lose("POST /admin/user/{id}/forget", unknown, "200",
		w.asAdmin(map[string]string{"why": "asked by letter"}, "/admin/user/%d/forget", 4711))
	template := map[string]any{"voucherId": sale, "name": "Friday"}
	w.lose("POST /admin/template", unknown, "201", w.asAdmin(template, "/admin/template"))
	w.one("saving a template", "tb_voucher_template")
	id := w.number("SELECT id FROM tb_voucher_template")
	w.lose("PATCH /admin/template/{id}", unknown, "200",
		w.asAdmin(map[string]any{"name": "Saturday"}, "/admin/template/%d", id))
	w.lose("DELETE /admin/template/{id}", unknown, "404 NOT_FOUND", w.asAdmin(nil, "/admin/template/%d", id))

	w.lose("PATCH /admin/shop/{id}", unknown, "200", w.asAdmin(map[string]any{"name": "Bakery"}, "/admin/shop/%d", 3))
	w.one("naming a shop", "tb_audit WHERE shop_id = 3")

	hook := map[string]any{"shopId": 1, "url": "https://shop.example/hook", "disabled": true}
	w.lose("POST /admin/webhook", unknown, "201", w.asAdmin(hook, "/admin/webhook"))
	w.one("creating an endpoint", "tb_webhook_endpoint")
	id = w.number("SELECT id FROM tb_webhook_endpoint")
	w.lose("PATCH /admin/webhook/{id}", unknown, "200",
		w.asAdmin(map[string]any{"description": "ours"}, "/admin/webhook/%d", id))
	w.lose("POST /admin/webhook/{id}/rotate", unknown, "409 SECRET_ROTATING",
		w.asAdmin(map[string]any{"atOnce": false}, "/admin/webhook/%d/rotate", id))
	w.paid(w.sale(1, nil), 671)
	box.Eventually(w.t, "an event that the endpoint is past", func() error {
		_, err := w.Ledger.DB.ExecContext(w.t.Context(), `UPDATE tb_webhook_endpoint SET next_number =
			(SELECT COALESCE(MAX(number), 0) + 1 FROM tb_webhook_event WHERE shop_id = 1)`)
		if n := w.number("SELECT next_number FROM tb_webhook_endpoint"); err != nil || n < 2 {
			return fmt.Errorf("its next is %d, %w", n, err)
		}
		return nil
	})
	period := map[string]any{"from": time.Now().Add(-time.Hour).Format(time.RFC3339)}
	w.lose("POST /admin/webhook/{id}/replay", unknown, "202", w.asAdmin(period, "/admin/webhook/%d/replay", id))
	w.lose("DELETE /admin/webhook/{id}", unknown, "404 NOT_FOUND", w.asAdmin(nil, "/admin/webhook/%d", id))
}

// draws announces a draw, enters it, and enters its beacon.
func (w *lostCommits) draws() {
	w.t.Helper()
	begin := time.Now().Add(2 * time.Hour)
	draft := box.SeckillDraft(1, 5, begin, begin.Add(time.Hour))
	draft["title"] = "drawn"
	draft["guards"] = map[string]any{"tickets": map[string]any{
		"delayMs": 1000, "leadMinutes": 180, "expiryMinutes": 60,
	}}
	w.Client.Must(w.t, http.StatusCreated, func() box.Request {
		r := w.asAdmin(draft, "/voucher/seckill")
		r.Method = http.MethodPost
		return r
	}())
	sale := w.number("SELECT id FROM tb_voucher WHERE title = 'drawn'")
	announced := map[string]any{
		"closeTime": begin.Add(-time.Hour).UTC().Format(time.RFC3339), "source": "drand", "round": "4711",
	}
	w.lose("PUT /admin/voucher/{id}/draw", unknown, "200", w.asAdmin(announced, "/admin/voucher/%d/draw", sale))
	w.one("announcing a draw", "tb_draw")
	box.Eventually(w.t, "the instance knows the draw", func() error {
		r := w.as(box.BuyerToken(680), nil, "/voucher/seckill/%d/ticket", sale)
		r.Method = http.MethodPost
		got, err := w.Client.Do(w.t.Context(), r)
		if err == nil && !strings.Contains(string(got.Body), `"entry"`) {
			err = fmt.Errorf("%d %s", got.StatusCode, got.Body)
		}
		return err
	})
	ticket := w.as(box.BuyerToken(681), nil, "/voucher/seckill/%d/ticket", sale)
	w.lose("POST /voucher/seckill/{id}/ticket", "503 UNAVAILABLE", "200", ticket)
	w.one("entering", "tb_draw_entry WHERE user_id = 681")
	closes := func(at any) {
		w.t.Helper()
		if _, err := w.Ledger.DB.ExecContext(w.t.Context(), "UPDATE tb_draw SET close_time = ?", at); err != nil {
			w.t.Fatal(err)
		}
	}
	closes(time.Now().UTC().Add(-time.Second))
	box.Eventually(w.t, "the draw is closed", func() error {
		if w.number("SELECT COUNT(*) FROM tb_draw WHERE root IS NOT NULL") != 1 {
			return errors.New("there is no root")
		}
		return nil
	})
	closes(begin.Add(-time.Hour).UTC().Truncate(time.Second))
	w.lose("PUT /admin/voucher/{id}/draw/beacon", unknown, "200",
		w.asAdmin(map[string]any{"beacon": "c0ffee"}, "/admin/voucher/%d/draw/beacon", sale))
	w.one("entering a beacon", "tb_audit WHERE changes LIKE '%c0ffee%'")
}
