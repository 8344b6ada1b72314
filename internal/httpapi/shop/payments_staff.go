package shop

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// staffPaymentJSON is a payment as staff read it, with the reference that finds it at the provider.
type staffPaymentJSON struct {
	ID        string `json:"id"`
	OrderID   string `json:"orderId"`
	VoucherID int64  `json:"voucherId"`
	Title     string `json:"title,omitempty"` // of the voucher; absent if it cannot be read now
	ShopID    int64  `json:"shopId"`
	ShopName  string `json:"shopName,omitempty"` // absent: it has none
	UserID    int64  `json:"userId"`
	Amount    int64  `json:"amount"` // in the currency's least unit
	Currency  string `json:"currency"`
	State     string `json:"state"`
	Provider  string `json:"provider,omitempty"`
	Reference string `json:"reference,omitempty"`       // the provider's own id of the payment
	Received  int64  `json:"receivedAmount"`            // cents that the provider has taken
	Returned  int64  `json:"returnedAmount"`            // cents that have gone back as refunds
	Kept      int64  `json:"keptAmount"`                // cents that were received and have not gone back
	Refunded  int64  `json:"refundedAmount"`            // cents of received money that have gone back as refunds
	Lost      int64  `json:"lostAmount"`                // cents of received money that a dispute has cost
	Overdrawn int64  `json:"overdrawnAmount,omitempty"` // cents that have gone back beyond what was received
	OnItsWay  int64  `json:"refundingAmount,omitempty"` // cents that are asked back or on their way
	Dispute   string `json:"dispute"`
	Disputed  int64  `json:"disputedAmount,omitempty"` // cents that the dispute is about
	Refusal   string `json:"refusal,omitempty"`        // why its provider refuses to send the money back
	Progress  string `json:"progress,omitempty"`       // what its provider says while it is open
	Failure   string `json:"progressReason,omitempty"` // why it failed, in the provider's words

	CreateTime    *httpkit.Time `json:"createTime"`
	ReceiveTime   *httpkit.Time `json:"receiveTime,omitempty"`
	RefundingTime *httpkit.Time `json:"refundingTime,omitempty"`
	RefundTime    *httpkit.Time `json:"refundTime,omitempty"`
	DisputeTime   *httpkit.Time `json:"disputeTime,omitempty"` // when the dispute reached its state
	StuckTime     *httpkit.Time `json:"stuckTime,omitempty"`   // when its provider finally refused
	CloseTime     *httpkit.Time `json:"closeTime,omitempty"`   // when staff closed the refund
	ProgressTime  *httpkit.Time `json:"progressTime,omitempty"`
	ProgressUntil *httpkit.Time `json:"progressUntil,omitempty"` // when the provider expects the money
	Refunds       []refundJSON  `json:"refunds,omitempty"`       // the oldest first
}

// refundJSON is a refund as staff read it.
type refundJSON struct {
	ID         string        `json:"id"`
	Amount     int64         `json:"amount"` // cents
	State      string        `json:"state"`
	Origin     string        `json:"origin"`
	Reference  string        `json:"reference,omitempty"` // the provider's own id of it
	By         string        `json:"by"`
	Why        string        `json:"why,omitempty"`
	Refusal    string        `json:"refusal,omitempty"` // why it has failed, in the provider's words
	CreateTime *httpkit.Time `json:"createTime"`
	RefundTime *httpkit.Time `json:"refundTime,omitempty"` // when the money had gone back
	FailTime   *httpkit.Time `json:"failTime,omitempty"`
	CloseTime  *httpkit.Time `json:"closeTime,omitempty"` // when staff had seen to its failure
}

func refundViews(refunds []payment.Refund) (views []refundJSON, onItsWay int64) {
	for _, r := range refunds {
		if r.State < payment.RefundDone {
			onItsWay += r.Amount
		}
		views = append(views, refundJSON{
			ID: r.ID, Amount: r.Amount, State: r.State.String(), Origin: r.Origin.String(), Reference: r.Reference,
			By: r.Actor, Why: r.Why, Refusal: r.Failure, CreateTime: httpkit.TimeView(r.CreatedAt),
			RefundTime: httpkit.TimeView(r.DoneAt), FailTime: httpkit.TimeView(r.FailedAt),
			CloseTime: httpkit.TimeView(r.ClosedAt),
		})
	}
	return views, onItsWay
}

