package remotepay

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"

	"seckill/internal/kit/dialguard"
	"seckill/internal/order/payment"
)

// Code is why a provider gave no clear answer.
type Code string

// The codes.
const (
	Timeout      Code = "timeout"
	Unreachable  Code = "unreachable" // no connection, or it was closed
	Address      Code = "address"     // its address may not be dialled
	Certificate  Code = "certificate" // its certificate is not valid
	Redirect     Code = "redirect"    // redirects are not followed
	Status       Code = "status"      // another status than 200
	TooLarge     Code = "too_large"   // its answer is longer than 64 KiB
	Unreadable   Code = "unreadable"  // its answer is no JSON of the right form
	OtherID      Code = "other_id"    // its answer is about something else
	NoURL        Code = "no_url"      // its answer has no https URL for the buyer
	BadReference Code = "bad_reference"
	NoState      Code = "no_state" // its answer has no state that there is
	Refused      Code = "refused"  // it refuses to begin a payment
)

// maxDetail is how many bytes of a bad answer are kept.
const maxDetail = 120

// CallError says why a provider gave no clear answer. Asking again may help.
type CallError struct {
	Code   Code
	Status int
	Detail string // for staff and the log
}

func (f *CallError) Error() string {
	text := "the payment provider gave no clear answer: " + string(f.Code)
	if says := f.Says(); says != "" {
		text += fmt.Sprintf(": %q", says)
	}
	return text
}

// Says returns the status and the detail for staff; "" if there is neither.
func (f *CallError) Says() string {
	text := payment.CheckedRefusal(f.Detail)
	switch {
	case f.Status == 0:
		return text
	case text == "":
		return strconv.Itoa(f.Status)
	}
	return fmt.Sprintf("%d: %s", f.Status, text)
}

// failureOf returns why a request got no answer. It drops the URL, which may contain a secret.
func failureOf(err error) error {
	inner := err
	if e, is := errors.AsType[*url.Error](err); is {
		inner = e.Err
	}
	f := &CallError{Code: Unreachable, Detail: inner.Error()}
	timeout, hasTimeout := errors.AsType[net.Error](err)
	_, address := errors.AsType[*dialguard.AddressError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case address:
		f.Code = Address
	case certificate, authority:
		f.Code = Certificate
	case hasTimeout && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		f.Code, f.Detail = Timeout, ""
	}
	return f
}

// unclear returns the failure of a call without a clear answer. A refusal to begin one payment is clear.
func unclear(err error) (*CallError, bool) {
	f, is := errors.AsType[*CallError](err)
	return f, is && f.Code != Refused
}

// Health is how a provider's last calls ended, as this instance has seen them.
type Health struct {
	Since  time.Time // of the first call in a row without a clear answer; zero: the last one had one, or there was none
	Last   time.Time // of the last of them
	Count  int64
	Reason *CallError // of the last of them
}

type health struct {
	mu sync.Mutex
	is Health
}

// saw notes how a call has ended. It logs the first failure in a row, and the end of one.
func (h *health) saw(ctx context.Context, p *Provider, err error) {
	f, failed := unclear(err)
	now := time.Now()
	h.mu.Lock()
	before := h.is
	switch {
	case !failed:
		h.is = Health{}
	case before.Since.IsZero():
		h.is = Health{Since: now, Last: now, Count: 1, Reason: f}
	default:
		h.is = Health{Since: before.Since, Last: now, Count: before.Count + 1, Reason: f}
	}
	h.mu.Unlock()
	switch {
	case failed && before.Since.IsZero():
		p.o.Log.WarnContext(ctx, "a payment provider gives no clear answer", "provider", p.o.Name, "error", f)
	case !failed && !before.Since.IsZero():
		p.o.Log.InfoContext(ctx, "a payment provider answers again", "provider", p.o.Name, "since", before.Since)
	}
}

// Health returns how the last calls ended.
func (p *Provider) Health() Health {
	p.health.mu.Lock()
	defer p.health.mu.Unlock()
	return p.health.is
}
