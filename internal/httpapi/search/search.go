// Package search answers the console's one search field: what a number, a text or the code of a coupon may be. It keeps
// nothing. It asks the ledger, and fails with it; titles and names of shops come from memory as a rule.
package search

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

const (
	mostHits   = 5   // how many hits a search shows of each By
	mostTitles = 400 // how many titles it compares, the newest
)

// Config says where a search looks. Each function may return order.ErrUnavailable.
type Config struct {
	// FindVoucher returns a voucher, usually from memory. Error: voucher.ErrNotFound.
	FindVoucher func(ctx context.Context, id int64) (voucher.Voucher, error)
	// Vouchers returns vouchers with a part of a title, newest first.
	Vouchers func(ctx context.Context, q voucher.Search) (voucher.Found, error)
	// Orders returns recorded orders that the filter selects and whose ids are lower than before, newest first, at most
	// limit.
	Orders func(ctx context.Context, f order.Filter, before int64, limit int) ([]order.Order, error)
	// Payments returns payments that the filter selects, newest first, at most limit. It begins after the payment with
	// the number before.
	Payments func(ctx context.Context, f payment.Filter, before int64, limit int) ([]payment.Payment, error)
	// Members find shops by name and orders by coupon code.
	Members httpkit.Members
}

// Routes returns the route of the search.
func Routes(cfg Config) []httpkit.Route {
	return []httpkit.Route{
		httpkit.Staff("GET /admin/search", cfg.search, httpkit.ByHandler, httpkit.Query("q")),
	}
}

// By says what of a hit is the text that was searched for.
type By string

// The values of By.
const (
	ByID      By = "id"      // its number
	ByTitle   By = "title"   // a part of its title
	ByUser    By = "user"    // the number of its buyer
	ByPayment By = "payment" // a payment's id, or the provider's reference of it
	ByCode    By = "code"    // the code of its coupon
	ByName    By = "name"    // a part of its name
)

// hitJSON is a voucher, an order, a payment or a shop that a search has found.
type hitJSON struct {
	Kind      string `json:"kind"` // voucher, order, payment or shop
	ID        string `json:"id"`
	By        By     `json:"by"`
	VoucherID int64  `json:"voucherId,omitempty"` // absent: a shop
	Title     string `json:"title,omitempty"`     // of the voucher; absent if it cannot be read now
	ShopID    int64  `json:"shopId,omitempty"`    // the voucher's
	ShopName  string `json:"shopName,omitempty"`
	UserID    int64  `json:"userId,omitempty"` // the buyer
	Status    string `json:"status,omitempty"` // of an order, or the state of a payment
}

// foundJSON is the answer to a search.
type foundJSON struct {
	Hits []hitJSON `json:"hits"`
	More []By      `json:"more"` // there may be more hits by these
}

// search answers GET /admin/search: what a number, a text or the code of a coupon may be. A merchant finds only what is
// their own shop's. Indexes find each hit but those by title and name, for which a bounded number of texts is compared.
func (cfg Config) search(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	code, badCode := param.CouponCode(c.Request.Header)
	text, badText := searchText(values, code)
	if err := invalid.Join(badQuery, badCode, badText); err != nil {
		return httpkit.Answer{}, err
	}
	shop, err := who.Within(0)
	if err != nil {
		return httpkit.Answer{}, err
	}
	s := searching{Config: cfg, shop: shop, found: foundJSON{Hits: []hitJSON{}, More: []By{}}}
	if err := s.all(c.Request.Context(), text, code); err != nil {
		return httpkit.Answer{}, err
	}
	names := httpkit.ShopNames(c.Request.Context(), cfg.Members, s.found.Hits,
		func(hit hitJSON) int64 { return hit.ShopID })
	for i, hit := range s.found.Hits {
		s.found.Hits[i].ShopName = names[hit.ShopID]
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: s.found}}, nil
}

// searchText returns what the query searches for, or else the code, as typed, without the blanks around it and the # of
// a number.
func searchText(values param.Query, code string) (string, *invalid.Problem) {
	field := "q"
	text, given, bad := values.Text(field)
	if !given && code != "" {
		field, text = "code", code
	}
	text = strings.TrimSpace(text)
	if n := utf8.RuneCountInString(text); n < 1 || n > payment.MaxReference || !utf8.ValidString(text) {
		return "", invalid.New(field, invalid.Characters, invalid.Length,
			invalid.Data{"length": n, "min": 1, "max": payment.MaxReference})
	}
	if number, is := strings.CutPrefix(text, "#"); is && numberIn(number) > 0 {
		return number, bad
	}
	return text, bad
}

// numberIn returns the number that a text is; 0 for any other text.
func numberIn(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || text[0] == '+' {
		return 0
	}
	return n
}

// searching is one search.
type searching struct {
	Config

	shop  int64 // 0: any
	found foundJSON
}

