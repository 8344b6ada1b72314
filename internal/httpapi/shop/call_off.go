package shop

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/order/figures"
	"seckill/internal/voucher"
)

// callOff answers POST /admin/voucher/:id/call-off.
func (a *API) callOff(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, badID := param.ID("id", c.Param("id"), voucher.MaxID)
	_, badKey := param.RequiredIdempotencyKey(c.Request.Header)
	if err := invalid.Join(badID, badKey); err != nil {
		return httpkit.Answer{}, err
	}
	why, err := a.cfg.Bodies.ReadWhy(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	return a.changed(a.cfg.VoucherChanges.CallOff(c.Request.Context(), httpkit.Author(c, who), id, why))
}

// calledOffBefore answers a call-off that was done before, with its voucher as it is now.
func (a *API) calledOffBefore(c *gin.Context, _ httpkit.Identity, id int64) (httpkit.Answer, error) {
	v, err := a.cfg.Vouchers.Find(c.Request.Context(), id)
	return a.changed(v, true, err)
}

// unwindingJSON shows what calling a sale off would do to its orders or, afterwards, how far it has got.
type unwindingJSON struct {
	VoucherID int64         `json:"voucherId"`
	CalledOff *httpkit.Time `json:"callOffTime,omitempty"` // absent: the sale was not called off
	Currency  string        `json:"currency"`
	// Pending: the service itself still has work to do.
	Pending   bool  `json:"pending"`
	Unwound   bool  `json:"unwound"` // called off, and nothing is pending
	Issued    int64 `json:"issued"`
	Withdrawn int64 `json:"withdrawn"` // units in stock that are never sold; 0 unless the sale was called off
	Kept      int64 `json:"kept"`

	Unpaid    figures.Tally `json:"unpaid"`
	Paid      figures.Tally `json:"paid"`
	Refunding figures.Tally `json:"refunding"`
	Cancelled figures.Tally `json:"cancelled"` // since the sale was called off, if it was
	Refunded  figures.Tally `json:"refunded"`  // since then, too; includes refunds that staff have closed
	Redeemed  figures.Tally `json:"redeemed"`
	Lapsed    figures.Tally `json:"lapsed"`
	Stuck     figures.Tally `json:"stuck"`
	Free      figures.Tally `json:"free"`
	Disputed  figures.Tally `json:"disputed"`
	NoPayment figures.Tally `json:"noPayment"`
	// PurgedOrders are in no tally: they were deleted, and the report has their figures.
	PurgedOrders int64 `json:"purgedOrders,omitempty"`

	Left []leftJSON `json:"left"` // the orders that are left to staff, newest first
}

// leftJSON is an order that is left to staff.
type leftJSON struct {
	ID       string        `json:"id"`
	UserID   int64         `json:"userId"`
	Status   string        `json:"status"`
	Fate     order.Fate    `json:"fate"`
	Quantity int64         `json:"quantity"`
	Amount   int64         `json:"amount"` // in the currency's least unit
	PayTime  *httpkit.Time `json:"payTime,omitempty"`
}

// unwinding answers GET /admin/voucher/:id/call-off: what calling the sale off would do, or how far it has got.
func (a *API) unwinding(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	id, badID := param.ID("id", c.Param("id"), voucher.MaxID)
	values, badQuery := param.ParseQuery(c.Request)
	n, badLimit := values.Limit()
	before, badBefore := values.Before()
	if err := invalid.Join(badID, badQuery, badLimit, badBefore); err != nil {
		return httpkit.Answer{}, err
	}
	v, err := a.cfg.Vouchers.Find(c.Request.Context(), id)
	if err == nil && v.Sale == nil {
		err = voucher.ErrNotSeckill
	}
	if err != nil {
		return httpkit.Answer{}, err
	}
	u, err := a.cfg.Ledger.Unwinding(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	left, err := a.cfg.Ledger.LeftToStaff(c.Request.Context(), id, before, n+1)
	if err != nil {
		return httpkit.Answer{}, err
	}
	left, next := httpkit.Page(left, n, func(l order.LeftOrder) string { return strconv.FormatInt(l.Order.ID, 10) })
	page := httpkit.Envelope{Data: a.unwindingView(id, u, left), Next: next}
	return httpkit.Answer{Status: http.StatusOK, Envelope: page}, nil
}

func (a *API) unwindingView(id int64, u order.Unwinding, left []order.LeftOrder) unwindingJSON {
	of := func(f order.Fate) figures.Tally { return u.Orders[f] }
	view := unwindingJSON{
		VoucherID: id, CalledOff: httpkit.TimeView(u.CalledOff), Currency: a.cfg.Currency, Issued: u.Issued,
		Kept:   u.Kept,
		Unpaid: of(order.FateUnpaid), Paid: of(order.FatePaid), Refunding: of(order.FateRefunding),
		Cancelled: of(order.FateCancelled), Refunded: of(order.FateRefunded), Redeemed: of(order.FateRedeemed),
		Lapsed: of(order.FateLapsed), Stuck: of(order.FateStuck),
		Free: of(order.FateFree), Disputed: of(order.FateDisputed),
		NoPayment: of(order.FateNoPayment), PurgedOrders: u.Orders[order.FatePurged].Orders,
		Left: make([]leftJSON, len(left)),
	}
	if !u.CalledOff.IsZero() {
		view.Withdrawn, view.Pending, view.Unwound = u.Withdrawn, u.Pending(), !u.Pending()
	}
	for i, l := range left {
		view.Left[i] = leftJSON{
			ID: strconv.FormatInt(l.Order.ID, 10), UserID: l.Order.UserID, Status: l.Order.Status.String(),
			Fate: l.Fate, Quantity: l.Order.Quantity.Units(), Amount: l.Order.Amount,
			PayTime: httpkit.TimeView(l.Order.PaidAt),
		}
	}
	return view
}
