package test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestOrderLives goes through what can happen to an order after the click, at every kind of site, each time through another
// of its servers: what one instance does, the others know.
func TestOrderLives(t *testing.T) {
	t.Parallel()
	for _, kind := range siteKinds() {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			s := kind.open(t)
			for name, test := range map[string]func(*testing.T, *shopper){
				"paid and refunded":              paidAndRefunded,
				"cancelled before its row":       cancelledAtOnce,
				"closed, and paid late":          paidLate,
				"closed, sold, and paid late":    paidTooLate,
				"sold out, and on sale again":    onSaleAgain,
				"units added and removed":        unitsComeAndGo,
				"paused, off the shelf, resumed": pausedAndShelved,
				"told as it happens":             toldAsItHappens,
				"of nobody else":                 ofNobodyElse,
				"ordinary vouchers":              ordinaryVouchers,
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, &shopper{site: s, tb: t, user: int64(1_000_000 + 1000*len(name))})
				})
			}
		})
	}
}

// shopper is a user, and an admin beside him, who go from server to server.
type shopper struct {
	*site
	tb   testing.TB
	user int64
	turn int
}

// at returns a path at the next server.
func (s *shopper) at(path string, args ...any) string {
	s.turn++
	return s.servers[s.turn%len(s.servers)].url(fmt.Sprintf(path, args...))
}

