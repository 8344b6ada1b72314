package test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The frontend that belongs to the well-known tutorial must work unchanged: these are its calls, as it makes them and
// as it reads the answers.

// tutorialTime is how that frontend writes a time: without a zone.
const tutorialTime = "2006-01-02T15:04:05"

// tutorialResult is its answer type.
type tutorialResult struct {
	Success  bool            `json:"success"`
	ErrorMsg string          `json:"errorMsg"`
	Data     json.RawMessage `json:"data"`
	Total    int64           `json:"total"`
}

func tutorial(t *testing.T, r reply) tutorialResult {
	t.Helper()
	var out tutorialResult
	if err := json.Unmarshal(r.body, &out); err != nil {
		t.Fatalf("answer %s: %v", r.body, err)
	}
	return out
}

// tutorialVoucher creates a seckill voucher with the frontend's body and returns its id.
func tutorialVoucher(t *testing.T, s *site, stock int, begin, end time.Time) int64 {
	t.Helper()
	r := s.client.must(t, http.StatusCreated, request{
		method: http.MethodPost, url: s.url("/voucher/seckill"), token: adminToken(), raw: true,
		body: map[string]any{
			"shopId": 1, "title": "100元代金券", "subTitle": "周一至周五均可使用", "rules": "全场通用\\n无需预约",
			"payValue": 8000, "actualValue": 10000, "stock": stock,
			"beginTime": begin.UTC().Format(tutorialTime), "endTime": end.UTC().Format(tutorialTime),
		},
	})
	if !tutorial(t, r).Success {
		t.Fatalf("creating a voucher: %s", r.body)
	}
	return decode[voucherJSON](t, r).ID
}

// press is the frontend's purchase: the old route, the token raw in lower case.
func press(t *testing.T, s *site, voucher int64, token string) reply {
	t.Helper()
	r, err := s.client.do(t.Context(), request{
		method: http.MethodPost, url: s.url("/voucher-order/seckill/" + strconv.FormatInt(voucher, 10)),
		header: map[string]string{"authorization": token, "Accept-Language": "zh-CN,zh;q=0.9"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTutorialVouchers: the shop page lists vouchers, creating one is one call.
func TestTutorialVouchers(t *testing.T) {
	t.Parallel()
	s := embeddedSite(t)
	begin := time.Now().Add(-time.Hour).Truncate(time.Second)
	end := begin.Add(48 * time.Hour)
	id := tutorialVoucher(t, s, 7, begin, end)
	s.client.must(t, http.StatusCreated, request{
		method: http.MethodPost, url: s.url("/voucher"), token: adminToken(), raw: true,
		body: map[string]any{"shopId": 1, "title": "50元代金券", "payValue": 4750, "actualValue": 5000},
	})
	r := s.client.must(t, http.StatusOK, request{method: http.MethodGet, url: s.url("/voucher/list/1")})
	var list []map[string]any
	if err := json.Unmarshal(tutorial(t, r).Data, &list); err != nil {
		t.Fatal(err)
	}
	var ordinary, seckill map[string]any
	for _, v := range list {
		switch {
		case v["id"] == float64(id):
			seckill = v
		case v["title"] == "50元代金券":
			ordinary = v
		}
	}
	if ordinary == nil || seckill == nil {
		t.Fatalf("the list lacks a voucher: %s", r.body)
	}
	// The page counts down to endTime and formats money by dividing numbers by 100.
	if v, ok := ordinary["endTime"]; ok {
		t.Errorf("an ordinary voucher has the endTime %v", v)
	}
	if ordinary["type"] != float64(0) || seckill["type"] != float64(1) || seckill["payValue"] != float64(8000) || seckill["stock"] != float64(7) {
		t.Errorf("type, money or stock are not the numbers that the page reads: %s", r.body)
	}
	shown, err := time.Parse(time.RFC3339, seckill["endTime"].(string))
	if err != nil || !shown.Equal(end) {
		t.Errorf("endTime %v, want %v", seckill["endTime"], end.UTC())
	}
	empty := s.client.must(t, http.StatusOK, request{method: http.MethodGet, url: s.url("/voucher/list/987654")})
	if got := string(tutorial(t, empty).Data); got != "[]" {
		t.Errorf("a shop without vouchers has the list %s, want []", got)
	}
}

// TestTutorialPurchase: a purchase answers the order id as a string; refusals are 200 with success false and a text
// that the page shows as it is; a missing login is a 401, on which it goes to the login page.
func TestTutorialPurchase(t *testing.T) {
	t.Parallel()
	for _, kind := range siteKinds()[:2] {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			s := kind.open(t)
			now := time.Now()
			id := tutorialVoucher(t, s, 1, now.Add(-time.Hour), now.Add(time.Hour))
			s.awaitState(t, id, "on_sale")
			bought := press(t, s, id, buyerToken(11))
			var order string
			if err := json.Unmarshal(tutorial(t, bought).Data, &order); err != nil || bought.status != http.StatusOK {
				t.Fatalf("a purchase answers %d %s, want 200 and the order id as a string", bought.status, bought.body)
			}
			if n, err := strconv.ParseInt(order, 10, 64); err != nil || n <= 0 {
				t.Errorf("order id %q", order)
			}
			early := tutorialVoucher(t, s, 1, now.Add(time.Hour), now.Add(2*time.Hour))
			s.awaitState(t, early, "not_started")
			refusal(t, "twice", press(t, s, id, buyerToken(11)))
			refusal(t, "sold out", press(t, s, id, buyerToken(12)))
			refusal(t, "too early", press(t, s, early, buyerToken(12)))
			refusal(t, "no such voucher", press(t, s, 999_999, buyerToken(12)))
			// "Bearer" is what later frontends put before the token.
			refusal(t, "sold out", press(t, s, id, "Bearer "+buyerToken(13)))
			if r := press(t, s, id, ""); r.status != http.StatusUnauthorized {
				t.Errorf("without a token: %d %s, want 401", r.status, r.body)
			}
			if r := press(t, s, id, "nonsense"); r.status != http.StatusUnauthorized {
				t.Errorf("with a wrong token: %d %s, want 401", r.status, r.body)
			}
		})
	}
}

// refusal checks that an answer is what the page shows as a message.
func refusal(t *testing.T, what string, r reply) {
	t.Helper()
	got := tutorial(t, r)
	chinese := strings.ContainsFunc(got.ErrorMsg, func(c rune) bool { return c >= 0x4e00 && c <= 0x9fff })
	if r.status != http.StatusOK || got.Success || !chinese || r.Code == "" {
		t.Errorf("%s: %d %s, want 200, success false and a Chinese errorMsg", what, r.status, r.body)
	}
}
