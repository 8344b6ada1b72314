package shops

import (
	"context"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/kit/words"
	"seckill/internal/voucher"
)

// Service reads and changes shops: *Ledger. Every method may return order.ErrUnavailable.
type Service interface {
	// Find returns a shop: also one without a row.
	Find(ctx context.Context, id int64) (Shop, error)
	// Page returns shops that have a row, with an id below before, the highest first, at most n.
	Page(ctx context.Context, before int64, n int) ([]Shop, error)
	// Change changes a shop. Error: *invalid.Error for another picture on a host that is not named.
	Change(ctx context.Context, by voucher.Author, id int64, c Change) (Shop, error)
}

// forAdmins is why a merchant may not set a field.
var forAdmins = invalid.NewReason("FOR_ADMINS", "is set by admins only", "仅管理员可设置")

// cached has browsers and proxies keep a shop for as long as an instance does.
const cached = "public, max-age=10"

// Routes returns the routes of shops. most are the bounds of the settings.
func Routes(shops Service, names *Names, most voucher.Bounds, front httpkit.Front) []httpkit.Route {
	h := handlers{shops, names, most, front}
	return []httpkit.Route{
		httpkit.Public("GET /shop/:id", httpkit.ByVoucher(h.show)),
		httpkit.Admin("GET /admin/shop", h.list, httpkit.Query("limit", "before")),
		httpkit.Staff("GET /admin/shop/:id", httpkit.ByVoucher(h.one), own),
		httpkit.Staff("PATCH /admin/shop/:id", httpkit.ByVoucher(h.change), own, httpkit.Body),
	}
}

type handlers struct {
	shops Service
	names *Names
	most  voucher.Bounds
	front httpkit.Front
}

// own returns httpkit.ErrNoShop unless the shop in the path is the merchant's.
func own(c *gin.Context, shop int64) error {
	id, err := httpkit.PathVoucher(c)
	if err == nil && id != shop {
		err = httpkit.ErrNoShop
	}
	return err
}

// show answers GET /shop/:id.
func (h handlers) show(c *gin.Context, _ httpkit.Identity, id int64) (httpkit.Answer, error) {
	faces, err := h.names.Of(c.Request.Context(), []int64{id})
	if err != nil {
		return httpkit.Answer{}, err
	}
	c.Header("Cache-Control", cached)
	return httpkit.Answer{Status: http.StatusOK, Speak: func(in words.Language) any {
		return publicJSON{ID: id, Name: nameOr(faces[id].Name, id, in), Picture: faces[id].Picture}
	}}, nil
}

// list answers GET /admin/shop: the shops that have a name, a picture or bounds of their own.
func (h handlers) list(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	n, badLimit := values.Limit()
	before, badBefore := values.Before()
	if err := invalid.Join(badQuery, badLimit, badBefore); err != nil {
		return httpkit.Answer{}, err
	}
	found, err := h.shops.Page(c.Request.Context(), before, n+1)
	if err != nil {
		return httpkit.Answer{}, err
	}
	page, next := httpkit.Page(found, n, func(s Shop) string { return strconv.FormatInt(s.ID, 10) })
	views := make([]shopJSON, len(page))
	for i, s := range page {
		views[i] = h.view(s)
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: views, Next: next}}, nil
}

// one answers GET /admin/shop/:id.
func (h handlers) one(c *gin.Context, _ httpkit.Identity, id int64) (httpkit.Answer, error) {
	s, err := h.shops.Find(c.Request.Context(), id)
	return httpkit.Data(http.StatusOK, h.view(s), err)
}

// change answers PATCH /admin/shop/:id.
func (h handlers) change(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	var change Change
	fields := []jsonbody.Field{
		jsonbody.Optional(jsonbody.Text, "name", &change.Name),
		jsonbody.Optional(h.front.Picture(&change.Elsewhere), "picture", &change.Picture),
	}
	if who.Admin() {
		fields = append(fields, jsonbody.Optional(jsonbody.Integer, "maxSales", &change.MaxSales),
			jsonbody.Optional(jsonbody.Integer, "maxUnits", &change.MaxUnits))
	} else {
		fields = append(fields, jsonbody.Forbidden("maxSales", forAdmins, nil),
			jsonbody.Forbidden("maxUnits", forAdmins, nil))
	}
	fields = append(fields, jsonbody.Forbidden("id", invalid.Immutable, nil))
	if err := h.front.Bodies.Read(c, fields...); err != nil {
		return httpkit.Answer{}, err
	}
	if err := change.check(h.most); err != nil {
		return httpkit.Answer{}, err
	}
	s, err := h.shops.Change(c.Request.Context(), httpkit.Author(c, who), id, change)
	if err != nil {
		return httpkit.Answer{}, err
	}
	h.names.Forget(id)
	return httpkit.Data(http.StatusOK, h.view(s), nil)
}

// publicJSON is a shop as everybody sees it.
type publicJSON struct {
	ID      int64  `json:"id"`
	Name    string `json:"name"`              // in the caller's language, if it has none
	Picture string `json:"picture,omitempty"` // its address
}

// shopJSON is a shop as staff see it.
type shopJSON struct {
	ID         int64         `json:"id"`
	Name       string        `json:"name,omitempty"`     // absent: it has none
	Picture    string        `json:"picture,omitempty"`  // its address
	MaxSales   int64         `json:"maxSales,omitempty"` // absent: as many as limits say
	MaxUnits   int64         `json:"maxUnits,omitempty"` // absent: as many as limits say
	Limits     limitsJSON    `json:"limits"`
	UpdateTime *httpkit.Time `json:"updateTime,omitempty"` // absent: nothing was ever set
}

// limitsJSON are the bounds of the settings.
type limitsJSON struct {
	MaxSales int64 `json:"maxSales,omitempty"` // absent: any number
	MaxUnits int64 `json:"maxUnits,omitempty"` // absent: any number
}

func (h handlers) view(s Shop) shopJSON {
	return shopJSON{
		ID: s.ID, Name: s.Name, Picture: s.Picture, MaxSales: s.Bounds.Sales, MaxUnits: s.Bounds.Units,
		Limits: limitsJSON{h.most.Sales, h.most.Units}, UpdateTime: httpkit.TimeView(s.UpdatedAt),
	}
}
