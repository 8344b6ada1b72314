package shop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/httpapi/prepared"
	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
	"seckill/internal/voucher/listing"
)

// Listings shows vouchers to everybody, from memory: *listing.Listings.
type Listings interface {
	// Voucher returns one voucher. Errors: voucher.ErrNotFound, listing.ErrUnavailable.
	Voucher(ctx context.Context, id int64) (listing.Snapshot, error)
	// List returns a part of a shop's list that contains the newest vouchers with an id below before; it may begin with
	// newer ones. Error: listing.ErrUnavailable.
	List(ctx context.Context, shopID, before int64) (listing.Snapshot, error)
}

// maxPages is how many rendered pages of one content are cached. Others are rendered for each answer, uncompressed.
const maxPages = 8

// showVoucher answers GET /voucher/:id. Only staff see a voucher that is off the shelf, archived or still hidden. Only
// staff and the users who may buy in a rehearsal see its voucher.
func (a *API) showVoucher(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	s, err := a.cfg.Listings.Voucher(c.Request.Context(), id)
	if errors.Is(err, voucher.ErrNotFound) && httpkit.ForMerchants.Admits(who) {
		return a.showHidden(c.Request.Context(), who, id)
	}
	if err != nil {
		return httpkit.Answer{}, err
	}
	if !shows(s.Vouchers[0].Voucher, who) {
		return httpkit.Answer{}, voucher.ErrNotFound
	}
	r, err := a.renderingOf(s.Content)
	if err != nil {
		return httpkit.Answer{}, err
	}
	tail := appendTime(make([]byte, 0, 128), `,"serverTime":"`, s.Now)
	tail = append(tail, '}') // of data
	return a.shown.Answer(&prepared.Shown{Body: r.voucher(), Snapshot: s, Tail: appendStale(tail, s)}), nil
}

// shows reports whether the voucher exists for the caller.
func shows(v voucher.Voucher, who httpkit.Identity) bool {
	return who.Admin() || who.Only() == v.ShopID ||
		v.Listed() && v.Admits(who.UserID)
}

// showHidden shows staff a voucher that is not public, read from the ledger.
func (a *API) showHidden(ctx context.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	found, err := a.cfg.Vouchers.All(ctx, voucher.Search{Archived: voucher.WithArchived, Before: id + 1, Limit: 1})
	if err != nil {
		return httpkit.Answer{}, err
	}
	if len(found.Vouchers) == 0 || found.Vouchers[0].ID != id {
		return httpkit.Answer{}, voucher.ErrNotFound
	}
	if _, err := who.Within(found.Vouchers[0].ShopID); err != nil {
		return httpkit.Answer{}, voucher.ErrNotFound
	}
	view := struct {
		voucherJSON

		ServerTime *httpkit.Time `json:"serverTime"`
	}{voucherView(found.Vouchers[0], a.cfg.Currency), httpkit.TimeView(found.Now)}
	if live := found.Vouchers[0].Live; live != nil {
		view.Stale = live.Stale
	}
	return httpkit.Data(http.StatusOK, view, nil)
}

// archivedIn returns the query's filter by archived; by default it selects vouchers that are not archived.
func archivedIn(values param.Query) (voucher.ArchiveFilter, *invalid.Problem) {
	text, given, bad := values.Text("archived")
	switch filter := voucher.ArchiveFilter(text); {
	case !given || text == "false":
		return voucher.NoArchived, bad
	case filter == voucher.WithArchived || filter == voucher.OnlyArchived:
		return filter, nil
	default:
		return "", invalid.New("archived", invalid.Malformed, invalid.OneOf,
			invalid.Data{"value": invalid.Clip(text), "values": []string{"false", "true", "only"}})
	}
}

// listVouchers answers GET /voucher/list/:shopId. Without limit and before it returns the newest PartSize vouchers,
// else a page.
func (a *API) listVouchers(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	shopID, badID := param.ID("shopId", c.Param("shopId"), voucher.MaxID)
	values, badQuery := param.ParseQuery(c.Request)
	limit, badLimit := values.Limit()
	before, badBefore := values.Before()
	if err := invalid.Join(badID, badQuery, badLimit, badBefore); err != nil {
		return httpkit.Answer{}, err
	}
	paged := values["limit"] != nil || values["before"] != nil
	if !paged {
		limit = math.MaxInt
	}
	s, err := a.cfg.Listings.List(c.Request.Context(), shopID, before)
	if err != nil {
		return httpkit.Answer{}, err
	}
	r, err := a.renderingOf(s.Content)
	if err != nil {
		return httpkit.Answer{}, err
	}
	from, _ := slices.BinarySearchFunc(s.Vouchers, before, func(v voucher.Shown, id int64) int {
		if v.ID >= id { // newest first
			return -1
		}
		return 1
	})
	to := from + min(limit, len(s.Vouchers)-from)
	tail := appendStale(make([]byte, 0, 128), s)
	tail = appendTime(tail[:len(tail)-1], `,"serverTime":"`, s.Now)
	page := r.list(pageKey{from, to, paged})
	return a.shown.Answer(&prepared.Shown{Body: page, Snapshot: s, Tail: append(tail, '}')}), nil
}

