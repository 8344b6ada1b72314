package checklist

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/check"
	"seckill/internal/kit/invalid"
	"seckill/internal/kit/words"
	"seckill/internal/voucher"
)

// Routes returns the route of the checklist. facts collects the facts about a voucher's sale, or with 0, those about no
// sale. It takes seconds at most, even while stores hang. Errors: voucher.ErrNotFound, voucher.ErrNotSeckill.
func Routes(facts func(ctx context.Context, voucherID int64) (Facts, error), front httpkit.Front) []httpkit.Route {
	h := handlers{facts, front}
	return []httpkit.Route{httpkit.Staff("GET /admin/check", h.check, h.own, httpkit.Query("voucherId"))}
}

type handlers struct {
	facts func(ctx context.Context, voucherID int64) (Facts, error)
	front httpkit.Front
}

// checkJSON is the body of the checklist before a sale.
type checkJSON struct {
	At    httpkit.Time        `json:"at"`
	Go    bool                `json:"go"`
	Lines []httpkit.CheckLine `json:"lines"`
}

// check answers GET /admin/check: the checklist before a sale, in the caller's language. A line of it reports a store
// that hangs or is down.
func (h handlers) check(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	voucherID, badVoucher := values.ID("voucherId", voucher.MaxID)
	if err := invalid.Join(badQuery, badVoucher); err != nil {
		return httpkit.Answer{}, err
	}
	facts, err := h.facts(c.Request.Context(), voucherID)
	if err != nil {
		return httpkit.Answer{}, err
	}
	now := h.front.Now()
	lines := List(facts, now)
	return httpkit.Answer{Status: http.StatusOK, Speak: func(in words.Language) any {
		return checkJSON{At: httpkit.ShownTime(now), Go: check.Go(lines), Lines: httpkit.CheckLines(lines, in)}
	}}, nil
}

// own returns voucher.ErrNotFound unless the checklist's voucher belongs to the shop. Without a voucher it
// refuses, because that checklist is about the whole installation.
func (h handlers) own(c *gin.Context, shop int64) error {
	values, badQuery := param.ParseQuery(c.Request)
	id, bad := values.ID("voucherId", voucher.MaxID)
	if err := invalid.Join(badQuery, bad); err != nil {
		return err
	}
	return httpkit.Owns(c.Request.Context(), h.front.ShopOf, shop, id)
}
