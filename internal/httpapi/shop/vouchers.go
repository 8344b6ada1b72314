package shop

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/idempotency"
	"seckill/internal/kit/invalid"
	"seckill/internal/kit/words"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// Vouchers creates and shows vouchers: *voucher.Service.
type Vouchers interface {
	// CreateOrdinary returns *invalid.Error for a draft that breaks a rule.
	CreateOrdinary(ctx context.Context, by voucher.Author, d voucher.Draft) (voucher.Shown, error)
	// CreateSeckill returns *invalid.Error for a draft that breaks a rule.
	CreateSeckill(ctx context.Context, by voucher.Author, d voucher.Draft, sd voucher.SaleDraft) (voucher.Shown, error)
	// Find returns a voucher, on or off the shelf. Error: voucher.ErrNotFound.
	Find(ctx context.Context, id int64) (voucher.Shown, error)
	// All returns a page of vouchers on and off the shelf, newest first.
	All(ctx context.Context, q voucher.Search) (voucher.Found, error)
}

// VoucherChanges changes vouchers while they sell: *voucher.Service. applied is false if Redis has not applied the
// change yet. All methods may return voucher.ErrNotFound, and all except SetArchived voucher.ErrArchived.
type VoucherChanges interface {
	// Change changes texts, window and shelf status. Errors: *invalid.Error, voucher.ErrRetired, voucher.ErrCalledOff.
	Change(ctx context.Context, by voucher.Author, id int64,
		change voucher.Change) (v voucher.Shown, applied bool, err error)
	// AddStock adds (delta > 0) or removes (delta < 0) units of a sale, once for each key. Errors: *invalid.Error,
	// voucher.ErrNotSeckill, voucher.ErrRetired, voucher.ErrCalledOff, *voucher.InsufficientStockError,
	// idempotency.ErrReused, voucher.ErrUndecided.
	AddStock(ctx context.Context, by voucher.Author, id, delta int64,
		key string) (v voucher.Shown, applied bool, err error)
	// Pause stops a sale until Resume. Errors: voucher.ErrNotSeckill, voucher.ErrRetired, voucher.ErrCalledOff.
	Pause(ctx context.Context, by voucher.Author, id int64) (v voucher.Shown, applied bool, err error)
	// Resume continues a paused sale. Its errors are Pause's.
	Resume(ctx context.Context, by voucher.Author, id int64) (v voucher.Shown, applied bool, err error)
	// CallOff calls a sale off for good, once for each key of the author. Errors: voucher.ErrNotSeckill,
	// voucher.ErrRetired, *idempotency.RepeatedError, idempotency.ErrReused.
	CallOff(ctx context.Context, by voucher.Author, id int64, why string) (v voucher.Shown, applied bool, err error)
	// SetArchived archives a voucher, or restores it. Errors: voucher.ErrSaleNotOver, voucher.ErrOrdersWait,
	// order.ErrUnavailable.
	SetArchived(ctx context.Context, by voucher.Author, id int64, archived bool) (voucher.Shown, error)
}

// createOrdinary answers POST /voucher.
func (a *API) createOrdinary(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	d := a.newDraft()
	fields := append(a.draftFields(&d, voucher.Ordinary), jsonbody.Integer("perUser", &d.PerUser))
	if err := a.cfg.Bodies.Read(c, fields...); err != nil {
		return httpkit.Answer{}, err
	}
	if err := a.checkDraft(d, who); err != nil {
		return httpkit.Answer{}, err
	}
	v, err := a.cfg.Vouchers.CreateOrdinary(c.Request.Context(), httpkit.Author(c, who), d)
	return a.created(v, err)
}

