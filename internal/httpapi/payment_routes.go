package httpapi

import (
	"context"
	"math"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"seckill/internal/order"
)

// Cashier takes money for orders and gives it back: *order.Cashier.
type Cashier interface {
	// Pay begins the payment of the user's unpaid order and returns it with where the buyer pays; a free order is paid at
	// once, with no such place. order.ErrNotFound, *order.StateError, order.ErrNoProvider, order.ErrUnavailable.
	Pay(ctx context.Context, userID, orderID int64) (p order.Payment, payURL string, err error)
	// Confirm records that the provider has the money. Repeating it is harmless. order.ErrNoPayment, order.ErrWrongAmount.
	Confirm(ctx context.Context, n order.Notice) error
	// Refund has the money of the user's paid order sent back and returns the order, refunding or refunded. Repeating it
	// is harmless. order.ErrNotFound, *order.StateError.
	Refund(ctx context.Context, userID, orderID int64) (order.Order, error)
}

// Notices reads what the payment provider calls back with: its adapter.
type Notices interface {
	// Read returns the notice, whose signature it has checked, or order.ErrBadNotice.
	Read(header http.Header, body []byte) (order.Notice, error)
}

// paymentJSON is a payment as the order's owner reads it.
type paymentJSON struct {
	OrderID   string `json:"orderId"`
	PaymentID string `json:"paymentId"`
	Amount    int64  `json:"amount"`           // cents
	PayURL    string `json:"payUrl,omitempty"` // absent when there is nothing left to do
	State     string `json:"state"`
}

// pay answers POST /order/:id/pay.
func (a *API) pay(c *gin.Context, who identity) (answer, error) {
	id, badID := pathID(c, "id", math.MaxInt64)
	if err := invalid(badID); err != nil {
		return answer{}, err
	}
	p, payURL, err := a.cfg.Cashier.Pay(c.Request.Context(), who.userID, id)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, envelope: envelope{Data: paymentJSON{
		OrderID: strconv.FormatInt(p.OrderID, 10), PaymentID: p.ID, Amount: p.Amount, PayURL: payURL, State: p.State.String(),
	}}}, nil
}

// refund answers POST /order/:id/refund: 202 while the money is on its way, 200 once it has gone back.
func (a *API) refund(c *gin.Context, who identity) (answer, error) {
	id, badID := pathID(c, "id", math.MaxInt64)
	if err := invalid(badID); err != nil {
		return answer{}, err
	}
	o, err := a.cfg.Cashier.Refund(c.Request.Context(), who.userID, id)
	if err != nil {
		return answer{}, err
	}
	status := http.StatusOK
	if o.Status == order.Refunding {
		status = http.StatusAccepted
	}
	return answer{status: status, envelope: envelope{Data: orderView(o)}}, nil
}

// paymentCallback answers POST /payment/callback, for the payment provider. Its adapter reads the raw body, because that
// is what is signed.
func (a *API) paymentCallback(c *gin.Context, _ identity) (answer, error) {
	body, err := a.bodyOf(c)
	if err != nil {
		return answer{}, err
	}
	notice, err := a.cfg.Notices.Read(c.Request.Header, body)
	if err != nil {
		return answer{}, err
	}
	if err := a.cfg.Cashier.Confirm(c.Request.Context(), notice); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: []byte(`{"success":true}`)}, nil
}
