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
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// Purchases sells in sales, and shows buyers their orders: *service.Purchases.
type Purchases interface {
	// Buy buys quantity units of a voucher, as FindVoucher returned it, in one order. It waits at most wait for the
	// order to be recorded and returns it, still order.Queued or with its new status. It returns the errors of order
	// and voucher, including *gate.AlreadyBoughtError and *gate.NotEnoughError, and *invalid.Error for more units than
	// the sale allows. After any other error it is not known whether something was bought; the returned order then has
	// the id of the order that there would be.
	Buy(ctx context.Context, userID int64, v voucher.Voucher, quantity order.Quantity,
		wait time.Duration) (order.Order, error)
	// Order returns a user's own order. While the order is queued, it waits for up to wait. Errors: order.ErrNotFound,
	// order.ErrUnavailable.
	Order(ctx context.Context, userID, orderID int64, wait time.Duration) (order.Order, error)
	// Orders returns the orders of f.UserID that the filter selects, with an id below before, newest first, at most
	// limit, and how many there are in all. It returns as much as can be read soon. Error: order.ErrUnavailable.
	Orders(ctx context.Context, f order.Filter, before int64, limit int) (order.Page, error)
	// Watch yields the user's order at once and after each change, and with changed false every 15 seconds. It
	// returns nil after a final state. Otherwise it returns the error of yield or ctx, order.ErrNotFound,
	// order.ErrUnavailable, or service.ErrStopping when the process stops.
	Watch(ctx context.Context, userID, orderID int64, yield func(o order.Order, changed bool) error) error
	// WatchAll is Watch for all of the user's orders that may change without them, until none is left.
	WatchAll(ctx context.Context, userID int64, yield func(o order.Order, changed bool) error) error
}

// OrderFailedError says that a purchase was accepted, but could not be recorded while the caller waited.
type OrderFailedError struct{ Order order.Order }

func (e *OrderFailedError) Error() string {
	return fmt.Sprintf("order %d failed: %s", e.Order.ID, e.Order.Reason)
}

// purchase buys the given number of units in a sale, or for 0 the number in the query; both routes into a sale use it.
// An order that failed while the caller waited is an error.
func (a *API) purchase(c *gin.Context, who httpkit.Identity, units int64) (order.Order, error) {
	id, badID := param.ID("id", c.Param("id"), voucher.MaxID)
	values, badQuery := param.ParseQuery(c.Request)
	inQuery, badUnits := values.Number("quantity", 1, voucher.MaxPerUser)
	switch {
	case units == 0:
		units = inQuery
	case values["quantity"] != nil: // in the body and in the query
		badUnits = invalid.New("quantity", invalid.Repeated, invalid.Once, nil)
	}
	wait, badWait := values.Duration("wait", a.cfg.MaxWait)
	if wait > 0 {
		wait = a.wait(wait, who)
	}
	if err := invalid.Join(badID, badQuery, badUnits, badWait); err != nil {
		return order.Order{}, err
	}
	v, err := a.cfg.FindVoucher(c.Request.Context(), id)
	if err != nil {
		return order.Order{}, err
	}
	bought, outcome := order.Order{}, order.ErrUnknownOutcome // stays so if Buy panics
	if v.Sale != nil && v.Sale.Guards != nil {
		finish, err := a.enter(c, who, v, units)
		if err != nil {
			return order.Order{}, unlessUnlisted(v, err)
		}
		defer func() { finish(bought.ID, outcome) }()
	}
	bought, outcome = a.cfg.Purchases.Buy(c.Request.Context(), who.UserID, v, order.QuantityOf(units), wait)
	if outcome == nil && bought.Status == order.Failed {
		outcome = &OrderFailedError{bought}
	}
	return bought, unlessUnlisted(v, outcome)
}