// createSeckill answers POST /voucher/seckill.
func (a *API) createSeckill(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	d := a.newDraft()
	d.PerUser = 1
	var sd voucher.SaleDraft
	fields := append(a.draftFields(&d, voucher.Seckill),
		jsonbody.Required(jsonbody.Integer("stock", &sd.Stock)),
		jsonbody.Integer("perUser", &d.PerUser),
		jsonbody.Seconds("waitlistWindowSeconds", &sd.InviteWindow),
		jsonbody.Optional(jsonbody.Integer, "partition", &sd.Partition),
		jsonbody.Required(a.timeField("beginTime", &sd.Begin)),
		jsonbody.Required(a.timeField("endTime", &sd.End)),
		a.guardsField(&sd.Guards),
	)
	if err := a.cfg.Bodies.Read(c, fields...); err != nil {
		return httpkit.Answer{}, err
	}
	if err := a.checkDraft(d, who); err != nil {
		return httpkit.Answer{}, err
	}
	v, err := a.cfg.Vouchers.CreateSeckill(c.Request.Context(), httpkit.Author(c, who), d, sd)
	return a.created(v, err)
}

// newDraft returns a draft with the defaults. Its orders have codes if this service can redeem them: a paid coupon
// should be redeemable unless the shop says that it delivers in another way.
func (a *API) newDraft() voucher.Draft {
	return voucher.Draft{Redemption: voucher.Redemption{ByCode: a.cfg.Members.Has("coupon")}}
}

// draftFields are the fields of both kinds of voucher. The route says the kind; if the body names it too, they must
// agree.
func (a *API) draftFields(d *voucher.Draft, kind voucher.Kind) []jsonbody.Field {
	var given voucher.Kind
	return []jsonbody.Field{
		jsonbody.Choice("type", &given, map[int64]voucher.Kind{int64(kind): kind}),
		jsonbody.Required(jsonbody.Integer("shopId", &d.ShopID)),
		jsonbody.Required(jsonbody.Text("title", &d.Title)),
		jsonbody.Text("subTitle", &d.SubTitle),
		jsonbody.Text("rules", &d.Rules),
		a.cfg.Picture(nil)("picture", &d.Picture),
		jsonbody.Required(jsonbody.Integer("payValue", &d.PayValue)),
		jsonbody.Required(jsonbody.Integer("actualValue", &d.ActualValue)),
		jsonbody.Seconds("payWithinSeconds", &d.PayWithin),
		jsonbody.Seconds("processingWithinSeconds", &d.ProcessingWithin),
		jsonbody.Bool("redeemable", &d.Redemption.ByCode),
		a.timeField("validUntil", &d.Redemption.ValidUntil),
		jsonbody.Count("validDays", &d.Redemption.ValidDays, voucher.MaxValidDays),
		a.timeField("visibleFrom", &d.VisibleFrom),
	}
}

// created answers with a new voucher, and warns of a price that no provider can collect.
func (a *API) created(v voucher.Shown, err error) (httpkit.Answer, error) {
	if err != nil {
		return httpkit.Answer{}, err
	}
	ans := httpkit.Answer{
		Status: http.StatusCreated, Location: "/voucher/" + strconv.FormatInt(v.ID, 10),
		Envelope: httpkit.Envelope{Data: a.adminView(v)},
	}
	if a.cfg.NoProvider && v.PayValue > 0 {
		ans.Envelope.Warnings = []httpkit.Warning{{Code: "NO_PROVIDER", Field: "payValue", Text: noProvider()}}
	}
	return ans, nil
}

// createdBefore answers a repeated creation.
func (a *API) createdBefore(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	v, err := a.cfg.Vouchers.Find(c.Request.Context(), id)
	if errors.Is(err, voucher.ErrNotFound) {
		err = idempotency.ErrGone
	}
	if err == nil {
		_, err = who.Within(v.ShopID) // the caller may have been a merchant of another shop when they created it
	}
	return a.created(v, err)
}

// noProvider returns the warning about a price that no provider can collect.
func noProvider() words.Text {
	return words.Text{
		"No payment provider is configured (SECKILL_PAYMENT_PROVIDER), so orders of this voucher cannot be paid.",
		"未配置支付渠道（SECKILL_PAYMENT_PROVIDER），此优惠券的订单将无法支付。",
	}
}

