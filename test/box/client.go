package box

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"seckill/internal/testkit/contract"
)

// openAPI is the description of the HTTP interface, read once per test process.
//
//nolint:gochecknoglobals // testing passes nothing from TestMain to tests
var openAPI = sync.OnceValues(func() (*contract.Contract, error) { return contract.Load(context.Background()) })

// Client sends requests of any user: each request has its own token. It fails the test if an answer does not match
// web/openapi.yaml.
type Client struct {
	tb       testing.TB
	http     *http.Client
	contract *contract.Contract
}

// NewClient returns a client with a connection pool that is large enough for all tests.
func NewClient(tb testing.TB) *Client {
	tb.Helper()
	// A server closes a connection on which nothing was sent for five seconds, and clients open such ones when many
	// requests start at once. A POST that meets the end of one fails.
	transport := &http.Transport{MaxIdleConnsPerHost: 512, IdleConnTimeout: 3 * time.Second}
	tb.Cleanup(transport.CloseIdleConnections)
	return NewClientOver(tb, transport, 45*time.Second) // more than the longest ?wait=
}

// NewClientOver returns a client with the given transport and timeout.
func NewClientOver(tb testing.TB, transport *http.Transport, timeout time.Duration) *Client {
	tb.Helper()
	c, err := openAPI()
	if err != nil {
		tb.Fatal(err)
	}
	return &Client{tb: tb, http: &http.Client{Transport: transport, Timeout: timeout}, contract: c}
}

// Request is a request. An empty Token or a nil Body is not sent.
type Request struct {
	Method, URL string
	Token       string // sent as "Bearer <token>" unless raw
	Raw         bool   // only the token, as older frontends send it
	Body        any    // marshalled, except []byte, string and io.Reader, which are sent unchanged
	Header      map[string]string
}

// Reply is a complete answer.
type Reply struct {
	StatusCode int
	Header     http.Header
	Body       []byte
	Envelope
}

// Envelope is the common form of JSON answers: successes and problems.
type Envelope struct {
	Success       *bool           `json:"success"`
	Data          json.RawMessage `json:"data"`
	Total         *int64          `json:"total"`
	Next          string          `json:"next"`
	Stale         bool            `json:"stale"`
	Code          string          `json:"code"`
	ErrorMsg      string          `json:"errorMsg"`
	Type          string          `json:"type"`
	Title         string          `json:"title"`
	Detail        string          `json:"detail"`
	ProblemStatus int             `json:"status"`
	Errors        []struct {
		Field   string `json:"field"`
		Reason  string `json:"reason"`
		Allowed string `json:"allowed"`
	} `json:"errors"`
}

// Do sends a request and reads the whole answer. An error means that there was no complete answer.
func (c *Client) Do(ctx context.Context, r Request) (Reply, error) {
	sent, body, err := r.payload()
	if err != nil {
		return Reply{}, err
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, body)
	if err != nil {
		return Reply{}, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case r.Token == "":
	case r.Raw:
		req.Header.Set("Authorization", r.Token)
	default:
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return Reply{}, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	out := Reply{StatusCode: resp.StatusCode, Header: resp.Header}
	if out.Body, err = io.ReadAll(resp.Body); err != nil {
		return Reply{}, fmt.Errorf("reading the answer: %w", err)
	}
	_ = json.Unmarshal(out.Body, &out.Envelope) // not every answer is JSON; the callers check what they need
	if err := c.contract.Check(contract.Exchange{
		Request: req, RequestBody: sent, Status: out.StatusCode, Header: out.Header, Body: out.Body,
	}); err != nil {
		c.tb.Error(err)
	}
	return out, nil
}

// payload returns the request's body and a reader of it, both nil if there is none. For a body that is a reader
// already, the bytes are nil.
func (r Request) payload() (sent []byte, body io.Reader, err error) {
	switch b := r.Body.(type) {
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

// Must sends a request and fails the test unless the answer has the wanted status. It retries while the service says
// that it is too busy: a read that the ledger does not answer within 150 ms is refused, and a busy machine may need
// longer.
func (c *Client) Must(tb testing.TB, want int, r Request) Reply {
	tb.Helper()
	got := c.patient(tb, want, r)
	if got.StatusCode != want {
		tb.Fatalf("%s %s answers %d, want %d: %s", r.Method, r.URL, got.StatusCode, want, got.Body)
	}
	return got
}

// Patient sends a request and returns its answer. Like Must it retries while the service says that it is too busy.
func (c *Client) Patient(tb testing.TB, r Request) Reply {
	tb.Helper()
	return c.patient(tb, 0, r)
}

func (c *Client) patient(tb testing.TB, want int, r Request) Reply {
	tb.Helper()
	got, err := c.Do(tb.Context(), r)
	for deadline := time.Now().Add(Patience); busy(got, want) && err == nil && time.Now().Before(deadline); {
		time.Sleep(200 * time.Millisecond)
		got, err = c.Do(tb.Context(), r)
	}
	if err != nil {
		tb.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	return got
}

// Whole returns the answer to a GET from which nothing is left out: an order's coupon, refunds and history are, and the
// answer is stale, if the ledger does not answer within 150 ms.
func (c *Client) Whole(tb testing.TB, r Request) (got Reply) {
	tb.Helper()
	r.Method = http.MethodGet
	Eventually(tb, "a whole answer to "+r.URL, func() error {
		if got = c.Must(tb, http.StatusOK, r); got.Stale {
			return errors.New("it is stale")
		}
		return nil
	})
	return got
}

// busy reports whether the service only said that it is too busy.
func busy(got Reply, want int) bool {
	return got.StatusCode == http.StatusServiceUnavailable && want != got.StatusCode &&
		got.Header.Get("Retry-After") != ""
}

// Decode reads an answer's data.
func Decode[T any](tb testing.TB, r Reply) T {
	tb.Helper()
	var v T
	if err := json.Unmarshal(r.Data, &v); err != nil {
		tb.Fatalf("data of %s: %v", r.Body, err)
	}
	return v
}

// Voucher is a voucher as the service shows it.
type Voucher struct {
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

// Order is an order as the service shows it to its owner.
type Order struct {
	ID        string `json:"id"`
	UserID    int64  `json:"userId"`
	VoucherID int64  `json:"voucherId"`
	Status    string `json:"status"`
}

// Placed is the data of the answer to a purchase.
type Placed struct {
	OrderID string `json:"orderId"`
	Status  string `json:"status"`
	// Quantity is 0 for one unit.
	Quantity int64 `json:"quantity"`
}
