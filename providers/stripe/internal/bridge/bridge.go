// Package bridge is what lies between the service's words and Stripe's: it begins, cancels and refunds payments with
// Stripe's library, and reads what Stripe's events mean for the service.
//
// Stripe is authoritative for money. The bridge remembers nothing: a payment's id is the idempotency key of its
// Checkout Session and stands in the metadata of the session, its PaymentIntent and its refunds; the session's id, then
// the intent's, is the reference that the service keeps. So any number of instances may run, and be killed.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v84"
)

// The metadata that tie objects of Stripe to payments of the service.
const (
	metaPayment = "seckill_payment"
	metaOrder   = "seckill_order"
	metaShop    = "seckill_shop"
	metaRefund  = "seckill_refund"
	// MetaCheck marks what the command check makes.
	MetaCheck = "seckill_check"
)

const (
	// apiTimeout is the most time of one request to Stripe. The service waits 8 seconds for an answer in all.
	apiTimeout = 6 * time.Second
	pageSize   = 100
)

// Bridge speaks to one Stripe account. It is safe for concurrent use.
type Bridge struct {
	stripe *stripe.Client
	now    func() time.Time
}

// NewClient returns a client of Stripe's library. It logs nothing, since its messages may have parts of keys, and sends
// no telemetry. apiURL is "" for Stripe itself.
func NewClient(key, apiURL string) *stripe.Client {
	conf := &stripe.BackendConfig{
		HTTPClient:      &http.Client{Timeout: apiTimeout},
		LeveledLogger:   &stripe.LeveledLogger{Level: stripe.LevelNull},
		EnableTelemetry: new(false),
	}
	if apiURL != "" {
		conf.URL = stripe.String(apiURL)
	}
	return stripe.NewClient(key, stripe.WithBackends(stripe.NewBackendsWithConfig(conf)))
}

// New returns a Bridge. now is the clock by which sessions expire.
func New(client *stripe.Client, now func() time.Time) *Bridge { return &Bridge{client, now} }

// RefusedError is a final no: asking again cannot change it.
type RefusedError struct{ Reason string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Reason }

func refused(text string, args ...any) error { return &RefusedError{fmt.Sprintf(text, args...)} }

// Explain returns an error of Stripe's as a sentence for staff, without secrets: Stripe's messages about keys have
// parts of them, so those have words of our own.
func Explain(err error) error {
	e, is := errors.AsType[*stripe.Error](err)
	if !is {
		return fmt.Errorf("no answer from Stripe: %w", err)
	}
	says := e.Msg
	switch {
	case e.HTTPStatusCode == http.StatusUnauthorized:
		says = "Stripe does not know the key in STRIPE_API_KEY: copy it again from the Dashboard, Developers, API keys"
	case e.HTTPStatusCode == http.StatusForbidden:
		says = "the restricted key lacks a permission: docs/stripe.md lists those that it needs"
	case e.Code == stripe.ErrorCodeResourceMissing:
		says = "Stripe has no such object for this key: is it of another account, or of the other mode (test, live)? " +
			says
	case isCurrency(e):
		says = "the Stripe account does not take this currency: set SECKILL_CURRENCY to one that it takes. " + says
	}
	return fmt.Errorf("%s (Stripe: %d %s %s)", says, e.HTTPStatusCode, e.Type, e.RequestID)
}

func isCurrency(e *stripe.Error) bool {
	return strings.HasSuffix(e.Param, "[currency]") || e.Param == "currency" ||
		e.HTTPStatusCode == http.StatusBadRequest && strings.Contains(strings.ToLower(e.Msg), "currency")
}

// hasCode reports whether an error is one of Stripe's with one of the codes.
func hasCode(err error, codes ...stripe.ErrorCode) bool {
	e, is := errors.AsType[*stripe.Error](err)
	for _, code := range codes {
		if is && e.Code == code {
			return true
		}
	}
	return false
}

// isInvalid reports whether Stripe says that a request itself is wrong.
func isInvalid(err error) bool {
	e, is := errors.AsType[*stripe.Error](err)
	return is && e.HTTPStatusCode == http.StatusBadRequest && e.Type == stripe.ErrorTypeInvalidRequest
}

// patient makes a request, and makes it again while Stripe says that there are too many: a sale's buyers all come in
// the same second.
func patient[T any](ctx context.Context, request func() (T, error)) (T, error) {
	const pause, spread = 300 * time.Millisecond, 700 * time.Millisecond
	for {
		got, err := request()
		e, is := errors.AsType[*stripe.Error](err)
		if !is || e.HTTPStatusCode != http.StatusTooManyRequests {
			return got, err
		}
		select {
		case <-time.After(pause + rand.N(spread)): //nolint:gosec // no secret
		case <-ctx.Done():
			return got, err
		}
	}
}
