package shop

import (
	"context"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
	"seckill/internal/order/payment"
)

// Payments takes money for orders and gives it back: *service.Payments.
type Payments interface {
	// Pay begins the payment of the user's unpaid order and returns it with the URL where the buyer pays; a free
	// order is paid at once, and has no URL. Errors: order.ErrNotFound, *order.StateError, payment.ErrNoProvider,
	// order.ErrUnavailable.
	Pay(
		ctx context.Context, userID, orderID int64, visit payment.Visit,
	) (p payment.Payment, payURL string, err error)
	// Confirm records a provider's notice: it has the money, money has gone back, or the buyer disputes the payment.
	// Repeating it is harmless. Errors: payment.ErrBadNotice, payment.ErrNotFound, payment.ErrWrongAmount.
	Confirm(ctx context.Context, n payment.Notice) error
	// Refund begins to refund the user's paid order and returns the order, which is refunding or refunded.
	// Repeating it is harmless. Errors: order.ErrNotFound, *order.StateError.
	Refund(ctx context.Context, userID, orderID int64) (order.Order, error)
	StaffRefunds
}

// StaffRefunds is the part of Payments for staff.
type StaffRefunds interface {
	// RefundForStaff is Refund for anybody's recorded order, once for each key of the act's author. Errors:
	// order.ErrNotFound, *order.StateError, *order.NotNowError, order.ErrUnavailable, *idempotency.RepeatedError,
	// idempotency.ErrReused.
	RefundForStaff(ctx context.Context, act order.StaffAct) (order.Order, error)
	// RefundPart sends a part of a received payment's money back, or all that is left of it with its order, once for
	// each key of the act's author, and returns the payment. Errors: payment.ErrNotFound, *payment.NotReceivedError,
	// *payment.LeftError, *order.StateError, *order.NotNowError, order.ErrUpgrading, order.ErrUnavailable,
	// *idempotency.RepeatedError, idempotency.ErrReused.
	RefundPart(ctx context.Context, act order.PaymentAct, cents int64) (payment.Payment, error)
	// RetryRefund lets the provider be asked again about a refund that it has finally refused, and returns the payment,
	// which is refunding. CloseRefund ends such a refund without the provider, and returns the payment, which is
	// closed. Both act once for each key of the act's author. Errors: payment.ErrNotFound, *payment.StateError,
	// *order.NotNowError, order.ErrUnavailable, *idempotency.RepeatedError, idempotency.ErrReused.
	RetryRefund(ctx context.Context, act order.PaymentAct) (payment.Payment, error)
	CloseRefund(ctx context.Context, act order.PaymentAct) (payment.Payment, error)
}

// paymentJSON is a payment as the order's owner reads it.
type paymentJSON struct {
	OrderID   string `json:"orderId"`
	PaymentID string `json:"paymentId"`
	Amount    int64  `json:"amount"` // in the currency's least unit
	Currency  string `json:"currency"`
	PayURL    string `json:"payUrl,omitempty"` // absent when there is nothing left to do
	State     string `json:"state"`
	// Processing says that the money is under way.
	Processing bool `json:"processing,omitempty"`
}

// adminOrderJSON is an order as admins read it, with its payments.
type adminOrderJSON struct {
	orderJSON
	Payments []staffPaymentJSON `json:"payments,omitempty"`
	TraceURL string             `json:"traceUrl,omitempty"` // for admins
}

// pay answers POST /order/:id/pay.
func (a *API) pay(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	visit := payment.Visit{Language: a.languages.Choose(c.Request.Header).String()}
	if a.cfg.ReturnURL != nil {
		visit.ReturnURL = a.cfg.ReturnURL(c.Request, id)
	}
	p, payURL, err := a.cfg.Payments.Pay(c.Request.Context(), who.UserID, id, visit)
	return httpkit.Data(http.StatusOK, paymentJSON{
		OrderID: strconv.FormatInt(p.OrderID, 10), PaymentID: p.ID, Amount: p.Amount, Currency: a.cfg.Currency,
		PayURL: payURL, State: p.State.String(), Processing: p.UnderWay(),
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

// ownRefundJSON is a refund as the order's owner reads it.
type ownRefundJSON struct {
	Amount     int64         `json:"amount"` // cents
	State      string        `json:"state"`
	CreateTime *httpkit.Time `json:"createTime"`
	RefundTime *httpkit.Time `json:"refundTime,omitempty"` // when the money was back
	FailTime   *httpkit.Time `json:"failTime,omitempty"`   // when the bank refused it
}

// ownRefunds returns an order's refunds as its owner reads them. Error: order.ErrUnavailable.
func (a *API) ownRefunds(ctx context.Context, o order.Order) (views []ownRefundJSON, err error) {
	if !o.HasRefunds {
		return nil, nil
	}
	payments, err := a.cfg.PaymentsOf(ctx, o.ID)
	if err != nil {
		return nil, err
	}
	refunds, err := a.refundsOf(ctx, payments)
	for _, p := range payments {
		for _, r := range refunds[p.ID] {
			if r.State == payment.RefundFailed && !r.NeedsStaff() {
				continue
			}
			views = append(views, ownRefundJSON{
				Amount: r.Amount, State: r.State.String(), CreateTime: httpkit.TimeView(r.CreatedAt),
				RefundTime: httpkit.TimeView(r.DoneAt), FailTime: httpkit.TimeView(r.FailedAt),
			})
		}
	}
	return views, err
}

// addRefunds adds their refunds to the orders of a page; few have any. stale: they cannot be read just now.
func (a *API) addRefunds(ctx context.Context, page httpkit.Envelope, orders []order.Order) (stale bool, err error) {
	views, _ := page.Data.([]orderJSON)
	for i := range views {
		views[i].Refunds, err = a.ownRefunds(ctx, orders[i])
		late, err := leftOut(err)
		if err != nil {
			return stale, err
		}
		stale = stale || late
	}
	return stale, nil
}

// refundsOf returns the refunds of payments, by payment.
func (a *API) refundsOf(ctx context.Context, payments []payment.Payment) (map[string][]payment.Refund, error) {
	ids := make([]string, len(payments))
	for i, p := range payments {
		ids[i] = p.ID
	}
	return a.cfg.Ledger.RefundsOf(ctx, ids)
}
