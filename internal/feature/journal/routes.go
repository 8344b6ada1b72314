package journal

import (
	"context"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/kit/words"
	"seckill/internal/voucher"
)

// Service answers why a user got nothing: *Reader. Errors: voucher.ErrNotSeckill, order.ErrUnavailable.
type Service interface {
	Of(ctx context.Context, v voucher.Voucher, userID int64) (Why, error)
}

// finder returns a voucher, or voucher.ErrNotFound.
type finder func(ctx context.Context, id int64) (voucher.Voucher, error)

// Routes returns the routes of refusals.
func Routes(refusals Service, find finder, front httpkit.Front) []httpkit.Route {
	h := handlers{refusals, find, front}
	return []httpkit.Route{
		httpkit.Owning("GET /voucher/:id/mine", httpkit.ByVoucher(h.mine)),
		httpkit.Staff("GET /admin/voucher/:id/refusals", httpkit.ByVoucher(h.ofUser), httpkit.OwnVoucher(front.ShopOf),
			httpkit.Query("userId")),
	}
}

type handlers struct {
	refusals Service
	find     finder
	front    httpkit.Front
}

// mine answers GET /voucher/:id/mine. A buyer with an order, or with a refusal, sees the sale when it is unlisted, too.
func (h handlers) mine(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	v, err := h.find(c.Request.Context(), id)
	if err == nil && (v.Hidden(h.front.Now()) || !v.Admits(who.UserID) || v.Sale == nil && !v.Listed()) {
		err = voucher.ErrNotFound
	}
	if err != nil {
		return httpkit.Answer{}, err
	}
	w, err := h.refusals.Of(c.Request.Context(), v, who.UserID)
	if err == nil && !v.Listed() && w.OrderID == 0 && w.Refusal == nil {
		err = voucher.ErrNotFound
	}
	return answer(v, who.UserID, w, err)
}

// ofUser answers GET /admin/voucher/:id/refusals.
func (h handlers) ofUser(c *gin.Context, _ httpkit.Identity, id int64) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	user, badUser := values.ID("userId", voucher.MaxID)
	if badUser == nil && user == 0 {
		badUser = invalid.New("userId", invalid.Missing, invalid.Range, invalid.Data{"min": 1, "max": voucher.MaxID})
	}
	if err := invalid.Join(badQuery, badUser); err != nil {
		return httpkit.Answer{}, err
	}
	v, err := h.find(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	w, err := h.refusals.Of(c.Request.Context(), v, user)
	return answer(v, user, w, err)
}

// whyJSON is what is known of a user in a sale.
type whyJSON struct {
	VoucherID int64         `json:"voucherId"`
	UserID    int64         `json:"userId"`
	Order     *orderJSON    `json:"order,omitempty"`        // absent: they have had none
	Refusal   *refusalJSON  `json:"firstRefusal,omitempty"` // absent: none is known
	BeginTime httpkit.Time  `json:"beginTime"`
	EndTime   httpkit.Time  `json:"endTime"`
	CalledOff *httpkit.Time `json:"callOffTime,omitempty"`
	momentsJSON
}

type orderJSON struct {
	ID     string `json:"orderId"`
	Status string `json:"status"`
}

type refusalJSON struct {
	Code     string       `json:"code"`
	Text     string       `json:"text"`
	Time     httpkit.Time `json:"refuseTime"`
	WithinMS int64        `json:"withinMs"`
}

// momentsJSON is what instances noted of a sale.
type momentsJSON struct {
	FirstSoldOut *httpkit.Time `json:"firstSoldOutTime,omitempty"` // absent: it was not, as far as is known
	SoldOut      []spanJSON    `json:"soldOut"`
	MoreSoldOut  int64         `json:"moreSoldOut,omitempty"`
	Ran          int           `json:"instances"`
	Wrote        int           `json:"instancesDone"`
	Users        int64         `json:"users"`
	Unwritten    int64         `json:"unwritten,omitempty"`
	Missed       int64         `json:"missed,omitempty"`
}

type spanJSON struct {
	From httpkit.Time `json:"from"`
	To   httpkit.Time `json:"to"`
}

func momentsView(m Moments) momentsJSON {
	v := momentsJSON{
		FirstSoldOut: httpkit.TimeView(m.FirstSoldOut), SoldOut: make([]spanJSON, len(m.SoldOut)), MoreSoldOut: m.More,
		Ran: m.Ran, Wrote: m.Wrote, Users: m.Users, Unwritten: m.Unwritten, Missed: m.Missed,
	}
	for i, s := range m.SoldOut {
		v.SoldOut[i] = spanJSON{httpkit.ShownTime(s.From), httpkit.ShownTime(s.To)}
	}
	return v
}

// answer shows what is known of a user in a voucher's sale.
func answer(v voucher.Voucher, userID int64, w Why, err error) (httpkit.Answer, error) {
	if err != nil {
		return httpkit.Answer{}, err
	}
	shown := whyJSON{
		VoucherID: v.ID, UserID: userID, BeginTime: httpkit.ShownTime(v.Sale.Begin),
		EndTime: httpkit.ShownTime(v.Sale.End), CalledOff: httpkit.TimeView(v.Sale.CalledOff),
		momentsJSON: momentsView(w.Moments),
	}
	if w.OrderID != 0 {
		shown.Order = &orderJSON{strconv.FormatInt(w.OrderID, 10), w.Status.String()}
	}
	return httpkit.Answer{Status: http.StatusOK, Speak: func(in words.Language) any {
		if r := w.Refusal; r != nil {
			shown.Refusal = &refusalJSON{r.Code, textOf(r.Code)[in], httpkit.ShownTime(r.At), r.Within.Milliseconds()}
		}
		return shown
	}}, nil
}

// figuresJSON is the member "journal" of a report.
type figuresJSON struct {
	momentsJSON
	Tenths []tenthJSON `json:"tenths"`
}

type tenthJSON struct {
	At    httpkit.Time `json:"at"`
	Users int64        `json:"users"`
}

// member returns the member of a report.
func (r *Reader) member(ctx context.Context, v voucher.Voucher) (any, error) {
	if v.Sale == nil {
		return nil, nil //nolint:nilnil // an ordinary voucher has none
	}
	f, err := r.Figures(ctx, v.ID)
	if err != nil || f == nil {
		return nil, err
	}
	shown := figuresJSON{momentsView(f.Moments), make([]tenthJSON, len(f.Tenths))}
	for i, t := range f.Tenths {
		shown.Tenths[i] = tenthJSON{httpkit.ShownTime(t.At), t.Users}
	}
	return shown, nil
}
