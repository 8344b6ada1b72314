package test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"seckill/internal/testkit/contract"
)

// described is the description of the HTTP interface, read once per test process.
var described = sync.OnceValues(func() (*contract.Contract, error) { return contract.Load(context.Background()) })

// client sends requests; one serves all users of a test, who differ by their tokens. It fails the test when an answer is
// not as web/openapi.yaml describes it.
type client struct {
	tb       testing.TB
	http     *http.Client
	contract *contract.Contract
}

// newClient returns a client whose connection pool is never what a test waits for.
func newClient(tb testing.TB) *client {
	tb.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 512, IdleConnTimeout: time.Minute}
	tb.Cleanup(transport.CloseIdleConnections)
	return clientOver(tb, transport, 20*time.Second)
}

// clientOver returns a client with a transport and a timeout of its own.
func clientOver(tb testing.TB, transport *http.Transport, timeout time.Duration) *client {
	tb.Helper()
	c, err := described()
	if err != nil {
		tb.Fatal(err)
	}
	return &client{tb: tb, http: &http.Client{Transport: transport, Timeout: timeout}, contract: c}
}

// request is one request; the zero values send no token and no body.
type request struct {
	method, url string
	token       string // sent as "Bearer <token>" unless raw
	raw         bool   // the token alone, as older frontends send it
	body        any    // marshalled, except []byte, string and io.Reader, which are sent as they are
	header      map[string]string
}

// reply is a complete answer.
type reply struct {
	status int
	header http.Header
	body   []byte
	envelope
}

// envelope is the shape of every JSON answer, success or problem.
type envelope struct {
	Success  *bool           `json:"success"`
	Data     json.RawMessage `json:"data"`
	Total    *int64          `json:"total"`
	Next     string          `json:"next"`
	Code     string          `json:"code"`
	ErrorMsg string          `json:"errorMsg"`
	Type     string          `json:"type"`
	Title    string          `json:"title"`
	Detail   string          `json:"detail"`
	Status   int             `json:"status"`
	Errors   []struct {
		Field, Reason, Allowed string
	} `json:"errors"`
}

// do sends a request and reads the whole answer. An error means that there was none, or not all of it.
func (c *client) do(ctx context.Context, r request) (reply, error) {
	sent, body, err := r.payload()
	if err != nil {
		return reply{}, err
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, body)
	if err != nil {
		return reply{}, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case r.token == "":
	case r.raw:
		req.Header.Set("Authorization", r.token)
	default:
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	out := reply{status: resp.StatusCode, header: resp.Header}
	if out.body, err = io.ReadAll(resp.Body); err != nil {
		return reply{}, fmt.Errorf("reading the answer: %w", err)
	}
	_ = json.Unmarshal(out.body, &out.envelope) // not every answer is JSON; the callers look at what they need
	if err := c.contract.Check(contract.Exchange{Request: req, RequestBody: sent, Status: out.status, Header: out.header, Body: out.body}); err != nil {
		c.tb.Error(err)
	}
	return out, nil
}

// payload returns the request's body, and a reader of it; both are nil when there is none. What is a reader already is not
// known beforehand.
func (r request) payload() (sent []byte, body io.Reader, err error) {
	switch b := r.body.(type) {
	case nil:
		return nil, nil, nil
	case []byte:
		sent = b
	case string:
		sent = []byte(b)
	case io.Reader:
		return nil, b, nil
	default:
		if sent, err = json.Marshal(b); err != nil {
			return nil, nil, err
		}
	}
	return sent, bytes.NewReader(sent), nil
}

// must sends a request and fails the test unless the answer has the wanted status.
func (c *client) must(tb testing.TB, want int, r request) reply {
	tb.Helper()
	got, err := c.do(tb.Context(), r)
	if err != nil {
		tb.Fatalf("%s %s: %v", r.method, r.url, err)
	}
	if got.status != want {
		tb.Fatalf("%s %s answers %d, want %d: %s", r.method, r.url, got.status, want, got.body)
	}
	return got
}

// decode reads an answer's data.
func decode[T any](tb testing.TB, r reply) T {
	tb.Helper()
	var v T
	if err := json.Unmarshal(r.Data, &v); err != nil {
		tb.Fatalf("data of %s: %v", r.body, err)
	}
	return v
}

// voucherJSON is a voucher as the service shows it.
type voucherJSON struct {
	ID          int64      `json:"id"`
	ShopID      int64      `json:"shopId"`
	Title       string     `json:"title"`
	SubTitle    string     `json:"subTitle"`
	Rules       string     `json:"rules"`
	PayValue    int64      `json:"payValue"`
	ActualValue int64      `json:"actualValue"`
	Type        int        `json:"type"`
	Status      int        `json:"status"`
	Stock       *int64     `json:"stock"`
	Issued      *int64     `json:"issued"`
	BeginTime   *time.Time `json:"beginTime"`
	EndTime     *time.Time `json:"endTime"`
	SaleState   string     `json:"saleState"`
}

// orderJSON is an order as the service shows it to its owner.
type orderJSON struct {
	ID        string `json:"id"`
	UserID    int64  `json:"userId"`
	VoucherID int64  `json:"voucherId"`
	Status    string `json:"status"`
}

// placedJSON is what a purchase answers.
type placedJSON struct {
	OrderID string `json:"orderId"`
	Status  string `json:"status"`
}
