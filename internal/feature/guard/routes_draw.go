package guard

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/feature/guard/draw"
	"seckill/internal/feature/guard/store"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

const (
	maxEntrants     = 1000 // on a page
	defaultEntrants = 100
	maxBeacon       = 256 // characters
	// drawnFor has browsers and proxies keep a page of a sale that is over: orders may still be recorded.
	drawnFor = "public, max-age=60"
)

// badHash and badBeacon are what is wrong with a cursor and a beacon.
var (
	badHash   = invalid.NewReason("NO_HASH", "is not a hash", "不是哈希值")
	hashText  = invalid.NewAllowed("HASH", "64 hexadecimal digits, as in an answer's next", "64 位十六进制字符，取自返回的 next")
	badBeacon = invalid.NewReason("NO_BEACON_TEXT", "is not a beacon", "不是有效的信标值")
	beacons   = invalid.NewAllowed("BEACON_TEXT", "1 to {max} visible ASCII characters", "1 到 {max} 个可见 ASCII 字符")
)

// DrawRecords reads draws, and enters their beacons: *store.Ledger. Every method may return order.ErrUnavailable.
type DrawRecords interface {
	// Draws returns all draws that a sale has had, the first one first.
	Draws(ctx context.Context, voucherID int64) ([]store.DrawRow, error)
	// Entrants returns entries with a hash above after, in the order of their hashes, at most n.
	Entrants(ctx context.Context, voucherID, number int64, after []byte, n int) ([]store.Entrant, error)
	// Others counts the orders of users without an entry, and returns when the first of them was recorded.
	Others(ctx context.Context, voucherID, number int64) (n int64, first time.Time, err error)
	// EnterBeacon enters a beacon, once. Errors: store.ErrNoDraw, store.ErrNoBeacon, store.ErrBeaconEarly,
	// store.ErrBeaconLate, store.ErrBeaconEntered, order.ErrUnknownChange.
	EnterBeacon(ctx context.Context, by voucher.Author, voucherID int64, beacon string) error
}

// DrawDoors are what the routes of draws need of the shop.
type DrawDoors struct {
	// Find and Now are those of feature.Sales.
	Find func(ctx context.Context, id int64) (voucher.Voucher, error)
	Now  func(voucherID int64) time.Time
	// Alone is feature.Core.Alone.
	Alone func(ctx context.Context) error
	// Change is that of voucher.Service.
	Change func(
		ctx context.Context, by voucher.Author, id int64, c voucher.Change,
	) (v voucher.Shown, applied bool, err error)
}

// DrawRoutes returns the routes of draws.
func DrawRoutes(records DrawRecords, doors DrawDoors, front httpkit.Front) []httpkit.Route {
	h := drawHandlers{records, doors, front, newOthers(records.Others)}
	own := httpkit.OwnVoucher(front.ShopOf)
	return []httpkit.Route{
		httpkit.Public("GET /voucher/:id/draw", httpkit.ByVoucher(h.show), httpkit.Query("limit", "after"),
			httpkit.Recognizes),
		httpkit.Staff("PUT /admin/voucher/:id/draw", httpkit.ByVoucher(h.announce), own, httpkit.Body),
		httpkit.Staff("PUT /admin/voucher/:id/draw/beacon", httpkit.ByVoucher(h.beacon), own, httpkit.Body),
	}
}

type drawHandlers struct {
	records DrawRecords
	doors   DrawDoors
	front   httpkit.Front
	others  *others
}

// show answers GET /voucher/:id/draw. Staff see that of a hidden voucher.
func (h drawHandlers) show(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	n, badLimit := values.Number("limit", 1, maxEntrants)
	if values["limit"] == nil {
		n = defaultEntrants
	}
	after, badAfter := cursor(values)
	if err := invalid.Join(badQuery, badLimit, badAfter); err != nil {
		return httpkit.Answer{}, err
	}
	v, err := h.doors.Find(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	hidden, staff := v.Hidden(h.doors.Now(id)), who.Admin() || who.Only() == v.ShopID
	if hidden && !staff {
		return httpkit.Answer{}, voucher.ErrNotFound
	}
	l, err := h.list(c.Request.Context(), v)
	if errors.Is(err, store.ErrNoDraw) && !staff && !v.ShownTo(who.UserID, h.doors.Now(id)) {
		err = voucher.ErrNotFound // a draw that there was stays public when its sale leaves the shelf
	}
	if err != nil || l.State != draw.Over {
		return httpkit.Data(http.StatusOK, l, err)
	}
	found, err := h.records.Entrants(c.Request.Context(), id, l.Number, after, int(n)+1)
	if err != nil {
		return httpkit.Answer{}, err
	}
	page, next := httpkit.Page(found, int(n), func(e store.Entrant) string { return e.Hash.String() })
	l.Entrants = entrants(page, momentsOf(&l))
	if !hidden { // what staff alone see is for no shared cache
		c.Header("Cache-Control", drawnFor)
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: l, Next: next}}, nil
}

// cursor returns the hash behind which a page begins; before all if there is none.
func cursor(values param.Query) ([]byte, *invalid.Problem) {
	text, given, bad := values.Text("after")
	hash, err := hex.DecodeString(text)
	if bad == nil && given && (err != nil || len(hash) != draw.Bytes) {
		bad = invalid.New("after", badHash, hashText, nil)
	}
	if hash == nil {
		hash = []byte{}
	}
	return hash, bad
}

