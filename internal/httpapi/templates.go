package httpapi

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/guard"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/httpapi/param"
	"seckill/internal/invalid"
	"seckill/internal/voucher"
)

// Templates is what admins do with templates of vouchers: *voucher.Templates. Everywhere order.ErrUnavailable may
// come back.
type Templates interface {
	// List returns the templates of a shop, by name; with shopID 0 the newest voucher.ListedTemplates.
	List(ctx context.Context, shopID int64) ([]voucher.Template, error)
	// Save saves a voucher as a template. *invalid.Error, voucher.ErrNotFound, voucher.ErrTemplateName,
	// voucher.ErrTemplates.
	Save(ctx context.Context, by voucher.Author, voucherID int64, name string) (voucher.Template, error)
	// Rename renames one. *invalid.Error, voucher.ErrNoTemplate, voucher.ErrTemplateName.
	Rename(ctx context.Context, by voucher.Author, id int64, name string) (voucher.Template, error)
	// Delete deletes one. voucher.ErrNoTemplate.
	Delete(ctx context.Context, by voucher.Author, id int64) error
}

// listTemplates answers GET /admin/template.
func (a *API) listTemplates(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	shopID, badShop := values.ID("shopId", voucher.MaxID)
	if err := invalid.Join(badQuery, badShop, values.Only("shopId")); err != nil {
		return httpkit.Answer{}, err
	}
	templates, err := a.cfg.Templates.List(c.Request.Context(), shopID)
	if err != nil {
		return httpkit.Answer{}, err
	}
	views := make([]templateJSON, len(templates))
	for i, t := range templates {
		views[i] = templateView(t)
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: views}}, nil
}

// saveTemplate answers POST /admin/template.
func (a *API) saveTemplate(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	var (
		voucherID int64
		name      string
	)
	err := a.bodies.Read(c, jsonbody.Required(jsonbody.Integer("voucherId", &voucherID)),
		jsonbody.Required(jsonbody.Text("name", &name)))
	if err != nil {
		return httpkit.Answer{}, err
	}
	t, err := a.cfg.Templates.Save(c.Request.Context(), httpkit.Author(c, who), voucherID, name)
	return templateAnswer(http.StatusCreated, t, err)
}

// renameTemplate answers PATCH /admin/template/:id.
func (a *API) renameTemplate(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, bad := param.ID("id", c.Param("id"), math.MaxInt64)
	if err := invalid.Join(bad); err != nil {
		return httpkit.Answer{}, err
	}
	var name string
	if err := a.bodies.Read(c, jsonbody.Required(jsonbody.Text("name", &name))); err != nil {
		return httpkit.Answer{}, err
	}
	t, err := a.cfg.Templates.Rename(c.Request.Context(), httpkit.Author(c, who), id, name)
	return templateAnswer(http.StatusOK, t, err)
}

// deleteTemplate answers POST /admin/template/:id/delete.
func (a *API) deleteTemplate(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, bad := param.ID("id", c.Param("id"), math.MaxInt64)
	if err := invalid.Join(bad); err != nil {
		return httpkit.Answer{}, err
	}
	if err := a.cfg.Templates.Delete(c.Request.Context(), httpkit.Author(c, who), id); err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: struct{}{}}}, nil
}

func templateAnswer(status int, t voucher.Template, err error) (httpkit.Answer, error) {
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: status, Envelope: httpkit.Envelope{Data: templateView(t)}}, nil
}

// templateJSON is a template as it is shown.
type templateJSON struct {
	ID      int64             `json:"id"`
	Name    string            `json:"name"`
	Voucher templateDraftJSON `json:"voucher"`
	// Lasts is from beginTime to endTime, and Seen from visibleFrom to beginTime.
	Lasts      int64      `json:"lastsSeconds,omitempty"`
	Seen       int64      `json:"visibleBeforeSeconds,omitempty"`
	CreateTime *time.Time `json:"createTime"`
}

// templateDraftJSON is the body that creates such a voucher, without its times.
type templateDraftJSON struct {
	Type        voucher.Kind    `json:"type"`
	ShopID      int64           `json:"shopId"`
	Title       string          `json:"title"`
	SubTitle    string          `json:"subTitle"`
	Rules       string          `json:"rules"`
	PayValue    int64           `json:"payValue"`
	ActualValue int64           `json:"actualValue"`
	PayWithin   int64           `json:"payWithinSeconds"`
	Redeemable  bool            `json:"redeemable,omitempty"`
	ValidDays   int64           `json:"validDays,omitempty"`
	PerUser     int64           `json:"perUser,omitempty"`
	Stock       int64           `json:"stock,omitempty"`
	OfferWithin int64           `json:"waitlistOfferSeconds,omitempty"`
	Guards      *guard.Settings `json:"guards,omitempty"`
}

func templateView(t voucher.Template) templateJSON {
	v := t.Voucher
	draft := templateDraftJSON{
		Type: v.Kind, ShopID: v.ShopID, Title: v.Title, SubTitle: v.SubTitle, Rules: v.Rules, PayValue: v.PayValue,
		ActualValue: v.ActualValue, PayWithin: int64(v.PayWithin / time.Second), Redeemable: v.Redemption.ByCode,
		ValidDays: v.Redemption.ValidDays, PerUser: v.PerUser,
	}
	if s := v.Sale; s != nil {
		draft.Stock, draft.OfferWithin, draft.Guards = s.Issued, int64(s.OfferWithin/time.Second), s.Guards
	}
	return templateJSON{
		ID: t.ID, Name: t.Name, Voucher: draft, CreateTime: httpkit.TimeView(t.CreatedAt),
		Lasts: int64(t.Lasts / time.Second), Seen: int64(t.Seen / time.Second),
	}
}

// noTemplate answers who names a template that is not there.
func noTemplate() httpkit.Failure {
	return httpkit.Failure{
		Code: "NOT_FOUND", Status: http.StatusNotFound, Title: "Not found",
		Detail:  "There is no template with this id: it was deleted.",
		English: "There is no such template any more.", Chinese: "该模板不存在或已删除",
	}
}

// templateExists answers who gives two templates of a shop one name.
func templateExists() httpkit.Failure {
	return httpkit.Failure{
		Code: "TEMPLATE_EXISTS", Status: http.StatusConflict, Title: "There is such a template",
		Detail:  "The shop has a template of this name. Nothing was changed; choose another name.",
		English: "There is a template of this name.", Chinese: "已有同名模板",
	}
}

// manyTemplates answers who would save a template beyond the limit.
func manyTemplates() httpkit.Failure {
	return httpkit.Failure{
		Code: "TOO_MANY_TEMPLATES", Status: http.StatusConflict, Title: "Too many templates",
		Detail:  "The shop has 100 templates, which is the limit. Delete one first.",
		English: "There are too many templates. Delete one first.", Chinese: "模板数量已达上限，请先删除",
	}
}