func (s *shopper) sale(stock int64, fields map[string]any) int64 {
	s.tb.Helper()
	body := seckillDraft(1, stock, time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	maps.Copy(body, fields)
	v := decode[voucherJSON](s.tb, s.client.must(s.tb, http.StatusCreated, request{
		method: http.MethodPost, url: s.at("/voucher/seckill"), token: adminToken(), body: body,
	}))
	s.awaitState(s.tb, v.ID, "on_sale")
	return v.ID
}

// buy buys for a user and returns the recorded order's id.
func (s *shopper) buy(voucher, user int64) string {
	s.tb.Helper()
	r := s.client.must(s.tb, http.StatusCreated, request{
		method: http.MethodPost, url: s.at("/voucher/seckill/%d?wait=10s", voucher), token: buyerToken(user),
	})
	return decode[placedJSON](s.tb, r).OrderID
}

// post posts as the user, and wants the status.
func (s *shopper) post(want int, path string, args ...any) reply {
	s.tb.Helper()
	return s.client.must(s.tb, want, request{method: http.MethodPost, url: s.at(path, args...), token: buyerToken(s.user)})
}

// admin does something as an admin, and wants the status.
func (s *shopper) admin(want int, method string, body any, key, path string, args ...any) reply {
	s.tb.Helper()
	r := request{method: method, url: s.at(path, args...), token: adminToken(), body: body}
	if key != "" {
		r.header = map[string]string{"Idempotency-Key": key}
	}
	return s.client.must(s.tb, want, r)
}

// wrongState wants ORDER_STATE with the state in which the order is.
func (s *shopper) wrongState(state, path string, args ...any) {
	s.tb.Helper()
	r := s.post(http.StatusConflict, path, args...)
	if got := decode[placedJSON](s.tb, r); r.Code != "ORDER_STATE" || got.Status != state {
		s.tb.Errorf("%s answers %s, want ORDER_STATE with %s", fmt.Sprintf(path, args...), r.body, state)
	}
}

// lifeJSON is an order with its history.
type lifeJSON struct {
	orderJSON
	History []struct {
		Status, By, Why string
	} `json:"history"`
}

func (s *shopper) life(order string) lifeJSON {
	s.tb.Helper()
	return decode[lifeJSON](s.tb, s.client.must(s.tb, http.StatusOK, request{
		method: http.MethodGet, url: s.at("/order/%s", order), token: buyerToken(s.user),
	}))
}

// becomes waits for a state, and returns the order then.
func (s *shopper) becomes(order, state string) lifeJSON {
	s.tb.Helper()
	eventually(s.tb, "order "+order+" becoming "+state, func() error {
		if got := s.life(order).Status; got != state {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
	return s.life(order)
}

// passed wants the history to have gone through the states, in this order.
func (s *shopper) passed(order string, want ...string) {
	s.tb.Helper()
	var got []string
	for _, e := range s.life(order).History {
		got = append(got, e.Status)
		if e.By == "" {
			s.tb.Errorf("order %s became %s by nobody", order, e.Status)
		}
	}
	if got = slices.Compact(got); !slices.Equal(got, want) {
		s.tb.Errorf("order %s passed %v, want %v", order, got, want)
	}
}

// begin begins to pay, and returns where.
func (s *shopper) begin(order string) string {
	s.tb.Helper()
	p := decode[struct {
		Amount int64
		PayURL string
	}](s.tb, s.post(http.StatusOK, "/order/%s/pay", order))
	if p.Amount != 1000 || p.PayURL == "" {
		s.tb.Fatalf("paying for order %s: %+v", order, p)
	}
	return p.PayURL
}

// press presses the button of the sandbox's page.
func (s *shopper) press(payURL string) {
	s.tb.Helper()
	s.client.must(s.tb, http.StatusOK, request{method: http.MethodPost, url: s.at("%s", payURL)})
}

func (s *shopper) stockBecomes(voucher, want int64) {
	s.tb.Helper()
	eventually(s.tb, fmt.Sprintf("%d units of voucher %d", want, voucher), func() error {
		if v := s.voucher(s.tb, voucher); v.Stock == nil || *v.Stock != want {
			return fmt.Errorf("it shows %v", v.Stock)
		}
		return nil
	})
}

func paidAndRefunded(t *testing.T, s *shopper) {
	voucher := s.sale(2, nil)
	order := s.buy(voucher, s.user)
	s.wrongState("unpaid", "/order/%s/refund", order)
	payURL := s.begin(order)
	if again := s.begin(order); again != payURL {
		t.Errorf("another payment was begun: %s after %s", again, payURL)
	}
	s.press(payURL)
	s.press(payURL) // a callback comes twice
	if got := s.life(order).Status; got != "paid" {
		t.Fatalf("order %s is %s after its payment", order, got)
	}
	s.wrongState("paid", "/order/%s/cancel", order)
	s.wrongState("paid", "/order/%s/pay", order)
	if r, err := s.client.do(t.Context(), request{method: http.MethodPost, url: s.at("/order/%s/refund", order), token: buyerToken(s.user)}); err != nil ||
		r.status != http.StatusAccepted && r.status != http.StatusOK {
		t.Fatalf("refund: %d %s %v", r.status, r.body, err)
	}
	s.becomes(order, "refunded")
	s.post(http.StatusOK, "/order/%s/refund", order) // once more: it has been
	s.passed(order, "queued", "unpaid", "paid", "refunding", "refunded")
	s.stockBecomes(voucher, 2)
	if again := s.buy(voucher, s.user); again == order {
		t.Errorf("buying again gave the refunded order %s", order)
	}
}

func cancelledAtOnce(t *testing.T, s *shopper) {
	voucher := s.sale(1, nil)
	placed := decode[placedJSON](t, s.client.must(t, s.promptly(), request{
		method: http.MethodPost, url: s.at("/voucher/seckill/%d", voucher), token: buyerToken(s.user),
	}))
	for range 2 { // the second changes nothing
		if got := decode[orderJSON](t, s.post(http.StatusOK, "/order/%s/cancel", placed.OrderID)); got.Status != "cancelled" {
			t.Errorf("cancelling shows the order as %s", got.Status)
		}
	}
	s.passed(placed.OrderID, "queued", "unpaid", "cancelled")
	s.wrongState("cancelled", "/order/%s/pay", placed.OrderID)
	s.wrongState("cancelled", "/order/%s/refund", placed.OrderID)
	eventually(t, "buying again", func() error {
		r, err := s.client.do(t.Context(), request{
			method: http.MethodPost, url: s.at("/voucher/seckill/%d?wait=5s", voucher), token: buyerToken(s.user),
		})
		if err == nil && r.status != http.StatusCreated {
			err = fmt.Errorf("%d %s", r.status, r.body)
		}
		return err
	})
}

// promptly is the status of a purchase that is not waited for.
func (s *shopper) promptly() int {
	if s.live == nil {
		return http.StatusCreated // embedded: it waits for its row anyway
	}
	return http.StatusAccepted
}

func paidLate(t *testing.T, s *shopper) {
	voucher := s.sale(1, map[string]any{"payWithinSeconds": 2})
	order := s.buy(voucher, s.user)
	payURL := s.begin(order)
	closed := s.becomes(order, "cancelled")
	if last := closed.History[len(closed.History)-1]; last.By != "closer" {
		t.Errorf("order %s was closed by %q", order, last.By)
	}
	s.press(payURL)
	s.becomes(order, "paid")
	s.passed(order, "queued", "unpaid", "cancelled", "paid")
	s.stockBecomes(voucher, 0)
}

func paidTooLate(t *testing.T, s *shopper) {
	voucher := s.sale(1, map[string]any{"payWithinSeconds": 2})
	order := s.buy(voucher, s.user)
	payURL := s.begin(order)
	s.becomes(order, "cancelled")
	eventually(t, "somebody else getting the unit", func() error {
		r, err := s.client.do(t.Context(), request{
			method: http.MethodPost, url: s.at("/voucher/seckill/%d?wait=5s", voucher), token: buyerToken(s.user + 1),
		})
		if err == nil && r.status != http.StatusCreated {
			err = fmt.Errorf("%d %s", r.status, r.body)
		}
		return err
	})
	other := decode[placedJSON](t, s.client.must(t, http.StatusConflict, request{
		method: http.MethodPost, url: s.at("/voucher/seckill/%d", voucher), token: buyerToken(s.user + 1),
	}))
	keep := &shopper{site: s.site, tb: t, user: s.user + 1}
	keep.press(keep.begin(other.OrderID)) // so that it is not closed too
	s.press(payURL)
	eventually(t, "the late money going back", func() error {
		life := s.life(order)
		if last := life.History[len(life.History)-1]; life.Status != "cancelled" || !strings.Contains(last.Why, "back") {
			return fmt.Errorf("the order is %s, its history ends with %+v", life.Status, last)
		}
		return nil
	})
	s.stockBecomes(voucher, 0)
}

// onSaleAgain: sold out as every server remembers it turns into on sale when a unit comes back.
func onSaleAgain(t *testing.T, s *shopper) {
	voucher := s.sale(1, nil)
	order := s.buy(voucher, s.user)
	for i := range int64(40) { // enough for every server to remember
		r, err := s.client.do(t.Context(), request{
			method: http.MethodPost, url: s.at("/voucher/seckill/%d", voucher), token: buyerToken(s.user + 1 + i),
		})
		if err != nil || r.Code != "SOLD_OUT" {
			t.Fatalf("the %d-th who came too late: %d %s %v", i, r.status, r.body, err)
		}
	}
	s.post(http.StatusOK, "/order/%s/cancel", order)
	won := make(chan int64, 50)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	for _, srv := range s.servers {
		go func() {
			for user := s.user + 100; ctx.Err() == nil; user++ {
				r, err := s.client.do(ctx, request{
					method: http.MethodPost, url: srv.url("/voucher/seckill/" + strconv.FormatInt(voucher, 10)), token: buyerToken(user),
				})
				if err == nil && (r.status == http.StatusAccepted || r.status == http.StatusCreated) {
					won <- user
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}()
	}
	select {
	case <-won:
	case <-ctx.Done():
		t.Fatal("nobody got the unit that came back")
	}
	s.stockBecomes(voucher, 0)
}

func unitsComeAndGo(t *testing.T, s *shopper) {
	voucher := s.sale(5, nil)
	delta := func(want int, n int64, key string) reply {
		t.Helper()
		return s.admin(want, http.MethodPost, map[string]any{"delta": n}, key, "/voucher/%d/stock", voucher)
	}
	for range 2 { // the second is the first one's answer
		if v := decode[voucherJSON](t, delta(http.StatusOK, 3, "add-3")); *v.Stock != 8 || *v.Issued != 8 {
			t.Errorf("after adding 3 to 5: stock %d of %d", *v.Stock, *v.Issued)
		}
	}
	for range 2 {
		if v := decode[voucherJSON](t, delta(http.StatusOK, -6, "take-6")); *v.Stock != 2 || *v.Issued != 2 {
			t.Errorf("after taking 6 of 8: stock %d of %d", *v.Stock, *v.Issued)
		}
	}
	for range 2 {
		r := delta(http.StatusConflict, -3, "take-3")
		if left := decode[struct{ Left int64 }](t, r); r.Code != "INSUFFICIENT_STOCK" || left.Left != 2 {
			t.Errorf("taking 3 of 2: %s", r.body)
		}
	}
	if r := delta(http.StatusConflict, 4, "add-3"); r.Code != "KEY_REUSED" {
		t.Errorf("another delta under the same key: %s", r.body)
	}
	if r := delta(http.StatusBadRequest, 1, ""); r.Code != "INVALID" || r.Errors[0].Field != "Idempotency-Key" {
		t.Errorf("no key: %s", r.body)
	}
	s.buy(voucher, s.user)
	s.buy(voucher, s.user+1)
	s.stockBecomes(voucher, 0)
}

func pausedAndShelved(t *testing.T, s *shopper) {
	voucher := s.sale(5, nil)
	order := s.buy(voucher, s.user)
	says := func(code string) {
		t.Helper()
		for range s.servers {
			r, err := s.client.do(t.Context(), request{
				method: http.MethodPost, url: s.at("/voucher/seckill/%d", voucher), token: buyerToken(s.user + 1),
			})
			if err != nil || r.Code != code {
				t.Errorf("a buyer is told %s %v, want %s", r.body, err, code)
			}
			r = s.post(http.StatusConflict, "/voucher/seckill/%d", voucher)
			if got := decode[placedJSON](t, r); r.Code != "ALREADY_BOUGHT" || got.OrderID != order {
				t.Errorf("the winner is told %s", r.body)
			}
		}
	}
	for range 2 {
		s.admin(http.StatusOK, http.MethodPost, nil, "", "/voucher/%d/pause", voucher)
	}
	says("PAUSED")
	s.admin(http.StatusOK, http.MethodPatch, map[string]any{"status": 2}, "", "/voucher/%d", voucher)
	says("OFF_SHELF")
	s.admin(http.StatusOK, http.MethodPatch, map[string]any{"status": 1}, "", "/voucher/%d", voucher)
	says("PAUSED") // as before
	s.admin(http.StatusOK, http.MethodPost, nil, "", "/voucher/%d/resume", voucher)
	later := time.Now().Add(30 * time.Minute).UTC().Truncate(time.Second)
	s.admin(http.StatusOK, http.MethodPatch, map[string]any{"beginTime": later.Format(time.RFC3339)}, "", "/voucher/%d", voucher)
	says("NOT_STARTED")
	v := decode[voucherJSON](t, s.admin(http.StatusOK, http.MethodPatch,
		map[string]any{"title": "renamed", "beginTime": time.Now().Add(-time.Minute).Format(time.RFC3339)}, "", "/voucher/%d", voucher))
	if v.Title != "renamed" || v.SaleState != "on_sale" {
		t.Errorf("after all that: %+v", v)
	}
	s.buy(voucher, s.user+1)
	if r := s.admin(http.StatusBadRequest, http.MethodPatch, map[string]any{"payValue": 1}, "", "/voucher/%d", voucher); r.Errors[0].Field != "payValue" {
		t.Errorf("changing the price: %s", r.body)
	}
}

// toldAsItHappens reads the events of an order while other servers change it.
func toldAsItHappens(t *testing.T, s *shopper) {
	voucher := s.sale(1, nil)
	order := s.buy(voucher, s.user)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.at("/order/%s/events?access_token=%s", order, buyerToken(s.user)), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	var states []string
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		state, is := strings.CutPrefix(lines.Text(), "id: ")
		if !is {
			continue
		}
		states = append(states, state)
		switch state {
		case "unpaid":
			s.press(s.begin(order))
		case "paid":
			go func() { // the answer may come after the last event
				_, _ = s.client.do(ctx, request{method: http.MethodPost, url: s.at("/order/%s/refund", order), token: buyerToken(s.user)})
			}()
		}
	}
	if len(states) < 3 || states[0] != "unpaid" || states[1] != "paid" || states[len(states)-1] != "refunded" {
		t.Errorf("the stream told %v", states)
	}
}

// ofNobodyElse: what is somebody else's does not exist.
func ofNobodyElse(t *testing.T, s *shopper) {
	voucher := s.sale(1, nil)
	order := s.buy(voucher, s.user)
	thief := &shopper{site: s.site, tb: t, user: s.user + 1}
	for _, action := range []string{"pay", "cancel", "refund"} {
		if r := thief.post(http.StatusNotFound, "/order/%s/%s", order, action); r.Code != "NOT_FOUND" {
			t.Errorf("%s of somebody else's order: %s", action, r.body)
		}
	}
	s.client.must(t, http.StatusNotFound, request{method: http.MethodGet, url: s.at("/order/%s/events", order), token: buyerToken(thief.user)})
	s.client.must(t, http.StatusForbidden, request{method: http.MethodGet, url: s.at("/admin/order/%s", order), token: buyerToken(s.user)})
	all := decode[[]orderJSON](t, s.admin(http.StatusOK, http.MethodGet, nil, "", "/admin/order?userId=%d&voucherId=%d&status=unpaid", s.user, voucher))
	if len(all) != 1 || all[0].ID != order {
		t.Errorf("an admin finds %+v", all)
	}
	// A callback that nobody signed.
	s.client.must(t, http.StatusUnauthorized, request{
		method: http.MethodPost, url: s.at("/payment/callback"), body: map[string]any{"paymentId": "pay_x", "amount": 1000, "status": "succeeded"},
	})
}

func ordinaryVouchers(t *testing.T, s *shopper) {
	create := func() int64 {
		return decode[voucherJSON](t, s.admin(http.StatusCreated, http.MethodPost,
			map[string]any{"shopId": 2, "title": "tea", "payValue": 1000, "actualValue": 1500}, "", "/voucher")).ID
	}
	tea, cake, sale := create(), create(), s.sale(1, nil)
	buy := func(want int, voucher int64, key string) reply {
		t.Helper()
		r := request{method: http.MethodPost, url: s.at("/voucher/buy/%d", voucher), token: buyerToken(s.user)}
		if key != "" {
			r.header = map[string]string{"Idempotency-Key": key}
		}
		return s.client.must(t, want, r)
	}
	first := decode[placedJSON](t, buy(http.StatusCreated, tea, "")).OrderID
	second := decode[placedJSON](t, buy(http.StatusCreated, tea, "tea-please")).OrderID
	if again := decode[placedJSON](t, buy(http.StatusCreated, tea, "tea-please")).OrderID; first == second || again != second {
		t.Errorf("orders %s, %s, and %s under the second one's key", first, second, again)
	}
	if r := buy(http.StatusConflict, cake, "tea-please"); r.Code != "KEY_REUSED" {
		t.Errorf("another voucher under the same key: %s", r.body)
	}
	if r := buy(http.StatusConflict, sale, ""); r.Code != "SECKILL_ONLY" {
		t.Errorf("buying a seckill voucher freely: %s", r.body)
	}
	s.press(s.begin(first))
	s.becomes(first, "paid")
	s.post(http.StatusOK, "/order/%s/cancel", second)
	s.passed(second, "unpaid", "cancelled")
}
