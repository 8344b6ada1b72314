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

	"seckill/test/box"
)

// TestOrderStates moves orders through their states on every kind of site. Each request goes to the next server,
// because all instances must know what one of them did.
func TestOrderStates(t *testing.T) {
	t.Parallel()
	for _, kind := range box.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s := kind.Open(t)
			for name, test := range map[string]func(*testing.T, *shopper){
				"paid and refunded":              paidAndRefunded,
				"cancelled before its row":       cancelledWhileQueued,
				"expired, and paid late":         paidLate,
				"expired, sold, and paid late":   paidTooLate,
				"sold out, and on sale again":    soldOutAndBack,
				"units added and removed":        stockChanged,
				"paused, off the shelf, resumed": pausedAndOffShelf,
				"events":                         events,
				"owners only":                    ownersOnly,
				"ordinary vouchers":              ordinaryVouchers,
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, &shopper{Site: s, tb: t, user: int64(1_000_000 + 1000*len(name))})
				})
			}
		})
	}
}

// shopper sends a user's and an admin's requests to the servers in turn.
type shopper struct {
	*box.Site
	tb   testing.TB
	user int64
	turn int
}

// next returns the address of a path at the next server.
func (s *shopper) next(path string, args ...any) string {
	s.turn++
	return s.Servers[s.turn%len(s.Servers)].URL(fmt.Sprintf(path, args...))
}

func (s *shopper) sale(stock int64, fields map[string]any) int64 {
	s.tb.Helper()
	body := box.SeckillDraft(1, stock, time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	maps.Copy(body, fields)
	v := box.Decode[box.Voucher](s.tb, s.Client.Must(s.tb, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: s.next("/voucher/seckill"), Token: box.AdminToken(), Body: body,
	}))
	s.AwaitState(s.tb, v.ID, "on_sale")
	return v.ID
}

// buy buys for a user and returns the recorded order's id.
func (s *shopper) buy(voucher, user int64) string {
	s.tb.Helper()
	r := s.Client.Must(s.tb, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: s.next("/voucher/seckill/%d?wait=30s", voucher), Token: box.BuyerToken(user),
	})
	return box.Decode[box.Placed](s.tb, r).OrderID
}

// buyAgain buys as the user as soon as Redis has the unit of the earlier order back. The stock on the pages does not
// tell when: each server shows it a little late.
func (s *shopper) buyAgain(voucher int64) (order string) {
	s.tb.Helper()
	box.Eventually(s.tb, "bought again", func() error {
		r, err := s.Client.Do(s.tb.Context(), box.Request{
			Method: http.MethodPost, URL: s.next("/voucher/seckill/%d?wait=30s", voucher),
			Token: box.BuyerToken(s.user),
		})
		if err == nil && r.StatusCode != http.StatusCreated {
			err = fmt.Errorf("%d %s", r.StatusCode, r.Body)
		}
		if err == nil {
			order = box.Decode[box.Placed](s.tb, r).OrderID
		}
		return err
	})
	return order
}

// post posts as the user, and expects the status.
func (s *shopper) post(want int, path string, args ...any) box.Reply {
	s.tb.Helper()
	return s.Client.Must(s.tb, want,
		box.Request{Method: http.MethodPost, URL: s.next(path, args...), Token: box.BuyerToken(s.user)})
}

// admin sends a request as an admin, and expects the status.
func (s *shopper) admin(want int, method string, body any, key, path string, args ...any) box.Reply {
	s.tb.Helper()
	r := box.Request{Method: method, URL: s.next(path, args...), Token: box.AdminToken(), Body: body}
	if key != "" {
		r.Header = map[string]string{"Idempotency-Key": key}
	}
	return s.Client.Must(s.tb, want, r)
}

// wrongState expects ORDER_STATE with the order's present state.
func (s *shopper) wrongState(state, path string, args ...any) {
	s.tb.Helper()
	r := s.post(http.StatusConflict, path, args...)
	if got := box.Decode[box.Placed](s.tb, r); r.Code != "ORDER_STATE" || got.Status != state {
		s.tb.Errorf("%s answers %s, want ORDER_STATE with %s", fmt.Sprintf(path, args...), r.Body, state)
	}
}

// orderHistory is an order with its history.
type orderHistory struct {
	box.Order
	History []struct {
		Status, By, Why string
	} `json:"history"`
}

