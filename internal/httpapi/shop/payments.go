package shop

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/order"
	"seckill/internal/order/payment"
)

// Payments takes money for orders and gives it back: *service.Payments.
type Payments interface {
	// Pay begins the payment of the user's unpaid order and returns it with the URL where the buyer pays; a free
	// order is paid at once, and has no URL. Errors: order.ErrNotFound, *order.StateError, payment.ErrNoProvider,
	// order.ErrUnavailable.
	Pay(ctx context.Context, userID, orderID int64) (p payment.Payment, payURL string, err error)
	// Confirm records a provider's notice: it has the money, money has gone back, or the buyer disputes the payment.
	// Repeating it is harmless. Errors: payment.ErrBadNotice, payment.ErrNotFound, payment.ErrWrongAmount.
	Confirm(ctx context.Context, n payment.Notice) error
	// Refund begins to refund the user's paid order and returns the order, which is refunding or refunded.
	// Repeating it is harmless. Errors: order.ErrNotFound, *order.StateError.
	Refund(ctx context.Context, userID, orderID int64) (order.Order, error)
	// RefundForStaff is Refund for anybody's recorded order, once for each key of the act's author. Errors:
	// order.ErrNotFound, *order.StateError, *order.NotNowError, order.ErrUnavailable, *idempotency.RepeatedError,
	// idempotency.ErrReused.
	RefundForStaff(ctx context.Context, act order.StaffAct) (order.Order, error)
	// RetryRefund lets the provider be asked again about a refund that it has finally refused, and returns the payment,
	// which is refunding. CloseRefund ends such a refund without the provider, and returns the payment, which is
	// closed. Both act once for each key of the act's author. Errors: payment.ErrNotFound, *payment.StateError,
	// *order.NotNowError, order.ErrUnavailable, *idempotency.RepeatedError, idempotency.ErrReused.
	RetryRefund(ctx context.Context, act order.PaymentAct) (payment.Payment, error)
	CloseRefund(ctx context.Context, act order.PaymentAct) (payment.Payment, error)
}

// CallbackReader reads a payment provider's callback: the provider's adapter. It refuses headers that cannot have a
// valid signature, and returns a function that reads the body and checks the signature; the notice names the provider.
// Error: payment.ErrBadNotice.
type CallbackReader func(header http.Header) (read func(body []byte) (payment.Notice, error), err error)

// paymentJSON is a payment as the order's owner reads it.
type paymentJSON struct {
	OrderID   string `json:"orderId"`
	PaymentID string `json:"paymentId"`
	Amount    int64  `json:"amount"` // cents
	Currency  string `json:"currency"`
	PayURL    string `json:"payUrl,omitempty"` // absent when there is nothing left to do
	State     string `json:"state"`
}

// adminOrderJSON is an order as admins read it, with its payments.
type adminOrderJSON struct {
	orderJSON
	Payments []staffPaymentJSON `json:"payments,omitempty"`
	TraceURL string             `json:"traceUrl,omitempty"` // for admins
}

// pay answers POST /order/:id/pay.
func (a *API) pay(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	p, payURL, err := a.cfg.Payments.Pay(c.Request.Context(), who.UserID, id)
	return httpkit.Data(http.StatusOK, paymentJSON{
		OrderID: strconv.FormatInt(p.OrderID, 10), PaymentID: p.ID, Amount: p.Amount, Currency: a.cfg.Currency,
		PayURL: payURL, State: p.State.String(),
	}, err)
}

// refund answers POST /order/:id/refund.
func (a *API) refund(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	o, err := a.cfg.Payments.Refund(c.Request.Context(), who.UserID, id)
	return httpkit.Data(refundStatus(o), orderView(o, a.cfg.Currency), err)
}

// refundStatus is 202 while the money is on its way, 200 once it is back.
func refundStatus(o order.Order) int {
	if o.Status == order.Refunding {
		return http.StatusAccepted
	}
	return http.StatusOK
}

const (
	maxCallback  = 4 << 10         // bytes of a callback's body; real ones have some 100
	maxCallbacks = 64              // callbacks whose body is being read; real ones come in one piece with their header
	callbackTime = 2 * time.Second // for reading the body of one
)

// paymentCallback answers POST /payment/callback and POST /payment/callback/:provider, for the payment providers.
// Anybody can reach it, so it takes no permit of the requests in flight until the signature has proved who calls. The
// adapter first checks the header. Then the raw body, which is what was signed, is read under limits of its own.
func (a *API) paymentCallback(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	notice, err := a.readCallback(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	permit, ok := a.cfg.InFlight.Try(bulkhead.Purchase)
	if !ok {
		return httpkit.Answer{}, httpkit.ErrOverloaded
	}
	defer permit.Release()
	if err := a.cfg.Payments.Confirm(c.Request.Context(), notice); err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Body: []byte(`{"success":true}`)}, nil
}

// readCallback returns the provider's notice. The connection is closed after the answer if the body was not read to its
// end: net/http would wait for the rest.
func (a *API) readCallback(c *gin.Context) (n payment.Notice, err error) {
	h := c.Writer.Header()
	h["Connection"] = a.headers.closing
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
	return read(body)
}
