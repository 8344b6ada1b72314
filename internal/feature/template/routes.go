package template

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/idempotency"
	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// Service saves and changes templates: *Templates. Every method may return order.ErrUnavailable.
type Service interface {
	// List returns the templates of a shop, by name; with shopID 0 the newest Listed, by shop and name.
	List(ctx context.Context, shopID int64) ([]Template, error)
	// Save saves a voucher as a template. Errors: *invalid.Error for the name, voucher.ErrNotFound, ErrName, ErrMany;
	// for the author's key, *idempotency.RepeatedError and idempotency.ErrReused.
	Save(ctx context.Context, by voucher.Author, voucherID int64, name string) (Template, error)
	// Find returns a template. Error: ErrNone.
	Find(ctx context.Context, id int64) (Template, error)
	// Rename renames a template. Errors: *invalid.Error, ErrNone, ErrName.
	Rename(ctx context.Context, by voucher.Author, id int64, name string) (Template, error)
	// Delete deletes a template; vouchers made from it stay. Error: ErrNone.
	Delete(ctx context.Context, by voucher.Author, id int64) error
}

// Routes returns the routes of templates.
func Routes(templates Service, front httpkit.Front) []httpkit.Route {
	h := handlers{templates, front}
	return []httpkit.Route{
		httpkit.Staff("GET /admin/template", h.list, httpkit.ByHandler, httpkit.Query("shopId")),
		httpkit.Staff("POST /admin/template", h.save, httpkit.ByHandler, httpkit.Body,
			httpkit.KeyedByID(h.savedBefore)),
		httpkit.Staff("GET /admin/template/:id", httpkit.ByID(h.one), h.own),
		httpkit.Staff("PATCH /admin/template/:id", httpkit.ByID(h.rename), h.own, httpkit.Body),
		httpkit.Staff("DELETE /admin/template/:id", httpkit.ByID(h.delete), h.own),
	}
}

type handlers struct {
	templates Service
	front     httpkit.Front
}

// own returns ErrNone unless the template in the path is one of the shop.
func (h handlers) own(c *gin.Context, shop int64) error {
	id, err := httpkit.PathID(c)
	if err != nil {
		return err
	}
	t, err := h.templates.Find(c.Request.Context(), id)
	if err == nil && t.Voucher.ShopID != shop {
		err = ErrNone
	}
	return err
}

// one answers GET /admin/template/:id.
func (h handlers) one(c *gin.Context, _ httpkit.Identity, id int64) (httpkit.Answer, error) {
	t, err := h.templates.Find(c.Request.Context(), id)
	return h.answer(http.StatusOK, t, err)
}

// list answers GET /admin/template.
func (h handlers) list(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	shopID, badShop := values.ID("shopId", voucher.MaxID)
	if err := invalid.Join(badQuery, badShop); err != nil {
		return httpkit.Answer{}, err
	}
	shopID, err := who.Within(shopID)
	if err != nil {
		return httpkit.Answer{}, err
	}
	templates, err := h.templates.List(c.Request.Context(), shopID)
	names := httpkit.ShopNames(c.Request.Context(), h.front.Members, templates,
		func(t Template) int64 { return t.Voucher.ShopID })
	views := make([]templateJSON, len(templates))
	for i, t := range templates {
		views[i] = h.view(t)
		views[i].ShopName = names[t.Voucher.ShopID]
	}
	return httpkit.Data(http.StatusOK, views, err)
}

// save answers POST /admin/template.
func (h handlers) save(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	var (
		voucherID int64
		name      string
	)
	err := h.front.Bodies.Read(c, jsonbody.Required(jsonbody.Integer("voucherId", &voucherID)),
		jsonbody.Required(jsonbody.Text("name", &name)))
	if err != nil {
		return httpkit.Answer{}, err
	}
	if only := who.Only(); only != 0 {
		if err := httpkit.Owns(c.Request.Context(), h.front.ShopOf, only, voucherID); err != nil {
			return httpkit.Answer{}, err
		}
	}
	t, err := h.templates.Save(c.Request.Context(), httpkit.Author(c, who), voucherID, name)
	return h.answer(http.StatusCreated, t, err)
}