// appendTime appends a JSON member whose value is a time. name is everything before the time, the opening quote
// included.
func appendTime(b []byte, name string, t time.Time) []byte {
	return append(append(append(b, name...), httpkit.ShownTime(t).String()...), '"')
}

// appendStale appends the end of an answer that may be outdated: if it is, with the age of its numbers.
func appendStale(b []byte, s listing.Snapshot) []byte {
	if s.Stale {
		b = append(b, `,"stale":true,"numbersAgeSeconds":`...)
		b = strconv.AppendInt(b, int64(s.NumbersAge/time.Second), 10)
	}
	return append(b, '}')
}

// rendering is a content's vouchers as JSON, from which pages are assembled.
type rendering struct {
	content  *listing.Content
	vouchers []byte // one after the other, separated by commas
	ends     []int  // where each voucher ends in vouchers
	err      error

	mu    sync.Mutex
	pages map[pageKey]*prepared.Body
}

// pageKey is a range of a content's vouchers. If paged, the answer names the following page, if there is one.
type pageKey struct {
	from, to int
	paged    bool
}

// renderingOf returns a content's rendering, made on first use.
func (a *API) renderingOf(content *listing.Content) (*rendering, error) {
	r, _ := content.Rendered(func(c *listing.Content) any { return renderContent(c, a.cfg.Currency) }).(*rendering)
	return r, r.err
}

func renderContent(content *listing.Content, currency string) any {
	r := &rendering{content: content, ends: make([]int, len(content.Vouchers)), pages: make(map[pageKey]*prepared.Body)}
	for i, v := range content.Vouchers {
		one, err := json.Marshal(voucherView(v, currency))
		if err != nil {
			r.err = fmt.Errorf("rendering voucher %d: %w", v.ID, err)
			return r
		}
		if i > 0 {
			r.vouchers = append(r.vouchers, ',')
		}
		r.vouchers = append(r.vouchers, one...)
		r.ends[i] = len(r.vouchers)
	}
	return r
}

// voucher returns the answer about the one voucher, up to its server time, which is inside data.
func (r *rendering) voucher() *prepared.Body {
	return r.page(pageKey{to: 1}, func() []byte {
		body := append(make([]byte, 0, len(r.vouchers)+32), `{"success":true,"data":`...)
		return append(body, r.vouchers[:len(r.vouchers)-1]...) // without the closing brace
	})
}

// list returns the answer with a page, up to its server time.
func (r *rendering) list(k pageKey) *prepared.Body {
	return r.page(k, func() []byte {
		begin, end := 0, 0
		if k.from > 0 && k.from < k.to {
			begin = r.ends[k.from-1] + 1 // behind the comma
		}
		if k.from < k.to {
			end = r.ends[k.to-1]
		}
		body := append(make([]byte, 0, end-begin+96), `{"success":true,"data":[`...)
		body = append(body, r.vouchers[begin:end]...)
		body = append(body, `],"total":`...)
		body = strconv.AppendInt(body, r.content.Total, 10)
		if k.paged && k.to > k.from && (k.to < len(r.ends) || r.content.More) {
			body = append(body, `,"next":"`...)
			body = strconv.AppendInt(body, r.content.Vouchers[k.to-1].ID, 10)
			body = append(body, '"')
		}
		return body
	})
}

// page returns a page, and caches it if there is room. There is always room for the most frequent page, the whole list.
func (r *rendering) page(k pageKey, body func() []byte) *prepared.Body {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pages[k]
	if p == nil {
		kept := len(r.pages) < maxPages || !k.paged
		p = prepared.New(body(), kept)
		if kept {
			r.pages[k] = p
		}
	}
	return p
}

