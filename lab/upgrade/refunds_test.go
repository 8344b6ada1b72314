package upgrade

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"seckill/internal/order/payment"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// refundsBesideEachOther has instances of both versions send money back: whichever is asked, whichever sends it, also
// what the provider refuses for good. Parts wait until no instance of the previous version lives.
func refundsBesideEachOther(t *testing.T, old, now release) {
	const price, refused = 1000, 1013 // the sandbox refuses what ends in 13
	redis := testkit.StartRedis(t, keepsAll...)
	s := openStores(t, redis, testkit.StartMariaDB(t).DSN("seckill"))
	settings := s.settings()
	maps.Copy(settings, map[string]string{
		"SECKILL_PAYMENT_PROVIDER": "sandbox", "SECKILL_PAYMENT_SECRET": box.Secret,
	})
	start := func(r release, id string) *money { return &money{launch(t, r, id, settings)} }
	a, b := start(old, "a"), start(now, "b")
	sale, stuck := a.createSaleAt(price), a.createSaleAt(refused)
	for n, tt := range []struct{ paid, asked *money }{{a, b}, {b, a}, {a, a}, {b, b}} {
		user := int64(n + 1)
		id, pay := tt.paid.buysAndPays(sale, user, price)
		tt.asked.posts(http.StatusOK, "/order/"+id+"/refund", box.BuyerToken(user), nil)
		for _, at := range []*money{a, b} {
			at.awaits(pay, "refunded", price)
		}
		// The provider tells of it, too, as a total: no money goes back twice.
		tt.paid.server.Tells(t, box.Secret, payment.Notice{
			Kind: payment.NoticeReturned, PaymentID: pay, Amount: price,
		})
		b.awaits(pay, "refunded", price)

		id, pay = tt.paid.buysAndPays(stuck, user, refused)
		tt.asked.posts(http.StatusOK, "/order/"+id+"/refund", box.BuyerToken(user), nil)
		for _, at := range []*money{a, b} {
			at.awaits(pay, "stuck", 0)
		}
		tt.paid.posts(http.StatusOK, "/admin/payment/"+pay+"/retry", box.AdminToken(), why)
		b.awaits(pay, "stuck", 0)
		tt.asked.posts(http.StatusOK, "/admin/payment/"+pay+"/close", box.AdminToken(), why)
		for _, at := range []*money{a, b} {
			at.awaits(pay, "closed", 0)
		}
	}
	// A total of the provider is a refund, whichever version is told; the rest goes back by the other one.
	id, pay := a.buysAndPays(sale, 20, price)
	a.server.Tells(t, box.Secret, payment.Notice{Kind: payment.NoticeReturned, PaymentID: pay, Amount: 300})
	b.awaits(pay, "received", 300)
	b.server.Tells(t, box.Secret, payment.Notice{Kind: payment.NoticeReturned, PaymentID: pay, Amount: 400})
	a.awaits(pay, "received", 400)
	b.posts(http.StatusOK, "/order/"+id+"/refund", box.BuyerToken(20), nil)
	a.awaits(pay, "refunded", price)

	if a.binary == b.binary {
		return // the work tree beside itself: no version is older
	}
	_, pay = a.buysAndPays(sale, 21, price)
	part := map[string]any{"amount": 250, "why": "cold soup"}
	e := b.posts(http.StatusServiceUnavailable, "/admin/payment/"+pay+"/refund", box.AdminToken(), part)
	if e.Code != "UPGRADING" {
		t.Errorf("a part beside the previous version is answered %s", e.Code)
	}
	a.terminate()
	a = start(old, "a") // no part has gone back, so there is a way back
	a.terminate()
	box.Eventually(t, "a part once the previous version has gone", func() error {
		status, e, err := b.post(t.Context(), "/admin/payment/"+pay+"/refund", box.AdminToken(), part)
		if err == nil && status != http.StatusAccepted { // each one that is accepted is a part more
			err = fmt.Errorf("%d %s", status, e.Code)
		}
		return err
	})
	b.awaits(pay, "received", 250)
	again := box.NewServer(t, "c", settings)
	again.Binary = old.binary
	if again.Start() == nil { // it did before the part
		t.Error("the previous version starts although a part has gone back")
	}
}

var why = map[string]any{"why": "to see what happens"}

// money is an instance at which people pay.
type money struct{ *instance }

// posts sends a request and returns the answer, whose status is to be of the same class as the one given: a refund that
// is not through within a second is answered 202.
func (m *money) posts(want int, path, token string, body any) envelope {
	m.Helper()
	status, e, err := m.post(m.Context(), path, token, body)
	if err != nil || status/100 != want/100 {
		m.Fatalf("POST %s at %s, %s: %d %s, %v", path, m.server.Name, m.name, status, e.Code, err)
	}
	return e
}

// buysAndPays buys and pays for a user, and returns the order and its payment.
func (m *money) buysAndPays(voucher, user, price int64) (orderID, paymentID string) {
	m.Helper()
	token := box.BuyerToken(user)
	orderID = m.posts(http.StatusCreated, fmt.Sprintf("/voucher/seckill/%d?wait=10s", voucher), token, nil).Data.OrderID
	paymentID = m.posts(http.StatusOK, "/order/"+orderID+"/pay", token, nil).Data.PaymentID
	m.server.Tells(m, box.Secret, payment.Notice{PaymentID: paymentID, Amount: price})
	return orderID, paymentID
}

// awaits waits until a payment is in a state, and so much of it has gone back.
func (m *money) awaits(id, state string, returned int64) {
	m.Helper()
	box.Eventually(m, "payment "+id+" at "+m.server.Name, func() error {
		url := m.server.URL("/admin/payment/" + id)
		status, answer, err := m.do(m.Context(), http.MethodGet, url, box.AdminToken(), nil)
		var p struct {
			Data struct {
				State          string `json:"state"`
				ReturnedAmount int64  `json:"returnedAmount"`
			} `json:"data"`
		}
		if err == nil {
			err = json.Unmarshal(answer, &p)
		}
		if err == nil && (p.Data.State != state || p.Data.ReturnedAmount != returned) {
			err = fmt.Errorf("%d %s, want %s and %d back", status, answer, state, returned)
		}
		return err
	})
}

// createSaleAt creates a sale whose coupons have a price, and returns its id.
func (m *money) createSaleAt(price int64) int64 {
	m.Helper()
	return m.createSaleOf(map[string]any{
		"shopId": 1, "stock": 100, "title": "coffee", "payValue": price, "actualValue": 10000,
		"beginTime": time.Now().Add(-time.Minute).Format(time.RFC3339), "endTime": "2099-01-01T00:00:00Z",
		"payWithinSeconds": int64(payWithin / time.Second),
	})
}