// The reasons and allowed values that only these routes use.
var (
	changedByRoute  = invalid.NewReason("CHANGED_BY_ROUTE", "is changed by {route}", "须通过 {route} 修改")
	needsRedemption = invalid.NewReason("NEEDS_REDEMPTION", "needs redemption, which this service was built without",
		"本服务的构建不含核销功能")
	unpayable = invalid.NewReason("UNPAYABLE",
		"cannot be paid: no payment provider is configured, and {setting} is true",
		"无法支付：未配置支付渠道，且 {setting} 为 true")
	zeroOrProvider = invalid.NewAllowed("ZERO_OR_PROVIDER", "0, or any price once {provider} names one",
		"0；或先用 {provider} 配置支付渠道")
)

// checkDraft refuses a draft for another merchant's shop, a price that cannot be paid where a provider is required, and
// coupons that cannot be redeemed.
func (a *API) checkDraft(d voucher.Draft, who httpkit.Identity) error {
	if _, err := who.Within(d.ShopID); err != nil {
		return err
	}
	var wrong invalid.Problems
	if a.cfg.NoProvider && a.cfg.RequireProvider && d.PayValue != 0 {
		wrong.Bad("payValue", unpayable, zeroOrProvider,
			invalid.Data{"setting": "SECKILL_REQUIRE_PROVIDER", "provider": "SECKILL_PAYMENT_PROVIDER"})
	}
	if !a.cfg.Members.Has("coupon") && d.Redemption.ByCode {
		wrong.Bad("redeemable", needsRedemption, invalid.Omit, nil)
	}
	return wrong.Err()
}

// findVouchers answers GET /admin/voucher: all shops' vouchers, or a merchant's, newest first, in pages like GET
// /order.
func (a *API) findVouchers(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	shopID, badShop := values.ID("shopId", voucher.MaxID)
	n, badLimit := values.Limit()
	cursor, badCursor := values.Before()
	title, badTitle := titlePart(values)
	archived, badArchived := archivedIn(values)
	if err := invalid.Join(badQuery, badShop, badTitle, badArchived, badLimit, badCursor); err != nil {
		return httpkit.Answer{}, err
	}
	shopID, err := who.Within(shopID)
	if err != nil {
		return httpkit.Answer{}, err
	}
	found, err := a.cfg.Vouchers.All(c.Request.Context(),
		voucher.Search{ShopID: shopID, Title: title, Archived: archived, Before: cursor, Limit: n})
	if err != nil {
		return httpkit.Answer{}, err
	}
	next := ""
	if found.Next > 0 {
		next = strconv.FormatInt(found.Next, 10)
	}
	views := make([]voucherJSON, len(found.Vouchers))
	names := httpkit.ShopNames(c.Request.Context(), a.cfg.Members, found.Vouchers,
		func(v voucher.Shown) int64 { return v.ShopID })
	for i, v := range found.Vouchers {
		views[i] = a.adminView(v)
		views[i].ShopName = names[v.ShopID]
	}
	return httpkit.Answer{
		Status:   http.StatusOK,
		Envelope: httpkit.Envelope{Data: views, Next: next, ServerTime: httpkit.TimeView(found.Now)},
	}, nil
}

// titlePart returns the text to search titles for; "" if the query has none.
func titlePart(values param.Query) (string, *invalid.Problem) {
	text, given, p := values.Text("title")
	if n := utf8.RuneCountInString(text); given && (n < 1 || n > voucher.MaxTitle || !utf8.ValidString(text)) {
		return "", invalid.OfText("title", n, 1, voucher.MaxTitle)
	}
	return text, p
}