// savedBefore answers a repeated POST /admin/template.
func (h handlers) savedBefore(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	t, err := h.templates.Find(c.Request.Context(), id)
	if errors.Is(err, ErrNone) {
		err = idempotency.ErrGone
	}
	if err == nil {
		_, err = who.Within(t.Voucher.ShopID) // the caller may have been a merchant of another shop then
	}
	return h.answer(http.StatusCreated, t, err)
}

// rename answers PATCH /admin/template/:id.
func (h handlers) rename(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	var name string
	if err := h.front.Bodies.Read(c, jsonbody.Required(jsonbody.Text("name", &name))); err != nil {
		return httpkit.Answer{}, err
	}
	t, err := h.templates.Rename(c.Request.Context(), httpkit.Author(c, who), id, name)
	return h.answer(http.StatusOK, t, err)
}

// delete answers DELETE /admin/template/:id.
func (h handlers) delete(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	return httpkit.Data(http.StatusOK, struct{}{},
		h.templates.Delete(c.Request.Context(), httpkit.Author(c, who), id))
}

func (h handlers) answer(status int, t Template, err error) (httpkit.Answer, error) {
	return httpkit.Data(status, h.view(t), err)
}

// templateJSON is the JSON form of a template.
type templateJSON struct {
	ID       int64     `json:"id"`
	Name     string    `json:"name"`
	ShopName string    `json:"shopName,omitempty"` // in a list; absent: the shop has none
	Voucher  draftJSON `json:"voucher"`
	Currency string    `json:"currency"`
	// Lasts is the time from beginTime to endTime, and Seen the time from visibleFrom to beginTime.
	Lasts      int64         `json:"lastsSeconds,omitempty"`
	Seen       int64         `json:"visibleBeforeSeconds,omitempty"`
	CreateTime *httpkit.Time `json:"createTime"`
}

// draftJSON is the body of a request that creates a voucher from the template, without its times.
type draftJSON struct {
	Type         voucher.Kind     `json:"type"`
	ShopID       int64            `json:"shopId"`
	Title        string           `json:"title"`
	SubTitle     string           `json:"subTitle"`
	Rules        string           `json:"rules"`
	Picture      string           `json:"picture,omitempty"`
	PayValue     int64            `json:"payValue"`
	ActualValue  int64            `json:"actualValue"`
	PayWithin    int64            `json:"payWithinSeconds"`
	Processing   int64            `json:"processingWithinSeconds,omitempty"`
	Redeemable   bool             `json:"redeemable,omitempty"`
	ValidDays    int64            `json:"validDays,omitempty"`
	PerUser      int64            `json:"perUser,omitempty"`
	Stock        int64            `json:"stock,omitempty"`
	InviteWindow int64            `json:"waitlistWindowSeconds,omitempty"`
	Guards       *guards.Settings `json:"guards,omitempty"`
}

func (h handlers) view(t Template) templateJSON {
	v := t.Voucher
	draft := draftJSON{
		Type: v.Kind, ShopID: v.ShopID, Title: v.Title, SubTitle: v.SubTitle, Rules: v.Rules, PayValue: v.PayValue,
		ActualValue: v.ActualValue, PayWithin: int64(v.PayWithin / time.Second), Redeemable: v.Redemption.ByCode,
		ValidDays: v.Redemption.ValidDays, PerUser: v.PerUser,
		Processing: int64(v.ProcessingWithin / time.Second), Picture: v.Picture,
	}
	if s := v.Sale; s != nil {
		draft.Stock, draft.InviteWindow, draft.Guards = s.Issued, int64(s.InviteWindow/time.Second), s.Guards
	}
	return templateJSON{
		ID: t.ID, Name: t.Name, Voucher: draft, Currency: h.front.Currency, CreateTime: httpkit.TimeView(t.CreatedAt),
		Lasts: int64(t.Lasts / time.Second), Seen: int64(t.Seen / time.Second),
	}
}
