package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/internal/voucher"
)

// VoucherChanges alters vouchers while they sell: *voucher.Service. followed is false when Redis has not followed yet, which
// it does later. All return voucher.ErrNotFound.
type VoucherChanges interface {
	// Change alters texts, window and shelf status. *voucher.InvalidError, voucher.ErrRetired.
	Change(ctx context.Context, by voucher.Author, id int64, change voucher.Change) (v voucher.Shown, followed bool, err error)
	// AddStock adds units to a sale or takes some, once for each key. *voucher.InvalidError, voucher.ErrNotSeckill,
	// voucher.ErrRetired, *voucher.InsufficientStockError, voucher.ErrKeyReused, voucher.ErrUndecided.
	AddStock(ctx context.Context, by voucher.Author, id, delta int64, key string) (v voucher.Shown, followed bool, err error)
	// Pause stops a sale until Resume. voucher.ErrNotSeckill, voucher.ErrRetired.
	Pause(ctx context.Context, by voucher.Author, id int64) (v voucher.Shown, followed bool, err error)
	// Resume lets a paused sale go on. Its errors are Pause's.
	Resume(ctx context.Context, by voucher.Author, id int64) (v voucher.Shown, followed bool, err error)
}

// changeVoucher answers PATCH /voucher/:id.
func (a *API) changeVoucher(c *gin.Context, who identity) (answer, error) {
	id, badID := pathID(c, "id", voucher.MaxID)
	if err := invalid(badID); err != nil {
		return answer{}, err
	}
	var change voucher.Change
	fields := []bodyField{
		optional(textField, "title", &change.Title),
		optional(textField, "subTitle", &change.SubTitle),
		optional(textField, "rules", &change.Rules),
		optional(a.timeField, "beginTime", &change.Begin),
		optional(a.timeField, "endTime", &change.End),
		optional(shelfField, "status", &change.OnShelf),
		fixedField("stock", "is changed by POST /voucher/:id/stock"),
	}
	for _, name := range []string{"id", "shopId", "payValue", "actualValue", "payWithinSeconds", "type"} {
		fields = append(fields, fixedField(name, "never changes"))
	}
	if err := a.readBody(c, fields...); err != nil {
		return answer{}, err
	}
	return changed(a.cfg.VoucherChanges.Change(c.Request.Context(), author(c, who), id, change))
}

// addStock answers POST /voucher/:id/stock.
func (a *API) addStock(c *gin.Context, who identity) (answer, error) {
	id, badID := pathID(c, "id", voucher.MaxID)
	key, badKey := requiredIdempotencyKey(c.Request.Header)
	if err := invalid(badID, badKey); err != nil {
		return answer{}, err
	}
	var delta int64
	if err := a.readBody(c, required(integerField("delta", &delta))); err != nil {
		return answer{}, err
	}
	return changed(a.cfg.VoucherChanges.AddStock(c.Request.Context(), author(c, who), id, delta, key))
}

// pauseSale answers POST /voucher/:id/pause.
func (a *API) pauseSale(c *gin.Context, who identity) (answer, error) {
	id, badID := pathID(c, "id", voucher.MaxID)
	if err := invalid(badID); err != nil {
		return answer{}, err
	}
	return changed(a.cfg.VoucherChanges.Pause(c.Request.Context(), author(c, who), id))
}

// resumeSale answers POST /voucher/:id/resume.
func (a *API) resumeSale(c *gin.Context, who identity) (answer, error) {
	id, badID := pathID(c, "id", voucher.MaxID)
	if err := invalid(badID); err != nil {
		return answer{}, err
	}
	return changed(a.cfg.VoucherChanges.Resume(c.Request.Context(), author(c, who), id))
}

// author is who changes something, and with which request.
func author(c *gin.Context, who identity) voucher.Author {
	return voucher.Author{AdminID: who.userID, Request: c.Writer.Header().Get("X-Request-Id")}
}

// changed is the answer to a change: 202 while Redis has not followed.
func changed(v voucher.Shown, followed bool, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	status := http.StatusOK
	if !followed {
		status = http.StatusAccepted
	}
	return answer{status: status, envelope: envelope{Data: voucherView(v)}}, nil
}