func (s *searching) all(ctx context.Context, text, code string) error {
	if code != "" {
		if err := s.byCode(ctx, code); err != nil {
			return err
		}
	}
	for _, by := range []func(context.Context, string) error{s.byNumber, s.byPayment, s.shops, s.byTitle} {
		if err := by(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// shops adds the shop with the number that the text is, and those that have it in their names.
func (s *searching) shops(ctx context.Context, text string) error {
	q := voucher.ShopSearch{Part: text, Only: s.shop, Limit: mostHits}
	if n := numberIn(text); n <= voucher.MaxID {
		q.Number = n
	}
	found, more, err := s.Members.Of("shop").SearchShops(ctx, q)
	if err != nil {
		return err
	}
	for _, shop := range found {
		hit := hitJSON{Kind: "shop", ID: strconv.FormatInt(shop.ID, 10), By: ByID, ShopID: shop.ID}
		if shop.ByName {
			hit.By = ByName
		}
		s.add(hit)
	}
	if more {
		s.found.More = append(s.found.More, ByName)
	}
	return nil
}

// byCode adds the order of a coupon's code; a text that is no code has none.
func (s *searching) byCode(ctx context.Context, code string) error {
	id, err := s.Members.Of("coupon").Find(ctx, code)
	if _, malformed := errors.AsType[*invalid.Error](err); malformed || err == nil && id == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return s.orders(ctx, ByCode, order.Filter{OrderID: id})
}

func (s *searching) byNumber(ctx context.Context, text string) error {
	n := numberIn(text)
	if n == 0 {
		return nil
	}
	if n <= voucher.MaxID {
		v, err := s.FindVoucher(ctx, n)
		switch {
		case err == nil && (s.shop == 0 || v.ShopID == s.shop):
			s.add(voucherHit(v, ByID))
		case err != nil && !errors.Is(err, voucher.ErrNotFound):
			return err
		}
		if err := s.orders(ctx, ByUser, order.Filter{UserID: n}); err != nil {
			return err
		}
	}
	return s.orders(ctx, ByID, order.Filter{OrderID: n})
}

func (s *searching) byPayment(ctx context.Context, name string) error {
	if payment.CheckReference(name) != nil {
		return nil //nolint:nilerr // no payment has such a name
	}
	f := payment.Filter{Name: name, ShopID: s.shop}
	found, err := s.Payments(ctx, f, math.MaxInt64, mostHits+1)
	if err != nil {
		return err
	}
	for _, p := range found[:s.shown(ByPayment, len(found))] {
		hit := s.of(ctx, p.VoucherID)
		hit.Kind, hit.ID, hit.By, hit.UserID, hit.Status = "payment", p.ID, ByPayment, p.UserID, p.State.String()
		s.add(hit)
	}
	return nil
}

func (s *searching) byTitle(ctx context.Context, part string) error {
	if utf8.RuneCountInString(part) > voucher.MaxTitle {
		return nil
	}
	found, err := s.Vouchers(ctx, voucher.Search{
		ShopID: s.shop, Title: part, Archived: voucher.WithArchived, Before: math.MaxInt64, Limit: mostHits,
		Compared: mostTitles,
	})
	if err != nil {
		return err
	}
	for _, v := range found.Vouchers {
		s.add(voucherHit(v.Voucher, ByTitle))
	}
	if found.Next > 0 {
		s.found.More = append(s.found.More, ByTitle)
	}
	return nil
}

// orders adds the newest orders that the filter selects.
func (s *searching) orders(ctx context.Context, by By, f order.Filter) error {
	f.ShopID = s.shop
	found, err := s.Orders(ctx, f, math.MaxInt64, mostHits+1)
	if err != nil {
		return err
	}
	for _, o := range found[:s.shown(by, len(found))] {
		hit := s.of(ctx, o.VoucherID)
		hit.Kind, hit.ID, hit.By = "order", strconv.FormatInt(o.ID, 10), by
		hit.UserID, hit.Status = o.UserID, o.Status.String()
		s.add(hit)
	}
	return nil
}

// shown returns how many of n hits are shown, and notes whether there are more.
func (s *searching) shown(by By, n int) int {
	if n > mostHits {
		s.found.More = append(s.found.More, by)
	}
	return min(n, mostHits)
}

// of returns a hit that has only its voucher.
func (s *searching) of(ctx context.Context, voucherID int64) hitJSON {
	hit := hitJSON{VoucherID: voucherID}
	if v, err := s.FindVoucher(ctx, voucherID); err == nil {
		hit.Title, hit.ShopID = v.Title, v.ShopID
	}
	return hit
}

func voucherHit(v voucher.Voucher, by By) hitJSON {
	return hitJSON{
		Kind: "voucher", ID: strconv.FormatInt(v.ID, 10), By: by, VoucherID: v.ID, Title: v.Title, ShopID: v.ShopID,
	}
}

func (s *searching) add(hit hitJSON) { s.found.Hits = append(s.found.Hits, hit) }
