package upgrade

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"seckill/internal/checker"
	"seckill/test/box"
)

// envelope is the part of every JSON answer that these tests read.
type envelope struct {
	Data struct {
		ID        json.RawMessage `json:"id"` // of vouchers a number, of orders a text
		OrderID   string          `json:"orderId"`
		PaymentID string          `json:"paymentId"`
		Status    any             `json:"status"`
		SaleState string          `json:"saleState"`
		Stock     *int64          `json:"stock"`
	} `json:"data"`
	Code string `json:"code"`
}

// do sends a request and reads the whole answer. An error means that there was no answer, or only a part of it.
func (i *instance) do(ctx context.Context, method, url, token string, body any) (status int, answer []byte, err error) {
	var sent io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		sent = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, sent)
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if strings.HasPrefix(req.URL.Path, "/admin/") && method == http.MethodPost {
		req.Header.Set("Idempotency-Key", rand.Text())
	}
	resp, err := i.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// post sends a request of a user to the API and returns the answer.
func (i *instance) post(ctx context.Context, path, token string, body any) (status int, e envelope, err error) {
	status, answer, err := i.do(ctx, http.MethodPost, i.server.URL(path), token, body)
	if err == nil {
		err = json.Unmarshal(answer, &e)
	}
	if err != nil {
		err = fmt.Errorf("POST %s: %d %.200s: %w", path, status, answer, err)
	}
	return status, e, err
}

// createSale creates a seckill voucher whose sale is open for decades, and returns its id.
func (i *instance) createSale(stock int64) int64 {
	i.Helper()
	body := map[string]any{
		"shopId": 1, "stock": stock, "title": "100 for 10", "payValue": 1000, "actualValue": 10000,
		"beginTime": time.Now().Add(-time.Minute).Format(time.RFC3339), "endTime": "2099-01-01T00:00:00Z",
		"payWithinSeconds": int64(payWithin / time.Second),
	}
	return i.createSaleOf(body)
}

// createSaleOf creates a voucher and returns its id.
func (i *instance) createSaleOf(body map[string]any) int64 {
	i.Helper()
	status, e, err := i.post(i.Context(), "/voucher/seckill", box.AdminToken(), body)
	if err != nil || status != http.StatusCreated {
		i.Fatalf("creating a sale at %s: %d %s, %v", i.server.Name, status, e.Code, err)
	}
	id, err := strconv.ParseInt(string(e.Data.ID), 10, 64)
	if err != nil {
		i.Fatal(err)
	}
	return id
}

// payWithin is the payment deadline of the sales: no order expires during the test.
const payWithin = 30 * 24 * time.Hour

// buy makes one attempt for one user.
func (i *instance) buy(ctx context.Context, voucher, user int64) checker.Answer {
	a := checker.Answer{User: user, Voucher: voucher, Server: i.server.Name, Sent: time.Now()}
	status, e, err := i.post(ctx, "/voucher/seckill/"+strconv.FormatInt(voucher, 10), box.BuyerToken(user), nil)
	a.Received = time.Now()
	if err != nil {
		a.Code = err.Error()
		return a
	}
	switch {
	case status == http.StatusAccepted || status == http.StatusCreated:
		a.Outcome = checker.Accepted
	case status == http.StatusConflict && e.Code == "ALREADY_BOUGHT":
		a.Outcome = checker.Held
	case e.Code == "UNAVAILABLE" || e.Code == "PAUSED" || e.Code == "RATE_LIMITED":
		a.Outcome, a.Code = checker.Later, e.Code
		return a
	case e.Code == "UNKNOWN_OUTCOME" || e.Code == "INTERNAL" || e.Code == "":
		a.Code = fmt.Sprint(status, " ", e.Code)
		return a
	default:
		a.Outcome, a.Code = checker.Refused, e.Code
		return a
	}
	if a.Order, err = strconv.ParseInt(e.Data.OrderID, 10, 64); err != nil || a.Order <= 0 {
		a.Outcome, a.Code = checker.Unknown, fmt.Sprintf("the order id is %q", e.Data.OrderID)
	}
	return a
}

// cancel makes one attempt to cancel an order.
func (i *instance) cancel(ctx context.Context, voucher, user, order int64) checker.Answer {
	a := checker.Answer{
		Action: checker.Cancel, User: user, Voucher: voucher, Order: order, Server: i.server.Name, Sent: time.Now(),
	}
	status, e, err := i.post(ctx, fmt.Sprintf("/order/%d/cancel", order), box.BuyerToken(user), nil)
	a.Received = time.Now()
	switch {
	case err != nil:
		a.Code = err.Error()
	case status == http.StatusOK:
		a.Outcome = checker.Accepted
	default:
		a.Code = fmt.Sprint(status, " ", e.Code)
	}
	return a
}
