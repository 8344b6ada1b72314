package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Storefront sells ordinary vouchers: *order.Storefront.
type Storefront interface {
	// Buy records an unpaid order, once for each key of the user; "" is no key. voucher.ErrNotFound, voucher.ErrOffShelf,
	// order.ErrSeckill, order.ErrKeyReused, order.ErrUnavailable; order.ErrUnknownOutcome, after which repeating with the same
	// key tells.
	Buy(ctx context.Context, userID, voucherID int64, key string) (order.Order, error)
}

// buyFreely answers POST /voucher/buy/:id: an ordinary voucher, any number of times.
func (a *API) buyFreely(c *gin.Context, who identity) (answer, error) {
	id, badID := pathID(c, "id", voucher.MaxID)
	key, badKey := idempotencyKey(c.Request.Header)
	if err := invalid(badID, badKey); err != nil {
		return answer{}, err
	}
	o, err := a.cfg.Storefront.Buy(c.Request.Context(), who.userID, id, key)
	if key == "" && errors.Is(err, order.ErrUnknownOutcome) {
		err = fmt.Errorf("%w: %w", errUnkeyedOutcome, err)
	}
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, location: orderPath(o.ID), body: orderRef(o)}, nil
}