// paymentViews returns payments with their refunds as staff read them. Error: order.ErrUnavailable.
func (a *API) paymentViews(ctx context.Context, payments []payment.Payment) ([]staffPaymentJSON, error) {
	if len(payments) == 0 {
		return []staffPaymentJSON{}, nil
	}
	refunds, err := a.refundsOf(ctx, payments)
	names := httpkit.ShopNames(ctx, a.cfg.Members, payments, func(p payment.Payment) int64 { return p.ShopID })
	find := a.vouchers(ctx)
	views := make([]staffPaymentJSON, len(payments))
	for i, p := range payments {
		views[i] = staffPaymentJSON{
			ID: p.ID, OrderID: strconv.FormatInt(p.OrderID, 10), VoucherID: p.VoucherID,
			Title: find(p.VoucherID).Title, ShopID: p.ShopID, ShopName: names[p.ShopID],
			UserID: p.UserID, Amount: p.Amount, Currency: a.cfg.Currency, State: p.State.String(),
			Provider: p.Provider, Reference: p.Reference, Received: p.Received(), Returned: p.Returned, Kept: p.Kept(),
			Dispute: p.Dispute.String(), Disputed: p.Disputed, CreateTime: httpkit.TimeView(p.CreatedAt),
			ReceiveTime: httpkit.TimeView(p.ReceivedAt), RefundingTime: httpkit.TimeView(p.RefundingAt),
			RefundTime: httpkit.TimeView(p.RefundedAt), DisputeTime: httpkit.TimeView(p.DisputedAt),
			Refusal: p.Refusal, StuckTime: httpkit.TimeView(p.StuckAt), CloseTime: httpkit.TimeView(p.ClosedAt),
			Progress: p.Said(), Failure: p.Failure, ProgressTime: httpkit.TimeView(p.ProgressAt),
			ProgressUntil: httpkit.TimeView(p.ProgressUntil), Refunded: p.RefundedAmount(), Lost: p.LostAmount(),
			Overdrawn: p.Overdrawn(),
		}
		views[i].Refunds, views[i].OnItsWay = refundViews(refunds[p.ID])
	}
	return views, err
}

// findPayments answers GET /admin/payment: payments, newest first, in pages. next, if there are more, is the value of
// before for the following page. A merchant sees only their own shop's payments.
func (a *API) findPayments(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	f, badFilter, err := httpkit.ReadPaymentFilter(values, who, a.cfg.Zone)
	if err != nil {
		return httpkit.Answer{}, err
	}
	n, badLimit := values.Limit()
	cursor, badCursor := values.Before()
	if err := invalid.Join(append(badFilter, badQuery, badLimit, badCursor)...); err != nil {
		return httpkit.Answer{}, err
	}
	payments, err := a.cfg.Ledger.FindPayments(c.Request.Context(), f, cursor, n+1)
	if err != nil {
		return httpkit.Answer{}, err
	}
	payments, next := httpkit.Page(payments, n, func(p payment.Payment) string {
		return strconv.FormatInt(p.Number, 10)
	})
	views, err := a.paymentViews(c.Request.Context(), payments)
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: views, Next: next}}, err
}

// paymentID reads the id in the path. It returns an error for a text that cannot be a payment's id.
func paymentID(c *gin.Context) (string, error) {
	id := c.Param("id")
	if !payment.IsID(id) {
		return "", payment.ErrNotFound
	}
	return id, nil
}