// voucherJSON is a voucher as it is shown.
type voucherJSON struct {
	ID          int64  `json:"id"`
	ShopID      int64  `json:"shopId"`
	ShopName    string `json:"shopName,omitempty"` // in lists for staff; absent: it has none
	Title       string `json:"title"`
	SubTitle    string `json:"subTitle"`
	Rules       string `json:"rules"`
	Picture     string `json:"picture,omitempty"` // its address
	PayValue    int64  `json:"payValue"`          // in the currency's least unit
	ActualValue int64  `json:"actualValue"`       // in the currency's least unit
	Currency    string `json:"currency"`
	PayWithin   int64  `json:"payWithinSeconds"`
	// ProcessingWithin is by how much money that is under way moves the payment deadline; absent: by PayWithin.
	ProcessingWithin int64         `json:"processingWithinSeconds,omitempty"`
	Redeemable       bool          `json:"redeemable,omitempty"`  // its orders have codes
	ValidUntil       *httpkit.Time `json:"validUntil,omitempty"`  // until when its coupons are valid
	ValidDays        int64         `json:"validDays,omitempty"`   // days after the payment for which a coupon is valid
	VisibleFrom      *httpkit.Time `json:"visibleFrom,omitempty"` // before then, only admins see it
	Archived         *httpkit.Time `json:"archiveTime,omitempty"` // when it was archived; for staff only
	// PerUser is how many units a user may have; absent: one in a sale, any number of an ordinary voucher.
	PerUser    int64          `json:"perUser,omitempty"`
	Type       voucher.Kind   `json:"type"`
	Status     voucher.Status `json:"status"`
	*saleJSON                 // seckill vouchers only
	CreateTime *httpkit.Time  `json:"createTime,omitempty"`
	UpdateTime *httpkit.Time  `json:"updateTime,omitempty"`
}

// saleJSON has the members of a seckill voucher only.
type saleJSON struct {
	Stock     int64             `json:"stock"`  // left to sell
	Issued    int64             `json:"issued"` // units issued in all
	BeginTime httpkit.Time      `json:"beginTime"`
	EndTime   httpkit.Time      `json:"endTime"` // exclusive
	SaleState voucher.SaleState `json:"saleState"`
	CalledOff *httpkit.Time     `json:"callOffTime,omitempty"` // when it was called off
	// InviteWindow is how long an invitation of the sale's waiting list stands; absent: it has no waiting list.
	InviteWindow int64 `json:"waitlistWindowSeconds,omitempty"`
	// Partition is where its orders wait, for admins; absent: 0.
	Partition int `json:"partition,omitempty"`
	// Stale, for admins: stock and state are outdated, because a partition of Redis does not answer.
	Stale bool `json:"stale,omitempty"`
	// TicketsFrom is when the sale begins to give out tickets; absent: it needs none.
	TicketsFrom *httpkit.Time `json:"ticketsFrom,omitempty"`
	// Drawn: the moments of its tickets are drawn so that anybody can check it.
	Drawn  bool             `json:"drawn,omitempty"`
	Guards *guards.Settings `json:"guards,omitempty"` // for admins only: bots need not know what stops them
}

// adminView is a voucher as admins see it.
func (a *API) adminView(v voucher.Shown) voucherJSON {
	view := voucherView(v, a.cfg.Currency)
	if v.Sale != nil {
		view.Guards, view.Stale = v.Sale.Guards, v.Live != nil && v.Live.Stale
		view.Partition = v.Sale.Partition
	}
	return view
}

func voucherView(v voucher.Shown, currency string) voucherJSON {
	view := voucherJSON{
		ID: v.ID, ShopID: v.ShopID, Title: v.Title, SubTitle: v.SubTitle, Rules: v.Rules,
		Picture: v.Picture, PayValue: v.PayValue, ActualValue: v.ActualValue, Currency: currency,
		PayWithin: int64(v.PayWithin / time.Second), Type: v.Kind, Status: v.Status,
		CreateTime: httpkit.TimeView(v.CreatedAt), UpdateTime: httpkit.TimeView(v.UpdatedAt),
		Redeemable: v.Redemption.ByCode, ValidUntil: httpkit.TimeView(v.Redemption.ValidUntil),
		ValidDays: v.Redemption.ValidDays, VisibleFrom: httpkit.TimeView(v.VisibleFrom),
		PerUser: v.PerUser, Archived: httpkit.TimeView(v.Archived),
		ProcessingWithin: int64(v.ProcessingWithin / time.Second),
	}
	if v.Sale == nil {
		return view
	}
	view.saleJSON = &saleJSON{
		Stock: v.Sale.Stock, Issued: v.Sale.Issued,
		BeginTime: httpkit.ShownTime(v.Sale.Begin), EndTime: httpkit.ShownTime(v.Sale.End),
		SaleState: voucher.StatePreparing, CalledOff: httpkit.TimeView(v.Sale.CalledOff),
		InviteWindow: int64(v.Sale.InviteWindow / time.Second),
	}
	// A dry run must not make a buyer's page wait for tickets.
	if v.Sale.Guards.State(guards.TicketsGuard) == guards.On {
		view.TicketsFrom = httpkit.TimeView(v.Sale.Guards.Tickets.From(v.Sale.Begin))
		view.Drawn = v.Sale.Guards.Drawn() != nil
	}
	if v.Live != nil {
		view.Stock, view.SaleState = v.Live.Stock, v.Live.State
	}
	return view
}