// changeVoucher answers PATCH /voucher/:id.
func (a *API) changeVoucher(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	var (
		change   voucher.Change
		ofGuards guards.Change
	)
	fields := []jsonbody.Field{
		jsonbody.Optional(jsonbody.Text, "title", &change.Title),
		jsonbody.Optional(jsonbody.Text, "subTitle", &change.SubTitle),
		jsonbody.Optional(jsonbody.Text, "rules", &change.Rules),
		jsonbody.Optional(a.cfg.Picture(&change.Elsewhere), "picture", &change.Picture),
		jsonbody.Optional(a.timeField, "beginTime", &change.Begin),
		jsonbody.Optional(a.timeField, "endTime", &change.End),
		jsonbody.Optional(a.timeField, "visibleFrom", &change.VisibleFrom),
		jsonbody.Optional(shelfField, "status", &change.OnShelf),
		a.guardsField(&ofGuards),
		jsonbody.Forbidden("stock", changedByRoute, invalid.Data{"route": "POST /voucher/:id/stock"}),
	}
	for _, name := range []string{
		"id", "shopId", "payValue", "actualValue", "currency", "payWithinSeconds", "processingWithinSeconds",
		"redeemable", "validUntil", "validDays", "perUser", "waitlistWindowSeconds", "partition", "type",
	} {
		fields = append(fields, jsonbody.Forbidden(name, invalid.Immutable, nil))
	}
	if err := a.cfg.Bodies.Read(c, fields...); err != nil {
		return httpkit.Answer{}, err
	}
	if ofGuards != (guards.Change{}) {
		change.Guards = &ofGuards
	}
	return a.changed(a.cfg.VoucherChanges.Change(c.Request.Context(), httpkit.Author(c, who), id, change))
}

// addStock answers POST /voucher/:id/stock.
func (a *API) addStock(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, badID := param.ID("id", c.Param("id"), voucher.MaxID)
	key, badKey := param.RequiredIdempotencyKey(c.Request.Header)
	if err := invalid.Join(badID, badKey); err != nil {
		return httpkit.Answer{}, err
	}
	var delta int64
	if err := a.cfg.Bodies.Read(c, jsonbody.Required(jsonbody.Integer("delta", &delta))); err != nil {
		return httpkit.Answer{}, err
	}
	return a.changed(a.cfg.VoucherChanges.AddStock(c.Request.Context(), httpkit.Author(c, who), id, delta, key))
}

// act answers POST /voucher/:id/pause and resume.
func (a *API) act(
	do func(VoucherChanges, context.Context, voucher.Author, int64) (v voucher.Shown, applied bool, err error),
) httpkit.Handler {
	return httpkit.ByVoucher(func(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
		return a.changed(do(a.cfg.VoucherChanges, c.Request.Context(), httpkit.Author(c, who), id))
	})
}

// archive answers POST /voucher/:id/archive, or POST /voucher/:id/restore if archived is false. Redis has nothing to
// apply.
func (a *API) archive(archived bool) httpkit.Handler {
	return httpkit.ByVoucher(func(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
		v, err := a.cfg.VoucherChanges.SetArchived(c.Request.Context(), httpkit.Author(c, who), id, archived)
		return a.changed(v, true, err)
	})
}

// changed is the answer to a change: 202 while Redis has not applied it.
func (a *API) changed(v voucher.Shown, applied bool, err error) (httpkit.Answer, error) {
	status := http.StatusOK
	if !applied {
		status = http.StatusAccepted
	}
	return httpkit.Data(status, a.adminView(v), err)
}

// timeField is a field with a time. A time without a zone is in the configured one.
func (a *API) timeField(name string, into *time.Time) jsonbody.Field {
	return jsonbody.Time(name, into, a.cfg.Zone)
}

// shelfField is a field with a shelf status: on or off.
func shelfField(name string, into *bool) jsonbody.Field {
	return jsonbody.Choice(name, into, map[int64]bool{int64(voucher.OnShelf): true, int64(voucher.OffShelf): false})
}
