package waitlist

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Service serves users and admins of waiting lists: *Waitlists. Every method may return order.ErrUnavailable.
type Service interface {
	// Join gives the user a place, or returns their open place. Errors: voucher.ErrNotSeckill, voucher.ErrOffShelf,
	// ErrNoList, ErrOnSale, *gate.AlreadyBoughtError, gate.ErrPaused, gate.ErrNotStarted, gate.ErrEnded.
	Join(ctx context.Context, userID int64, v voucher.Voucher, standing *bool) (Place, error)
	// Accept accepts the user's invitation. Errors: voucher.ErrOffShelf, gate.ErrPaused, ErrNoPlace, ErrNotInvited.
	Accept(ctx context.Context, userID int64, v voucher.Voucher) (Place, error)
	// Leave gives up the user's place and its invitation. Errors: voucher.ErrNotFound, voucher.ErrNotSeckill,
	// ErrNoPlace, ErrAccepted.
	Leave(ctx context.Context, userID, voucherID int64) (Place, error)
	// Place returns the user's open place, or their latest. Error: ErrNoPlace.
	Place(ctx context.Context, userID, voucherID int64) (Place, error)
	// Places returns the user's open places.
	Places(ctx context.Context, userID int64) ([]Place, error)
	// Counts returns how many places a voucher's list has in each state. Errors: voucher.ErrNotSeckill, ErrNoList.
	Counts(ctx context.Context, v voucher.Voucher) (Counts, error)
}

// Doors decides who may use the routes of a sale's waiting list: by its voucher, its guards and the clock.
type Doors struct {
	// Find returns a voucher, or voucher.ErrNotFound.
	Find func(ctx context.Context, id int64) (voucher.Voucher, error)
	Gate httpkit.Gatekeeper
	Now  func() time.Time
}

// shopOf returns the shop of a voucher, or voucher.ErrNotFound.
func (d Doors) shopOf(ctx context.Context, id int64) (int64, error) {
	v, err := d.Find(ctx, id)
	return v.ShopID, err
}

// Routes returns the routes of waiting lists. The guards of a purchase apply to joining and accepting, too.
func Routes(lists Service, doors Doors) []httpkit.Route {
	h := handlers{lists, doors}
	return []httpkit.Route{
		httpkit.Owning("POST /voucher/:id/waitlist", h.join, httpkit.Limited, httpkit.Query("standing")),
		httpkit.Owning("GET /voucher/:id/waitlist", httpkit.ByVoucher(h.show)),
		httpkit.Buying("POST /voucher/:id/waitlist/accept", h.accept, httpkit.Limited),
		httpkit.Owning("POST /voucher/:id/waitlist/leave", httpkit.ByVoucher(h.leave)),
		httpkit.Owning("GET /waitlist", h.list),
		httpkit.Staff("GET /admin/voucher/:id/waitlist", httpkit.ByVoucher(h.count), httpkit.OwnVoucher(doors.shopOf)),
	}
}

type handlers struct {
	lists Service
	doors Doors
}

// enter returns the voucher in the path, if its guards let the caller in. For a hidden voucher it returns
// voucher.ErrNotFound.
func (h handlers) enter(c *gin.Context, who httpkit.Identity) (voucher.Voucher, error) {
	id, err := httpkit.PathVoucher(c)
	if err != nil {
		return voucher.Voucher{}, err
	}
	v, err := h.doors.Find(c.Request.Context(), id)
	if err == nil && v.Hidden(h.doors.Now()) {
		err = voucher.ErrNotFound
	}
	if err == nil && h.guarded(v) {
		err = h.doors.Gate.Enter(c, who, v)
	}
	return v, err
}

func (h handlers) guarded(v voucher.Voucher) bool {
	return v.Sale != nil && v.Sale.Guards != nil
}

// join answers POST /voucher/:id/waitlist: 201, also if the user has a place already. A standing yes claims a unit.
func (h handlers) join(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	standing, badFlag := values.Flag("standing")
	if err := invalid.Join(badQuery, badFlag); err != nil {
		return httpkit.Answer{}, err
	}
	v, err := h.enter(c, who)
	if err != nil {
		return httpkit.Answer{}, err
	}
	says := &standing
	if _, said := values["standing"]; !said {
		says = nil
	}
	ctx, settle := c.Request.Context(), func(bool, error) {}
	if standing {
		if settle, err = h.claim(c, who, v, State.Open); err != nil {
			return httpkit.Answer{}, err
		}
		ctx = context.WithoutCancel(ctx) // a caller who hangs up still claims the unit, and a join is short
	}
	p, err := h.lists.Join(ctx, who.UserID, v, says)
	settle(p.Claims, err)
	return placeAnswer(http.StatusCreated, p, err)
}