func (s *shopper) order(order string) orderHistory {
	s.tb.Helper()
	return box.Decode[orderHistory](s.tb, s.Client.Whole(s.tb, box.Request{
		URL: s.next("/order/%s", order), Token: box.BuyerToken(s.user),
	}))
}

// awaitStatus waits until an order is in a state, and returns it.
func (s *shopper) awaitStatus(order, state string) orderHistory {
	s.tb.Helper()
	box.Eventually(s.tb, "order "+order+" becoming "+state, func() error {
		if got := s.order(order).Status; got != state {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
	return s.order(order)
}

// expectHistory expects the order to have gone through the states, in this order.
func (s *shopper) expectHistory(order string, want ...string) {
	s.tb.Helper()
	var got []string
	for _, e := range s.order(order).History {
		got = append(got, e.Status)
		if e.By == "" {
			s.tb.Errorf("order %s became %s; the history does not say by whom", order, e.Status)
		}
	}
	if got = slices.Compact(got); !slices.Equal(got, want) {
		s.tb.Errorf("order %s went through %v, want %v", order, got, want)
	}
}

// beginPayment begins to pay, and returns the address of the payment page.
func (s *shopper) beginPayment(order string) string {
	s.tb.Helper()
	p := box.Decode[struct {
		Amount int64
		PayURL string
	}](s.tb, s.post(http.StatusOK, "/order/%s/pay", order))
	if p.Amount != 1000 || p.PayURL == "" {
		s.tb.Fatalf("paying for order %s: %+v", order, p)
	}
	return p.PayURL
}

// pay confirms the payment on the sandbox's page.
func (s *shopper) pay(payURL string) {
	s.tb.Helper()
	s.Client.Must(s.tb, http.StatusOK, box.Request{Method: http.MethodPost, URL: s.next("%s", payURL)})
}

func (s *shopper) stockBecomes(voucher, want int64) {
	s.tb.Helper()
	box.Eventually(s.tb, fmt.Sprintf("%d units of voucher %d", want, voucher), func() error {
		if v := s.Voucher(s.tb, voucher); v.Stock == nil || *v.Stock != want {
			return fmt.Errorf("it shows %v", v.Stock)
		}
		return nil
	})
}

func paidAndRefunded(t *testing.T, s *shopper) {
	voucher := s.sale(2, nil)
	order := s.buy(voucher, s.user)
	s.wrongState("unpaid", "/order/%s/refund", order)
	payURL := s.beginPayment(order)
	if again := s.beginPayment(order); again != payURL {
		t.Errorf("another payment was begun: %s after %s", again, payURL)
	}
	s.pay(payURL)
	s.pay(payURL) // sends the callback twice
	if got := s.order(order).Status; got != "paid" {
		t.Fatalf("order %s is %s after its payment", order, got)
	}
	s.wrongState("paid", "/order/%s/cancel", order)
	s.wrongState("paid", "/order/%s/pay", order)
	if r, err := s.Client.Do(t.Context(), box.Request{
		Method: http.MethodPost, URL: s.next("/order/%s/refund", order), Token: box.BuyerToken(s.user),
	}); err != nil ||
		r.StatusCode != http.StatusAccepted && r.StatusCode != http.StatusOK {
		t.Fatalf("refund: %d %s %v", r.StatusCode, r.Body, err)
	}
	s.awaitStatus(order, "refunded")
	s.post(http.StatusOK, "/order/%s/refund", order) // a repetition: the order is already refunded
	s.expectHistory(order, "queued", "unpaid", "paid", "refunding", "refunded")
	if again := s.buyAgain(voucher); again == order {
		t.Errorf("buying again gave the refunded order %s", order)
	}
	s.stockBecomes(voucher, 1)
}

func cancelledWhileQueued(t *testing.T, s *shopper) {
	voucher := s.sale(1, nil)
	placed := box.Decode[box.Placed](t, s.Client.Must(t, s.statusWithoutWait(), box.Request{
		Method: http.MethodPost, URL: s.next("/voucher/seckill/%d", voucher), Token: box.BuyerToken(s.user),
	}))
	for range 2 { // the second request changes nothing
		if got := box.Decode[box.Order](t, s.post(http.StatusOK, "/order/%s/cancel",
			placed.OrderID)); got.Status != "cancelled" {
			t.Errorf("cancelling shows the order as %s", got.Status)
		}
	}
	s.expectHistory(placed.OrderID, "queued", "unpaid", "cancelled")
	s.wrongState("cancelled", "/order/%s/pay", placed.OrderID)
	s.wrongState("cancelled", "/order/%s/refund", placed.OrderID)
	box.Eventually(t, "buying again", func() error {
		r, err := s.Client.Do(t.Context(), box.Request{
			Method: http.MethodPost, URL: s.next("/voucher/seckill/%d?wait=30s", voucher),
			Token: box.BuyerToken(s.user),
		})
		if err == nil && r.StatusCode != http.StatusCreated {
			err = fmt.Errorf("%d %s", r.StatusCode, r.Body)
		}
		return err
	})
}

// statusWithoutWait returns the expected status of a purchase without ?wait=.
func (s *shopper) statusWithoutWait() int {
	if s.Redis == nil {
		return http.StatusCreated // embedded: the answer always waits for the row
	}
	return http.StatusAccepted
}

// payWithin is the time to pay, in seconds, in the tests of late payments: enough to begin a payment on a busy machine.
const payWithin = 10

func paidLate(t *testing.T, s *shopper) {
	voucher := s.sale(1, map[string]any{"payWithinSeconds": payWithin})
	order := s.buy(voucher, s.user)
	payURL := s.beginPayment(order)
	expired := s.awaitStatus(order, "cancelled")
	if last := expired.History[len(expired.History)-1]; last.By != "expirer" {
		t.Errorf("order %s was cancelled by %q", order, last.By)
	}
	s.pay(payURL)
	s.awaitStatus(order, "paid")
	s.expectHistory(order, "queued", "unpaid", "cancelled", "paid")
	s.stockBecomes(voucher, 0)
}

func paidTooLate(t *testing.T, s *shopper) {
	voucher := s.sale(1, map[string]any{"payWithinSeconds": payWithin})
	order := s.buy(voucher, s.user)
	payURL := s.beginPayment(order)
	s.awaitStatus(order, "cancelled")
	box.Eventually(t, "another user getting the unit", func() error {
		r, err := s.Client.Do(t.Context(), box.Request{
			Method: http.MethodPost, URL: s.next("/voucher/seckill/%d?wait=30s", voucher),
			Token: box.BuyerToken(s.user + 1),
		})
		if err == nil && r.StatusCode != http.StatusCreated {
			err = fmt.Errorf("%d %s", r.StatusCode, r.Body)
		}
		return err
	})
	other := box.Decode[box.Placed](t, s.Client.Must(t, http.StatusConflict, box.Request{
		Method: http.MethodPost, URL: s.next("/voucher/seckill/%d", voucher), Token: box.BuyerToken(s.user + 1),
	}))
	keep := &shopper{Site: s.Site, tb: t, user: s.user + 1}
	keep.pay(keep.beginPayment(other.OrderID)) // so that it does not expire as well
	s.pay(payURL)
	box.Eventually(t, "the late money going back", func() error {
		life := s.order(order)
		if last := life.History[len(life.History)-1]; life.Status != "cancelled" ||
			!strings.Contains(last.Why, "back") {
			return fmt.Errorf("the order is %s, its history ends with %+v", life.Status, last)
		}
		return nil
	})
	s.stockBecomes(voucher, 0)
}

// soldOutAndBack fills every server's sold-out cache; when a unit comes back, all servers must sell again.
func soldOutAndBack(t *testing.T, s *shopper) {
	voucher := s.sale(1, nil)
	order := s.buy(voucher, s.user)
	for i := range int64(40) { // enough to fill every server's sold-out cache
		r, err := s.Client.Do(t.Context(), box.Request{
			Method: http.MethodPost, URL: s.next("/voucher/seckill/%d", voucher), Token: box.BuyerToken(s.user + 1 + i),
		})
		if err != nil || r.Code != "SOLD_OUT" {
			t.Fatalf("buyer %d after sold-out: %d %s %v", i, r.StatusCode, r.Body, err)
		}
	}
	s.post(http.StatusOK, "/order/%s/cancel", order)
	won := make(chan int64, 50)
	ctx, stop := context.WithTimeout(t.Context(), box.Patience)
	defer stop()
	for _, srv := range s.Servers {
		go func() {
			for user := s.user + 100; ctx.Err() == nil; user++ {
				r, err := s.Client.Do(ctx, box.Request{
					Method: http.MethodPost, URL: srv.URL("/voucher/seckill/" + strconv.FormatInt(voucher, 10)),
					Token: box.BuyerToken(user),
				})
				if err == nil && (r.StatusCode == http.StatusAccepted || r.StatusCode == http.StatusCreated) {
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
		t.Fatal("the unit that came back was not sold")
	}
	s.stockBecomes(voucher, 0)
}

func stockChanged(t *testing.T, s *shopper) {
	voucher := s.sale(5, nil)
	delta := func(want int, n int64, key string) box.Reply {
		t.Helper()
		return s.admin(want, http.MethodPost, map[string]any{"delta": n}, key, "/voucher/%d/stock", voucher)
	}
	for range 2 { // the repetition with the same key changes nothing
		if v := box.Decode[box.Voucher](t, delta(http.StatusOK, 3, "add-3")); *v.Stock != 8 || *v.Issued != 8 {
			t.Errorf("after adding 3 to 5: stock %d of %d", *v.Stock, *v.Issued)
		}
	}
	for range 2 {
		if v := box.Decode[box.Voucher](t, delta(http.StatusOK, -6, "take-6")); *v.Stock != 2 || *v.Issued != 2 {
			t.Errorf("after taking 6 of 8: stock %d of %d", *v.Stock, *v.Issued)
		}
	}
	for range 2 {
		r := delta(http.StatusConflict, -3, "take-3")
		if left := box.Decode[struct{ Left int64 }](t, r); r.Code != "INSUFFICIENT_STOCK" || left.Left != 2 {
			t.Errorf("taking 3 of 2: %s", r.Body)
		}
	}
	if r := delta(http.StatusConflict, 4, "add-3"); r.Code != "KEY_REUSED" {
		t.Errorf("another delta under the same key: %s", r.Body)
	}
	if r := delta(http.StatusBadRequest, 1, ""); r.Code != "INVALID" || r.Errors[0].Field != "Idempotency-Key" {
		t.Errorf("no key: %s", r.Body)
	}
	s.buy(voucher, s.user)
	s.buy(voucher, s.user+1)
	s.stockBecomes(voucher, 0)
}

func pausedAndOffShelf(t *testing.T, s *shopper) {
	voucher := s.sale(5, nil)
	order := s.buy(voucher, s.user)
	expect := func(code string) {
		t.Helper()
		for range s.Servers {
			url := s.next("/voucher/seckill/%d", voucher)
			box.Eventually(t, "a buyer being answered "+code, func() error { // vouchers are read again within seconds
				r, err := s.Client.Do(t.Context(), box.Request{
					Method: http.MethodPost, URL: url, Token: box.BuyerToken(s.user + 1),
				})
				if err == nil && r.Code != code {
					err = fmt.Errorf("%s", r.Body)
				}
				return err
			})
			r := s.post(http.StatusConflict, "/voucher/seckill/%d", voucher)
			if got := box.Decode[box.Placed](t, r); r.Code != "ALREADY_BOUGHT" || got.OrderID != order {
				t.Errorf("the winner is answered %s", r.Body)
			}
		}
	}
	for range 2 {
		s.admin(http.StatusOK, http.MethodPost, nil, "", "/voucher/%d/pause", voucher)
	}
	expect("PAUSED")
	s.admin(http.StatusOK, http.MethodPatch, map[string]any{"status": 2}, "", "/voucher/%d", voucher)
	expect("NOT_FOUND") // off the shelf
	s.admin(http.StatusOK, http.MethodPatch, map[string]any{"status": 1}, "", "/voucher/%d", voucher)
	expect("PAUSED") // as before
	s.admin(http.StatusOK, http.MethodPost, nil, "", "/voucher/%d/resume", voucher)
	later := time.Now().Add(30 * time.Minute).UTC().Truncate(time.Second)
	s.admin(http.StatusOK, http.MethodPatch, map[string]any{"beginTime": later.Format(time.RFC3339)},
		"", "/voucher/%d", voucher)
	expect("NOT_STARTED")
	v := box.Decode[box.Voucher](t, s.admin(http.StatusOK, http.MethodPatch,
		map[string]any{"title": "renamed", "beginTime": time.Now().Add(-time.Minute).Format(time.RFC3339)}, "",
		"/voucher/%d", voucher))
	if v.Title != "renamed" || v.SaleState != "on_sale" {
		t.Errorf("after all that: %+v", v)
	}
	s.buy(voucher, s.user+1)
	if r := s.admin(http.StatusBadRequest, http.MethodPatch, map[string]any{"payValue": 1}, "", "/voucher/%d",
		voucher); r.Errors[0].Field != "payValue" {
		t.Errorf("changing the price: %s", r.Body)
	}
}

// events reads the event stream of an order while other servers change the order.
func events(t *testing.T, s *shopper) {
	voucher := s.sale(1, nil)
	order := s.buy(voucher, s.user)
	ctx, cancel := context.WithTimeout(t.Context(), box.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.next("/order/%s/events?access_token=%s",
		order, box.BuyerToken(s.user)), http.NoBody)
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
			s.pay(s.beginPayment(order))
		case "paid":
			go func() { // the answer may come after the last event
				_, _ = s.Client.Do(ctx, box.Request{
					Method: http.MethodPost, URL: s.next("/order/%s/refund", order), Token: box.BuyerToken(s.user),
				})
			}()
		}
	}
	if len(states) < 3 || states[0] != "unpaid" || states[1] != "paid" || states[len(states)-1] != "refunded" {
		t.Errorf("the stream had %v", states)
	}
}

// ownersOnly checks that another user's order does not exist.
func ownersOnly(t *testing.T, s *shopper) {
	voucher := s.sale(1, nil)
	order := s.buy(voucher, s.user)
	thief := &shopper{Site: s.Site, tb: t, user: s.user + 1}
	for _, action := range []string{"pay", "cancel", "refund"} {
		if r := thief.post(http.StatusNotFound, "/order/%s/%s", order, action); r.Code != "NOT_FOUND" {
			t.Errorf("%s of another user's order: %s", action, r.Body)
		}
	}
	s.Client.Must(t, http.StatusNotFound,
		box.Request{Method: http.MethodGet, URL: s.next("/order/%s/events", order), Token: box.BuyerToken(thief.user)})
	s.Client.Must(t, http.StatusForbidden,
		box.Request{Method: http.MethodGet, URL: s.next("/admin/order/%s", order), Token: box.BuyerToken(s.user)})
	all := box.Decode[[]box.Order](t, s.admin(http.StatusOK, http.MethodGet, nil, "",
		"/admin/order?userId=%d&voucherId=%d&status=unpaid", s.user, voucher))
	if len(all) != 1 || all[0].ID != order {
		t.Errorf("an admin finds %+v", all)
	}
	// A callback without a signature is refused.
	s.Client.Must(t, http.StatusUnauthorized, box.Request{
		Method: http.MethodPost, URL: s.next("/payment/callback"),
		Body: map[string]any{"paymentId": "pay_x", "amount": 1000, "status": "succeeded"},
	})
}

func ordinaryVouchers(t *testing.T, s *shopper) {
	create := func() int64 {
		return box.Decode[box.Voucher](t, s.admin(http.StatusCreated, http.MethodPost,
			map[string]any{"shopId": 2, "title": "tea", "payValue": 1000, "actualValue": 1500}, "", "/voucher")).ID
	}
	tea, cake, sale := create(), create(), s.sale(1, nil)
	buy := func(want int, voucher int64, key string) box.Reply {
		t.Helper()
		r := box.Request{
			Method: http.MethodPost, URL: s.next("/voucher/buy/%d", voucher), Token: box.BuyerToken(s.user),
		}
		if key != "" {
			r.Header = map[string]string{"Idempotency-Key": key}
		}
		return s.Client.Must(t, want, r)
	}
	first := box.Decode[box.Placed](t, buy(http.StatusCreated, tea, "")).OrderID
	second := box.Decode[box.Placed](t, buy(http.StatusCreated, tea, "tea-please")).OrderID
	if again := box.Decode[box.Placed](t, buy(http.StatusCreated, tea, "tea-please")).OrderID; first == second ||
		again != second {
		t.Errorf("orders %s, %s, and %s under the second one's key", first, second, again)
	}
	if r := buy(http.StatusConflict, cake, "tea-please"); r.Code != "KEY_REUSED" {
		t.Errorf("another voucher under the same key: %s", r.Body)
	}
	if r := buy(http.StatusConflict, sale, ""); r.Code != "SECKILL_ONLY" {
		t.Errorf("buying a seckill voucher freely: %s", r.Body)
	}
	s.pay(s.beginPayment(first))
	s.awaitStatus(first, "paid")
	s.post(http.StatusOK, "/order/%s/cancel", second)
	s.expectHistory(second, "unpaid", "cancelled")
}
