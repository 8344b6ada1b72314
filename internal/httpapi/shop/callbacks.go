package shop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/order/payment"
)

// CallbackReader reads a payment provider's callback: the provider's adapter. It refuses headers that cannot have a
// valid signature, and returns a function that reads the body and checks the signature; the notice names the provider.
// Errors: payment.ErrBadNotice, best as a *payment.BadNoticeError; and, for a rightly signed one of a type that the
// adapter does not know, payment.ErrIgnored.
type CallbackReader func(header http.Header) (read payment.ReadNotice, err error)

// NoticeLog counts the notices of providers that were refused or ignored, and remembers the last refused ones:
// *service.NoticeLog.
type NoticeLog interface {
	// Refused counts a refused notice, and Ignored one of a type that does not concern the service. They do not block.
	Refused(ctx context.Context, r payment.RefusedNotice)
	Ignored()
	// Last returns the last refused notice of each provider and reason, the latest first. Error: order.ErrUnavailable.
	Last(ctx context.Context) ([]payment.RefusedNotice, error)
}

const (
	maxCallback  = 256 << 10       // bytes of a callback's body; some have the whole order, indented
	maxCallbacks = 64              // callbacks whose body is being read; real ones come in one piece with their header
	callbackTime = 2 * time.Second // for reading the body of one
	readTime     = 5 * time.Second // for what its reader then does, which may ask the provider
	maxFound     = 10              // payments of one reference that are looked at
)

// paymentCallback answers POST /payment/callback and POST /payment/callback/:provider, for the payment providers.
// Anybody can reach it, so it takes no permit of the requests in flight until the signature has proved who calls. The
// adapter first checks the header. Then the raw body, which is what was signed, is read under limits of its own.
func (a *API) paymentCallback(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	notice, err := a.readCallback(c)
	if err == nil {
		err = a.confirm(c.Request.Context(), notice)
	}
	switch {
	case errors.Is(err, payment.ErrIgnored):
		a.cfg.Notices.Ignored()
	case err != nil:
		a.noteRefused(c, notice, err)
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Body: []byte(`{"success":true}`)}, nil
}

func (a *API) confirm(ctx context.Context, n payment.Notice) error {
	permit, ok := a.cfg.InFlight.Try(bulkhead.Purchase)
	if !ok {
		return httpkit.ErrOverloaded
	}
	defer permit.Release()
	return a.cfg.Payments.Confirm(ctx, n)
}

// noteRefused counts a notice that was refused for good. One that the provider is to send again is not counted.
func (a *API) noteRefused(c *gin.Context, n payment.Notice, err error) {
	switch {
	case errors.Is(err, httpkit.ErrTooLarge):
		err = payment.BadNotice(payment.RefusedTooLarge, "its body is larger than %d KiB", maxCallback>>10)
	case errors.Is(err, httpkit.ErrNoRoute):
		err = payment.BadNotice(payment.RefusedProvider, "no provider is called %.40q", c.Param("provider"))
	}
	if refused, is := payment.RefusedBy(a.callbackProvider(c), n, err); is {
		a.cfg.Notices.Refused(c.Request.Context(), refused)
	}
}

// callbackProvider returns the name of the configured provider whose callback this is; "" for another name in its path.
func (a *API) callbackProvider(c *gin.Context) string {
	name := c.Param("provider")
	switch _, configured := a.cfg.Callbacks[name]; {
	case name == "":
		return a.cfg.DefaultProvider
	case configured:
		return name
	default:
		return ""
	}
}

// readCallback returns the provider's notice. The connection is closed after the answer if the body was not read to its
// end: net/http would wait for the rest.
func (a *API) readCallback(c *gin.Context) (n payment.Notice, err error) {
	h := c.Writer.Header()
	h["Connection"] = []string{"close"}
	reader, configured := a.cfg.Callbacks[c.Param("provider")]
	if !configured {
		return payment.Notice{}, httpkit.ErrNoRoute
	}
	read, err := reader(c.Request.Header)
	if err != nil {
		return payment.Notice{}, err
	}
	if c.Request.ContentLength > maxCallback {
		return payment.Notice{}, httpkit.ErrTooLarge
	}
	permit, ok := a.callbacks.Try(bulkhead.Purchase)
	if !ok {
		return payment.Notice{}, httpkit.ErrOverloaded
	}
	defer permit.Release()
	w := httpkit.RawWriter(c)
	deadline := time.Now().Add(a.cfg.CallbackTime)
	// A writer without deadlines, such as a test's, has no connection that could be slow.
	if err := http.NewResponseController(w).SetReadDeadline(deadline); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return payment.Notice{}, fmt.Errorf("reading a callback: %w", err)
	}
	body, err := jsonbody.Bytes(w, c.Request, maxCallback)
	if err != nil {
		return payment.Notice{}, httpkit.SizeError(err)
	}
	delete(h, "Connection")
	ctx, cancel := context.WithTimeout(c.Request.Context(), readTime)
	defer cancel()
	return read(ctx, body, a.storedPayment(a.callbackProvider(c)))
}

// storedPayment returns the function that finds a provider's payments for the reader of its notices.
func (a *API) storedPayment(provider string) payment.FindPayment {
	return func(ctx context.Context, name string) (payment.Payment, error) {
		found, err := a.cfg.Ledger.FindPayments(ctx, payment.Filter{Name: name}, math.MaxInt64, maxFound)
		if err != nil {
			return payment.Payment{}, err
		}
		for _, p := range found {
			if p.Provider == provider || p.Provider == "" {
				return p, nil
			}
		}
		return payment.Payment{}, payment.ErrNotFound
	}
}

// refusedNoticeJSON is what is known of the notices of one provider that were refused for one reason.
type refusedNoticeJSON struct {
	Provider  string       `json:"provider"` // empty: the path named none that is configured
	Reason    string       `json:"reason"`
	Count     int64        `json:"count"`
	Detail    string       `json:"detail"`              // of the last one
	PaymentID string       `json:"paymentId,omitempty"` // that the last one named, if it was rightly signed
	Amount    *int64       `json:"amount,omitempty"`    // cents, likewise
	Currency  string       `json:"currency,omitempty"`
	Last      httpkit.Time `json:"lastTime"`
}

// refusedNotices answers GET /admin/notice.
func (a *API) refusedNotices(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	all, err := a.cfg.Notices.Last(c.Request.Context())
	views := make([]refusedNoticeJSON, len(all))
	for i, r := range all {
		views[i] = refusedNoticeJSON{
			Provider: r.Provider, Reason: string(r.Refusal), Count: r.Count, Detail: r.Detail, PaymentID: r.PaymentID,
			Last: httpkit.ShownTime(r.At),
		}
		if r.PaymentID != "" {
			views[i].Amount, views[i].Currency = &all[i].Amount, a.cfg.Currency
		}
	}
	return httpkit.Data(http.StatusOK, views, err)
}