// unlessUnlisted returns err, or voucher.ErrNotFound if err would reveal that an unlisted voucher exists. It keeps
// errors that name an order, and errors after which there may be an order.
func unlessUnlisted(v voucher.Voucher, err error) error {
	if err == nil || v.Listed() && !errors.Is(err, voucher.ErrOffShelf) {
		return err
	}
	_, bought := errors.AsType[*gate.AlreadyBoughtError](err)
	_, failed := errors.AsType[*OrderFailedError](err)
	if bought || failed || outcomeOf(err) == guards.Unknown {
		return err
	}
	return voucher.ErrNotFound
}

// wait returns how long the answer waits for an order to be recorded if the caller asks it to wait: at most until their
// token expires. It is 0 while many requests are in flight, so that those that wait do not keep out new ones.
func (a *API) wait(asked time.Duration, who httpkit.Identity) time.Duration {
	if taken, size := a.cfg.InFlight.Taken(); taken > size/2 {
		return 0
	}
	return max(0, min(asked, who.Left(a.cfg.Now())))
}

// buy answers POST /voucher/seckill/:id: 202 while the order is queued, 201 once it is recorded.
func (a *API) buy(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	units := int64(0)
	if c.Request.ContentLength != 0 {
		var err error
		if units, err = a.unitsInBody(c); err != nil {
			return httpkit.Answer{}, err
		}
	}
	o, err := a.purchase(c, who, units)
	if err != nil {
		return httpkit.Answer{}, err
	}
	status := http.StatusCreated
	if o.Status == order.Queued || o.Status == order.StatusUnknown {
		status = http.StatusAccepted
	}
	return httpkit.Answer{Status: status, Location: orderPath(o.ID), Body: orderRef(o)}, nil
}

// unitsInBody returns the quantity in the body of a purchase, 0 if it has none.
func (a *API) unitsInBody(c *gin.Context) (int64, error) {
	var units *int64
	err := a.cfg.Bodies.Read(c, jsonbody.Optional(jsonbody.Integer, "quantity", &units))
	if err != nil || units == nil {
		return 0, err
	}
	return *units, invalid.Join(invalid.Outside("quantity", *units, 1, voucher.MaxPerUser))
}

// buyPlainly answers POST /voucher-order/seckill/:id, the tutorial's route: the order id alone.
func (a *API) buyPlainly(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	o, err := a.purchase(c, who, 0)
	if err != nil {
		return httpkit.Answer{}, err
	}
	body := make([]byte, 0, 64)
	body = append(body, `{"success":true,"data":"`...)
	body = strconv.AppendInt(body, o.ID, 10)
	body = append(body, `"}`...)
	return httpkit.Answer{Status: http.StatusOK, Location: orderPath(o.ID), Body: body}, nil
}

// buyOrdinary answers POST /voucher/buy/:id: an ordinary voucher, up to its perUser.
func (a *API) buyOrdinary(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, badID := param.ID("id", c.Param("id"), voucher.MaxID)
	if err := invalid.Join(badID); err != nil {
		return httpkit.Answer{}, err
	}
	key := httpkit.KeyOf(c)
	o, err := a.cfg.BuyOrdinary(c.Request.Context(), who.UserID, id, key)
	if errors.Is(err, voucher.ErrOffShelf) {
		err = voucher.ErrNotFound // an unlisted voucher is answered as none
	}
	if !key.Given() && errors.Is(err, order.ErrUnknownOutcome) {
		err = fmt.Errorf("%w: %w", ErrUnkeyedOutcome, err)
	}
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusCreated, Location: orderPath(o.ID), Body: orderRef(o)}, nil
}

// orderRef is the body that names an order. It is rendered by hand, because every winner of a sale gets it.
func orderRef(o order.Order) []byte {
	body := make([]byte, 0, 96)
	body = append(body, `{"success":true,"data":`...)
	body = appendOrderRef(body, o.ID, o.Quantity, o.Status)
	return append(body, `}}`...)
}

func orderPath(id int64) string {
	const prefix = "/order/"
	path := make([]byte, 0, len(prefix)+20)
	return string(strconv.AppendInt(append(path, prefix...), id, 10))
}