// list returns the sale's draw without its entries.
func (h drawHandlers) list(ctx context.Context, v voucher.Voucher) (draw.List, error) {
	rows, err := h.records.Draws(ctx, v.ID)
	if err == nil && (len(rows) == 0 || v.Sale == nil) {
		err = store.ErrNoDraw
	}
	if err != nil {
		return draw.List{}, err
	}
	last := &rows[len(rows)-1]
	l := shownDraw(last, v.Sale.Retired || v.Sale.Ended(h.doors.Now(v.ID)))
	for i := range rows[:len(rows)-1] {
		l.Earlier = append(l.Earlier, commitment(&rows[i]))
	}
	if l.State != draw.Over {
		return l, nil
	}
	n, first, err := h.others.of(ctx, v.ID, last.Number)
	l.Key, l.OtherOrders, l.FirstOther = hex.EncodeToString(last.Key), &n, httpkit.TimeView(first)
	return l, err
}

// announce answers PUT /admin/voucher/:id/draw.
func (h drawHandlers) announce(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	var d guards.Draw
	var closes time.Time
	if err := h.front.Bodies.Read(c,
		jsonbody.Required(jsonbody.Time("closeTime", &closes, h.front.Zone)),
		jsonbody.Text("source", &d.Source), jsonbody.Text("round", &d.Round)); err != nil {
		return httpkit.Answer{}, err
	}
	d.CloseTime = httpkit.ShownTime(closes)
	if err := h.doors.Alone(c.Request.Context()); err != nil { // version 1.0 would sell by other moments
		return httpkit.Answer{}, err
	}
	v, _, err := h.doors.Change(c.Request.Context(), httpkit.Author(c, who), id,
		voucher.Change{Guards: &guards.Change{Draw: guards.Edit[guards.Draw]{Given: true, To: &d}}})
	if err != nil {
		return httpkit.Answer{}, err
	}
	l, err := h.list(c.Request.Context(), v.Voucher)
	return httpkit.Data(http.StatusOK, l, err)
}

// beacon answers PUT /admin/voucher/:id/draw/beacon.
func (h drawHandlers) beacon(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	var beacon string
	if err := h.front.Bodies.Read(c, jsonbody.Required(jsonbody.Text("beacon", &beacon))); err != nil {
		return httpkit.Answer{}, err
	}
	if !isBeacon(beacon) {
		return httpkit.Answer{}, invalid.Join(invalid.New("beacon", badBeacon, beacons, invalid.Data{"max": maxBeacon}))
	}
	if err := h.records.EnterBeacon(c.Request.Context(), httpkit.Author(c, who), id, beacon); err != nil {
		return httpkit.Answer{}, err
	}
	v, err := h.doors.Find(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	l, err := h.list(c.Request.Context(), v)
	return httpkit.Data(http.StatusOK, l, err)
}

// isBeacon reports whether a text can be a beacon: it is hashed as it stands, so nothing invisible may be in it.
func isBeacon(text string) bool {
	for _, b := range []byte(text) {
		if b <= ' ' || b > '~' {
			return false
		}
	}
	return text != "" && len(text) <= maxBeacon
}

func commitment(d *store.DrawRow) draw.Commitment {
	return draw.Commitment{
		Number: d.Number, KeyHash: hex.EncodeToString(d.KeyHash), BeginTime: httpkit.ShownTime(d.Begin),
		DelayMs: d.DelayMs, CloseTime: httpkit.ShownTime(d.Close), Source: d.Source, Round: d.Round,
		CreateTime: httpkit.ShownTime(d.Created),
		VoidTime:   optional(d.Void), VoidReason: d.VoidWhy,
	}
}

// shownDraw converts a draw. over reports whether its sale is.
func shownDraw(d *store.DrawRow, over bool) draw.List {
	l := draw.List{
		VoucherID: d.VoucherID, Commitment: commitment(d), Proof: draw.Committed, State: draw.Open,
		ClosedTime: optional(d.Closed), Beacon: d.Beacon, BeaconTime: optional(d.BeaconTime),
	}
	if d.Source != "" {
		l.Proof = draw.Checkable
	}
	if d.Root != nil {
		l.Entries, l.Root = &d.Entries, hex.EncodeToString(d.Root)
	}
	switch {
	case d.Void != nil:
		l.State = draw.Void
	case over:
		l.State = draw.Over
	case d.Decided():
		l.State = draw.Drawn
	case d.Closed != nil:
		l.State = draw.Closed
	}
	return l
}

func optional(t *time.Time) *httpkit.Time {
	if t == nil {
		return nil
	}
	return httpkit.TimeView(*t)
}

// momentsOf returns the moments of a draw whose key is public.
func momentsOf(l *draw.List) *draw.Moments {
	var key [draw.Bytes]byte
	_, _ = hex.Decode(key[:], []byte(l.Key)) // it was encoded here
	return draw.NewMoments(key, l.Beacon, l.BeginTime.Time, l.DelayMs)
}

func entrants(found []store.Entrant, m *draw.Moments) []draw.Entrant {
	all := make([]draw.Entrant, len(found))
	for i, e := range found {
		all[i] = draw.Entrant{
			Hash: e.Hash.String(), MomentTime: httpkit.ShownTime(m.Of(e.Hash)), Outcome: e.Outcome,
			DecideTime: httpkit.TimeView(e.Decided),
		}
	}
	return all
}
