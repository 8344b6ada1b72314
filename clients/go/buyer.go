package seckill

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
)

const (
	firstPause, longestPause = 200 * time.Millisecond, 5 * time.Second
	// tryTimeout is how long one answer may take; the service bounds its own waits below that.
	tryTimeout = 15 * time.Second
)

// Buyer buys for one user. It is safe for concurrent use.
type Buyer struct {
	client *ClientWithResponses
}

// errNoOrder is the error for a success that names no order. Buy does not repeat such a request: the answer would be
// the same.
var errNoOrder = errors.New("names no order")

// NewBuyer returns a buyer at a server such as https://shop.example.com, with the user's token. Options are those of
// the client. It returns an error for a server or a token that no request can be sent with.
func NewBuyer(server, token string, options ...ClientOption) (*Buyer, error) {
	u, err := url.Parse(server)
	switch {
	case err != nil:
		return nil, fmt.Errorf("seckill: the server: %w", err)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("seckill: the server is %q, want one such as https://shop.example.com", server)
	case token == "" || strings.ContainsFunc(token, unicode.IsControl):
		return nil, errors.New("seckill: the token is empty, or has characters that no header may have")
	}
	signed := WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	})
	client, err := NewClientWithResponses(server, append([]ClientOption{signed}, options...)...)
	if err != nil {
		return nil, err
	}
	return &Buyer{client: client}, nil
}

// Client returns the client of all routes for buyers, tills and webhooks, with the buyer's token.
func (b *Buyer) Client() *ClientWithResponses { return b.client }

// Buy repeats the purchase until it has an outcome, or ctx ends. The outcome is an order, perhaps one that the user had
// before, or a *Refusal such as SOLD_OUT. After an answer 429, 500, 503 or 504, or none, Buy waits as long as the
// answer asks for, or longer each time, and repeats the request. That is harmless: a user gets one order in a sale, and
// a repeated request is answered with it. If ctx ends first, the outcome is unknown, and the error is ctx's, not a
// *Refusal. A wrong certificate and an answer that names no order are errors at once. params may be nil; set
// params.Wait to be answered once the order is recorded.
func (b *Buyer) Buy(ctx context.Context, voucherID int64, params *BuySeckillParams) (OrderRef, error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		order, err := b.try(ctx, voucherID, params)
		wait, again := retry(err, pause)
		if !again {
			return order, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			//nolint:errorlint // it is not the outcome: a caller must not find it
			return OrderRef{}, fmt.Errorf("%w; the last answer: %v", ctx.Err(), err)
		}
	}
}

// try sends the request once.
func (b *Buyer) try(ctx context.Context, voucherID int64, params *BuySeckillParams) (OrderRef, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	answer, err := b.client.BuySeckillWithResponse(ctx, voucherID, params)
	if err != nil {
		return OrderRef{}, err
	}
	err = Check(answer.HTTPResponse, answer.Body)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal) && refusal.Code == "ALREADY_BOUGHT" && refusal.Data != nil &&
		refusal.Data.OrderId != "":
		d := refusal.Data
		return OrderRef{OrderId: d.OrderId, Quantity: d.Quantity, Status: d.Status}, nil
	case err != nil:
		return OrderRef{}, err
	case answer.JSON201 != nil:
		return answer.JSON201.Data, nil
	case answer.JSON202 != nil:
		return answer.JSON202.Data, nil
	default:
		return OrderRef{}, fmt.Errorf("seckill: an answer %d %w", answer.StatusCode(), errNoOrder)
	}
}

// retry reports whether to repeat a request that ended with err, and how long to wait first. It adds up to half of the
// pause at random, so that a refused crowd does not come back at the same moment.
func retry(err error, pause time.Duration) (time.Duration, bool) {
	var refusal *Refusal
	var certificate *tls.CertificateVerificationError
	switch {
	case err == nil, errors.Is(err, errNoOrder), errors.As(err, &certificate):
		return 0, false
	case errors.As(err, &refusal):
		switch refusal.Status {
		case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
			http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			pause = max(pause, refusal.RetryAfter)
		default:
			return 0, false
		}
	}
	return pause + rand.N(pause/2), true
}