// findPayment answers GET /admin/payment/:id.
func (a *API) findPayment(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	id, err := paymentID(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	p, err := a.cfg.Ledger.Payment(c.Request.Context(), id)
	return a.paymentAnswer(c, http.StatusOK, p, err)
}

// paymentAnswer answers with a payment. An act that was done is answered without its refunds if they cannot be read
// now.
func (a *API) paymentAnswer(c *gin.Context, status int, p payment.Payment, err error) (httpkit.Answer, error) {
	if err != nil {
		return httpkit.Answer{}, err
	}
	views, err := a.paymentViews(c.Request.Context(), []payment.Payment{p})
	if errors.Is(err, order.ErrUnavailable) && c.Request.Method != http.MethodGet {
		err = nil
	}
	return httpkit.Data(status, views[0], err)
}

// refundForStaff answers POST /admin/order/:id/refund.
func (a *API) refundForStaff(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	act, err := httpkit.ReadStaffAct(c, who, a.cfg.Bodies)
	if err != nil {
		return httpkit.Answer{}, err
	}
	o, err := a.cfg.Payments.RefundForStaff(c.Request.Context(), act)
	ans, err := a.wholeOrder(c, who, o, err)
	ans.Status = refundStatus(o)
	return ans, err
}

// readPaymentAct reads an act of staff on the payment in the path, as httpkit.ReadStaffAct does one on an order.
func (a *API) readPaymentAct(c *gin.Context, who httpkit.Identity, fields ...jsonbody.Field) (order.PaymentAct, error) {
	id, err := paymentID(c)
	if err != nil {
		return order.PaymentAct{}, err
	}
	_, badKey := param.RequiredIdempotencyKey(c.Request.Header)
	if err := invalid.Join(badKey); err != nil {
		return order.PaymentAct{}, err
	}
	why, err := a.cfg.Bodies.ReadWhy(c, fields...)
	return order.PaymentAct{PaymentID: id, By: httpkit.Author(c, who), Why: why}, err
}

// refundPart answers POST /admin/payment/:id/refund.
func (a *API) refundPart(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	var amount int64
	act, err := a.readPaymentAct(c, who, jsonbody.Required(jsonbody.Integer("amount", &amount)))
	if err != nil {
		return httpkit.Answer{}, err
	}
	if amount < 1 || amount > voucher.MaxMoney {
		return httpkit.Answer{}, invalid.Join(invalid.New("amount", invalid.OutOfRange, invalid.Range,
			invalid.Data{"value": amount, "min": 1, "max": int64(voucher.MaxMoney)}))
	}
	p, err := a.cfg.Payments.RefundPart(c.Request.Context(), act, amount)
	return a.paymentAnswer(c, http.StatusAccepted, p, err)
}

// refundedBefore answers a refund of a part that was asked for before, with the payment as it is now.
func (a *API) refundedBefore(c *gin.Context, who httpkit.Identity, made string) (httpkit.Answer, error) {
	ans, err := a.paymentBefore(c, who, made)
	ans.Status = http.StatusAccepted
	return ans, err
}

// actOnPayment answers POST /admin/payment/:id/retry and close: it calls act for the payment, once for each key.
func (a *API) actOnPayment(
	act func(Payments, context.Context, order.PaymentAct) (payment.Payment, error),
) httpkit.Handler {
	return func(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
		read, err := a.readPaymentAct(c, who)
		if err != nil {
			return httpkit.Answer{}, err
		}
		p, err := act(a.cfg.Payments, c.Request.Context(), read)
		return a.paymentAnswer(c, sentBackStatus(p), p, err)
	}
}

// sentBackStatus is 202 while the money is on its way.
func sentBackStatus(p payment.Payment) int {
	if p.State == payment.Refunding {
		return http.StatusAccepted
	}
	return http.StatusOK
}

// paymentBefore answers an act on a payment that was done before, with the payment as it is now.
func (a *API) paymentBefore(c *gin.Context, _ httpkit.Identity, made string) (httpkit.Answer, error) {
	if !strings.HasPrefix(made, "pay_") {
		return httpkit.Answer{}, fmt.Errorf("an act on payment %q", made)
	}
	p, err := a.cfg.Ledger.Payment(c.Request.Context(), made)
	return a.paymentAnswer(c, sentBackStatus(p), p, err)
}

// ownPayment returns payment.ErrNotFound unless the payment in the path belongs to the shop.
func (a *API) ownPayment(c *gin.Context, shop int64) error {
	id, err := paymentID(c)
	if err != nil {
		return err
	}
	p, err := a.cfg.Ledger.Payment(c.Request.Context(), id)
	if err == nil && p.ShopID != shop {
		err = payment.ErrNotFound
	}
	return err
}
