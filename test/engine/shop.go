package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// shop is the service as its users reach it: through the published port.
type shop struct {
	url           string
	buyers, staff []byte // the secrets of tokens
	client        *http.Client
}

func newShop(url, buyers, staff string) *shop {
	return &shop{url: url, buyers: []byte(buyers), staff: []byte(staff), client: &http.Client{
		Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
}

// answer is an answer of the service.
type answer struct {
	status int
	body   []byte
	Code   string          `json:"code"`
	Data   json.RawMessage `json:"data"`
}

// order is an order in an answer.
type order struct {
	ID      string `json:"id"`
	OrderID string `json:"orderId"`
	Status  string `json:"status"`
}

func token(secret []byte, claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." +
		encode(fmt.Appendf(nil, `{%s,"exp":%d}`, claims, time.Now().Add(time.Hour).Unix()))
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text)) // a hash returns no error
	return text + "." + encode(mac.Sum(nil))
}

func (s *shop) buyer(user int64) string { return token(s.buyers, fmt.Sprintf(`"sub":"%d"`, user)) }
func (s *shop) admin() string           { return token(s.staff, `"sub":"1","role":"admin"`) }

// ask sends a request; body may be nil.
func (s *shop) ask(ctx context.Context, method, path, token string, body any) (answer, error) {
	var a answer
	text, err := json.Marshal(body)
	if err != nil {
		return a, err
	}
	if body == nil {
		text = nil
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(text))
	if err != nil {
		return a, err
	}
	r.Header.Set("Content-Type", "application/json")
	if body != nil { // repeated, it is done once
		r.Header.Set("Idempotency-Key", hex.EncodeToString(sum(string(text))))
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return a, err
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	a.status = resp.StatusCode
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		return a, err
	}
	if json.Valid(a.body) {
		err = json.Unmarshal(a.body, &a)
	}
	return a, err
}

// must asks and expects the status. It returns the answer's data in data, which may be nil.
func (s *shop) must(ctx context.Context, want int, method, path, token string, body, data any) error {
	a, err := s.ask(ctx, method, path, token, body)
	if err != nil {
		return err
	}
	if a.status != want {
		return fmt.Errorf("%s %s answers %d, want %d: %s", method, path, a.status, want, a.body)
	}
	if data == nil {
		return nil
	}
	return json.Unmarshal(a.Data, data)
}

// sale makes a sale that has begun and returns its voucher's id once it is on sale.
func (s *shop) sale(ctx context.Context, units int) (int64, error) {
	var v struct {
		ID        int64  `json:"id"`
		SaleState string `json:"saleState"`
	}
	draft := map[string]any{
		"shopId": 1, "title": "Trial", "payValue": 1000, "actualValue": 10_000, "stock": units,
		"beginTime": time.Now().Add(-time.Minute), "endTime": time.Now().Add(24 * time.Hour),
	}
	err := eventually(ctx, 3*time.Minute, func(ctx context.Context) error {
		return s.must(ctx, http.StatusCreated, http.MethodPost, "/voucher/seckill", s.admin(), draft, &v)
	})
	if err != nil {
		return 0, err
	}
	return v.ID, eventually(ctx, 3*time.Minute, func(ctx context.Context) error {
		err := s.must(ctx, http.StatusOK, http.MethodGet, fmt.Sprintf("/voucher/%d", v.ID), "", nil, &v)
		if err != nil {
			return err
		}
		if v.SaleState != "on_sale" {
			return fmt.Errorf("the sale is %s", v.SaleState)
		}
		return nil
	})
}

// buyAndPay buys a unit as a user does, pays in the sandbox, and returns the order's id once it is paid.
func (s *shop) buyAndPay(ctx context.Context, voucher, user int64) (string, error) {
	var placed order
	path := fmt.Sprintf("/voucher/seckill/%d?wait=20s", voucher)
	err := eventually(ctx, time.Minute, func(ctx context.Context) error {
		a, err := s.ask(ctx, http.MethodPost, path, s.buyer(user), nil)
		if err != nil {
			return err
		}
		if a.status != http.StatusCreated && a.status != http.StatusAccepted && a.Code != "ALREADY_BOUGHT" {
			return fmt.Errorf("a purchase is answered %d: %s", a.status, a.body)
		}
		return json.Unmarshal(a.Data, &placed)
	})
	if err != nil {
		return "", err
	}
	var payment struct {
		PayURL string `json:"payUrl"`
	}
	path = "/order/" + placed.OrderID + "/pay"
	err = eventually(ctx, time.Minute, func(ctx context.Context) error {
		return s.must(ctx, http.StatusOK, http.MethodPost, path, s.buyer(user), nil, &payment)
	})
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+payment.PayURL, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return "", err
	}
	if err := resp.Body.Close(); err != nil {
		return "", err
	}
	return placed.OrderID, eventually(ctx, 2*time.Minute, func(ctx context.Context) error {
		return s.isPaid(ctx, placed.OrderID, user)
	})
}

// isPaid returns nil if the user's order is paid.
func (s *shop) isPaid(ctx context.Context, id string, user int64) error {
	var o order
	if err := s.must(ctx, http.StatusOK, http.MethodGet, "/order/"+id, s.buyer(user), nil, &o); err != nil {
		return err
	}
	if o.Status != "paid" {
		return fmt.Errorf("order %s is %s, want paid", id, o.Status)
	}
	return nil
}

// recorded returns the ids of all orders of a voucher that are in the ledger.
func (s *shop) recorded(ctx context.Context, voucher int64) (map[string]bool, error) {
	a, err := s.ask(ctx, http.MethodGet, fmt.Sprintf("/admin/voucher/%d/orders.csv", voucher), s.admin(), nil)
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return nil, fmt.Errorf("orders.csv answers %d: %s", a.status, a.body)
	}
	ids := map[string]bool{}
	for _, line := range strings.Split(string(a.body), "\n")[1:] {
		if id, _, _ := strings.Cut(line, ","); id != "" && !strings.HasPrefix(id, "#") {
			ids[strings.Trim(id, "\"\t\r'=")] = true
		}
	}
	return ids, nil
}

// eventually calls until it returns nil, at most for so long.
func eventually(ctx context.Context, within time.Duration, check func(ctx context.Context) error) error {
	deadline := time.Now().Add(within)
	for {
		err := check(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v: %w", within, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
