package test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/test/box"
)

// The frontend of the well-known tutorial must work unchanged: these are its calls, and its way of reading the answers.

// tutorialTime is the format in which the frontend writes a time: without a zone.
const tutorialTime = "2006-01-02T15:04:05"

// tutorialResult is the frontend's type for answers.
type tutorialResult struct {
	Success  bool            `json:"success"`
	ErrorMsg string          `json:"errorMsg"`
	Data     json.RawMessage `json:"data"`
	Total    int64           `json:"total"`
}

func tutorial(t *testing.T, r box.Reply) tutorialResult {
	t.Helper()
	var out tutorialResult
	if err := json.Unmarshal(r.Body, &out); err != nil {
		t.Fatalf("answer %s: %v", r.Body, err)
	}
	return out
}

// tutorialVoucher creates a seckill voucher with the frontend's body and returns its id.
func tutorialVoucher(t *testing.T, s *box.Site, stock int, begin, end time.Time) int64 {
	t.Helper()
	r := s.Client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: s.URL("/voucher/seckill"), Token: box.AdminToken(), Raw: true,
		Body: map[string]any{
			"shopId": 1, "title": "100元代金券", "subTitle": "周一至周五均可使用", "rules": "全场通用\\n无需预约",
			"payValue": 8000, "actualValue": 10000, "type": 1, "stock": stock,
			"beginTime": begin.UTC().Format(tutorialTime), "endTime": end.UTC().Format(tutorialTime),
		},
	})
	if !tutorial(t, r).Success {
		t.Fatalf("creating a voucher: %s", r.Body)
	}
	return box.Decode[box.Voucher](t, r).ID
}

// tutorialBuy sends the frontend's purchase: the old route, and only the token in a lower-case header.
func tutorialBuy(t *testing.T, s *box.Site, voucher int64, token string) box.Reply {
	t.Helper()
	r, err := s.Client.Do(t.Context(), box.Request{
		Method: http.MethodPost, URL: s.URL("/voucher-order/seckill/" + strconv.FormatInt(voucher, 10)),
		Header: map[string]string{"authorization": token, "Accept-Language": "zh-CN,zh;q=0.9"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTutorialVouchers checks that the shop page can list vouchers, and that one call creates a voucher.
func TestTutorialVouchers(t *testing.T) {
	t.Parallel()
	s := box.EmbeddedSite(t)
	begin := time.Now().Add(-time.Hour).Truncate(time.Second)
	end := begin.Add(48 * time.Hour)
	id := tutorialVoucher(t, s, 7, begin, end)
	s.Client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: s.URL("/voucher"), Token: box.AdminToken(), Raw: true,
		Body: map[string]any{"shopId": 1, "title": "50元代金券", "payValue": 4750, "actualValue": 5000},
	})
	r := s.Client.Must(t, http.StatusOK, box.Request{Method: http.MethodGet, URL: s.URL("/voucher/list/1")})
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
		t.Fatalf("the list lacks a voucher: %s", r.Body)
	}
	// The page counts down to endTime, and formats money by dividing numbers by 100.
	if v, ok := ordinary["endTime"]; ok {
		t.Errorf("an ordinary voucher has the endTime %v", v)
	}
	if ordinary["type"] != float64(0) || seckill["type"] != float64(1) || seckill["payValue"] != float64(8000) ||
		seckill["stock"] != float64(7) {
		t.Errorf("type, money or stock are not the numbers that the page reads: %s", r.Body)
	}
	shown, err := time.Parse(time.RFC3339, seckill["endTime"].(string))
	if err != nil || !shown.Equal(end) {
		t.Errorf("endTime %v, want %v", seckill["endTime"], end.UTC())
	}
	empty := s.Client.Must(t, http.StatusOK, box.Request{Method: http.MethodGet, URL: s.URL("/voucher/list/987654")})
	if got := string(tutorial(t, empty).Data); got != "[]" {
		t.Errorf("a shop without vouchers has the list %s, want []", got)
	}
}

// TestTutorialPurchase checks that a purchase answers the order id as a string, that refusals are 200 with success
// false and a text that the page can show, and that a missing login is a 401, which leads the page to its login.
func TestTutorialPurchase(t *testing.T) {
	t.Parallel()
	for _, kind := range box.Kinds()[:2] {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s := kind.Open(t)
			now := time.Now()
			id := tutorialVoucher(t, s, 1, now.Add(-time.Hour), now.Add(time.Hour))
			s.AwaitState(t, id, "on_sale")
			bought := tutorialBuy(t, s, id, box.BuyerToken(11))
			var order string
			if err := json.Unmarshal(tutorial(t, bought).Data, &order); err != nil ||
				bought.StatusCode != http.StatusOK {
				t.Fatalf("a purchase answers %d %s, want 200 and the order id as a string",
					bought.StatusCode, bought.Body)
			}
			if n, err := strconv.ParseInt(order, 10, 64); err != nil || n <= 0 {
				t.Errorf("order id %q", order)
			}
			early := tutorialVoucher(t, s, 1, now.Add(time.Hour), now.Add(2*time.Hour))
			s.AwaitState(t, early, "not_started")
			refusal(t, "twice", tutorialBuy(t, s, id, box.BuyerToken(11)))
			refusal(t, "sold out", tutorialBuy(t, s, id, box.BuyerToken(12)))
			refusal(t, "too early", tutorialBuy(t, s, early, box.BuyerToken(12)))
			refusal(t, "no such voucher", tutorialBuy(t, s, 999_999, box.BuyerToken(12)))
			// Later frontends put "Bearer" before the token.
			refusal(t, "sold out", tutorialBuy(t, s, id, "Bearer "+box.BuyerToken(13)))
			if r := tutorialBuy(t, s, id, ""); r.StatusCode != http.StatusUnauthorized {
				t.Errorf("without a token: %d %s, want 401", r.StatusCode, r.Body)
			}
			if r := tutorialBuy(t, s, id, "nonsense"); r.StatusCode != http.StatusUnauthorized {
				t.Errorf("with a wrong token: %d %s, want 401", r.StatusCode, r.Body)
			}
		})
	}
}

// refusal checks that an answer has the message that the page shows.
func refusal(t *testing.T, what string, r box.Reply) {
	t.Helper()
	got := tutorial(t, r)
	chinese := strings.ContainsFunc(got.ErrorMsg, func(c rune) bool { return c >= 0x4e00 && c <= 0x9fff })
	if r.StatusCode != http.StatusOK || got.Success || !chinese || r.Code == "" {
		t.Errorf("%s: %d %s, want 200, success false and a Chinese errorMsg", what, r.StatusCode, r.Body)
	}
}
