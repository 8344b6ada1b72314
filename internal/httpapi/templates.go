package httpapi

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/guard"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/httpapi/param"
	"seckill/internal/invalid"
	"seckill/internal/voucher"
)

// Templates is what admins do with templates of vouchers: *voucher.Templates. Everywhere order.ErrUnavailable may come back.
type Templates interface {
	// List returns the templates of a shop, by name; with shopID 0 the newest voucher.ListedTemplates.
	List(ctx context.Context, shopID int64) ([]voucher.Template, error)
	// Save saves a voucher as a template. *invalid.Error, voucher.ErrNotFound, voucher.ErrTemplateName, voucher.ErrTemplates.
	Save(ctx context.Context, by voucher.Author, voucherID int64, name string) (voucher.Template, error)
	// Rename renames one. *invalid.Error, voucher.ErrNoTemplate, voucher.ErrTemplateName.
	Rename(ctx context.Context, by voucher.Author, id int64, name string) (voucher.Template, error)
	// Delete deletes one. voucher.ErrNoTemplate.
	Delete(ctx context.Context, by voucher.Author, id int64) error
}

// listTemplates answers GET /admin/template.
func (a *API) listTemplates(c *gin.Context, _ identity) (answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	shopID, badShop := values.ID("shopId", voucher.MaxID)
	if err := invalid.Join(badQuery, badShop, values.Only("shopId")); err != nil {
		return answer{}, err
	}
	templates, err := a.cfg.Templates.List(c.Request.Context(), shopID)
	if err != nil {
		return answer{}, err
	}
	views := make([]templateJSON, len(templates))
	for i, t := range templates {
		views[i] = templateView(t)
	}
	return answer{status: http.StatusOK, envelope: envelope{Data: views}}, nil
}

// saveTemplate answers POST /admin/template.
func (a *API) saveTemplate(c *gin.Context, who identity) (answer, error) {
	var (
		voucherID int64
		name      string
	)
	err := a.readBody(c, jsonbody.Required(jsonbody.Integer("voucherId", &voucherID)), jsonbody.Required(jsonbody.Text("name", &name)))
	if err != nil {
		return answer{}, err
	}
	t, err := a.cfg.Templates.Save(c.Request.Context(), author(c, who), voucherID, name)
	return templateAnswer(http.StatusCreated, t, err)
}

// renameTemplate answers PATCH /admin/template/:id.
func (a *API) renameTemplate(c *gin.Context, who identity) (answer, error) {
	id, bad := param.ID("id", c.Param("id"), math.MaxInt64)
	if err := invalid.Join(bad); err != nil {
		return answer{}, err
	}
	var name string
	if err := a.readBody(c, jsonbody.Required(jsonbody.Text("name", &name))); err != nil {
		return answer{}, err
	}
	t, err := a.cfg.Templates.Rename(c.Request.Context(), author(c, who), id, name)
	return templateAnswer(http.StatusOK, t, err)
}

// deleteTemplate answers POST /admin/template/:id/delete.
func (a *API) deleteTemplate(c *gin.Context, who identity) (answer, error) {
	id, bad := param.ID("id", c.Param("id"), math.MaxInt64)
	if err := invalid.Join(bad); err != nil {
		return answer{}, err
	}
	if err := a.cfg.Templates.Delete(c.Request.Context(), author(c, who), id); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, envelope: envelope{Data: struct{}{}}}, nil
}

func templateAnswer(status int, t voucher.Template, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{status: status, envelope: envelope{Data: templateView(t)}}, nil
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
		Type: v.Kind, ShopID: v.ShopID, Title: v.Title, SubTitle: v.SubTitle, Rules: v.Rules, PayValue: v.PayValue, ActualValue: v.ActualValue,
		PayWithin: int64(v.PayWithin / time.Second), Redeemable: v.Redemption.ByCode, ValidDays: v.Redemption.ValidDays, PerUser: v.PerUser,
	}
	if s := v.Sale; s != nil {
		draft.Stock, draft.OfferWithin, draft.Guards = s.Issued, int64(s.OfferWithin/time.Second), s.Guards
	}
	return templateJSON{
		ID: t.ID, Name: t.Name, Voucher: draft, CreateTime: timeView(t.CreatedAt),
		Lasts: int64(t.Lasts / time.Second), Seen: int64(t.Seen / time.Second),
	}
}

// noTemplate answers who names a template that is not there.
func noTemplate() failure {
	return failure{
		code: "NOT_FOUND", status: http.StatusNotFound, title: "Not found",
		detail:  "There is no template with this id: it was deleted.",
		english: "There is no such template any more.", chinese: "该模板不存在或已删除",
	}
}

// templateExists answers who gives two templates of a shop one name.
func templateExists() failure {
	return failure{
		code: "TEMPLATE_EXISTS", status: http.StatusConflict, title: "There is such a template",
		detail:  "The shop has a template of this name. Nothing was changed; choose another name.",
		english: "There is a template of this name.", chinese: "已有同名模板",
	}
}

// manyTemplates answers who would save a template beyond the limit.
func manyTemplates() failure {
	return failure{
		code: "TOO_MANY_TEMPLATES", status: http.StatusConflict, title: "Too many templates",
		detail:  "The shop has 100 templates, which is the limit. Delete one first.",
		english: "There are too many templates. Delete one first.", chinese: "模板数量已达上限，请先删除",
	}
}
