package shop

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/kit/preflight"
	"seckill/internal/kit/words"
	"seckill/internal/voucher"
)

// checkJSON is the body of the checklist before a sale.
type checkJSON struct {
	At    httpkit.Time        `json:"at"`
	Go    bool                `json:"go"`
	Lines []httpkit.CheckLine `json:"lines"`
}

// check answers GET /admin/check: the checklist before a sale, in the caller's language. A line of it reports a store
// that hangs or is down.
func (a *API) check(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	voucherID, badVoucher := values.ID("voucherId", voucher.MaxID)
	if err := invalid.Join(badQuery, badVoucher); err != nil {
		return httpkit.Answer{}, err
	}
	facts, err := a.cfg.Check(c.Request.Context(), voucherID)
	if err != nil {
		return httpkit.Answer{}, err
	}
	now := a.cfg.Now()
	lines := preflight.List(facts, now)
	return httpkit.Answer{Status: http.StatusOK, Speak: func(in words.Language) any {
		return checkJSON{At: httpkit.ShownTime(now), Go: preflight.Go(lines), Lines: httpkit.CheckLines(lines, in)}
	}}, nil
}

// ownCheck returns voucher.ErrNotFound unless the checklist's voucher belongs to the shop. Without a voucher it
// refuses, because that checklist is about the whole installation.
func (a *API) ownCheck(c *gin.Context, shop int64) error {
	values, badQuery := param.ParseQuery(c.Request)
	id, bad := values.ID("voucherId", voucher.MaxID)
	if err := invalid.Join(badQuery, bad); err != nil {
		return err
	}
	return httpkit.Owns(c.Request.Context(), a.cfg.ShopOf, shop, id)
}