// accept answers POST /voucher/:id/waitlist/accept: 201 once the order exists, 202 while Redis has not decided.
func (h handlers) accept(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	v, err := h.enter(c, who)
	if err != nil {
		return httpkit.Answer{}, err
	}
	settle, err := h.claim(c, who, v, func(s State) bool { return s.Open() || s == Bought })
	if err != nil {
		return httpkit.Answer{}, err
	}
	p, err := h.lists.Accept(c.Request.Context(), who.UserID, v)
	settle(p.Claims, err)
	if err != nil {
		return httpkit.Answer{}, err
	}
	return acceptedAnswer(p)
}

// claim reserves one of the units that the guards allow the caller's address. Call settle with whether the request has
// claimed the unit, and with its error: simultaneous requests each reserve a unit, and only one of them claims it.
// claim reserves nothing if the place's unit is claimed already and goesOn returns true for the place's state.
func (h handlers) claim(
	c *gin.Context, who httpkit.Identity, v voucher.Voucher, goesOn func(State) bool,
) (settle func(claimed bool, err error), err error) {
	none := func(bool, error) {}
	if !h.guarded(v) {
		return none, nil
	}
	ctx := context.WithoutCancel(c.Request.Context())
	p, err := h.lists.Place(ctx, who.UserID, v.ID)
	switch {
	case err != nil && !errors.Is(err, ErrNoPlace):
		return nil, err
	case p.Claimed && goesOn(p.State):
		return none, nil
	}
	finish, err := h.doors.Gate.Reserve(c, who, v, 1)
	return func(claimed bool, err error) { finish(h.outcome(ctx, who.UserID, v.ID, claimed, err)) }, err
}

// outcome returns the outcome for a reserved unit. A claim wins it at once: Redis refuses an acceptance only if the
// user has another order. After a failure the transaction may have been committed; the place shows whether it was.
// While the place cannot be read, the unit stays reserved.
func (h handlers) outcome(ctx context.Context, userID, voucherID int64, claimed bool, err error) httpkit.Outcome {
	switch {
	case err == nil && claimed:
		return httpkit.Won
	case err == nil, !errors.Is(err, order.ErrUnavailable): // refused
		return httpkit.Refused
	}
	p, err := h.lists.Place(ctx, userID, voucherID)
	if errors.Is(err, ErrNoPlace) || err == nil && !p.Claimed {
		return httpkit.Refused
	}
	return httpkit.Won
}

func acceptedAnswer(p Place) (httpkit.Answer, error) {
	status := http.StatusAccepted
	switch p.State {
	case Accepted:
	case Bought:
		status = http.StatusCreated
	default: // the user has another order
		return httpkit.Answer{}, ErrNotInvited
	}
	return httpkit.Answer{
		Status: status, Location: "/order/" + strconv.FormatInt(p.OrderID, 10),
		Envelope: httpkit.Envelope{Data: view(p)},
	}, nil
}

// leave answers POST /voucher/:id/waitlist/leave. Without a place, the answer is the same for every voucher and for
// unknown ids, so it does not reveal hidden vouchers.
func (h handlers) leave(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	p, err := h.lists.Leave(c.Request.Context(), who.UserID, id)
	if errors.Is(err, voucher.ErrNotSeckill) || errors.Is(err, voucher.ErrNotFound) {
		err = ErrNoPlace
	}
	return placeAnswer(http.StatusOK, p, err)
}

// show answers GET /voucher/:id/waitlist.
func (h handlers) show(c *gin.Context, who httpkit.Identity, id int64) (httpkit.Answer, error) {
	p, err := h.lists.Place(c.Request.Context(), who.UserID, id)
	return placeAnswer(http.StatusOK, p, err)
}

// list answers GET /waitlist: the caller's open places.
func (h handlers) list(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	places, err := h.lists.Places(c.Request.Context(), who.UserID)
	views := make([]placeJSON, len(places))
	for i, p := range places {
		views[i] = view(p)
	}
	return httpkit.Data(http.StatusOK, views, err)
}

// count answers GET /admin/voucher/:id/waitlist.
func (h handlers) count(c *gin.Context, _ httpkit.Identity, id int64) (httpkit.Answer, error) {
	v, err := h.doors.Find(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	n, err := h.lists.Counts(c.Request.Context(), v)
	return httpkit.Data(http.StatusOK, countsView(id, n), err)
}

func placeAnswer(status int, p Place, err error) (httpkit.Answer, error) {
	return httpkit.Data(status, view(p), err)
}
