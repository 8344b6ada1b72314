package waitlist

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// Service serves users and admins of waiting lists: *Waitlists. Every method may return order.ErrUnavailable.
type Service interface {
	// Join gives the user a place, or returns their open place. standing stores a yes for their next turn, or takes it
	// back; nil leaves it unchanged. After order.ErrUnavailable, repeating the call gives the definitive answer.
	// Errors: voucher.ErrNotSeckill, voucher.ErrOffShelf, ErrNoList, ErrOnSale, *gate.AlreadyBoughtError,
	// gate.ErrPaused, gate.ErrNotStarted, gate.ErrEnded.
	Join(ctx context.Context, userID int64, v voucher.Voucher, standing *bool) (Place, error)
	// Accept accepts the user's invitation and waits a little for the order that it becomes. It returns the place as
	// Bought, as Refused, or still as Accepted if the order is not made yet. Repeating is harmless. Errors:
	// voucher.ErrOffShelf, gate.ErrPaused, ErrNoPlace, ErrNotInvited. With an error, the place has only the id of the
	// order that it may become.
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

// finder returns a voucher, or voucher.ErrNotFound.
type finder func(ctx context.Context, id int64) (voucher.Voucher, error)

// Routes returns the routes of waiting lists. The guards of a purchase apply to joining and accepting, too.
func Routes(lists Service, find finder, front httpkit.Front) []httpkit.Route {
	h := handlers{lists, find, front}
	return []httpkit.Route{
		httpkit.Owning("POST /voucher/:id/waitlist", h.join, httpkit.Limited, httpkit.Query("standing")),
		httpkit.Owning("GET /voucher/:id/waitlist", httpkit.ByVoucher(h.show)),
		httpkit.Buying("POST /voucher/:id/waitlist/accept", h.accept, httpkit.Limited),
		httpkit.Owning("POST /voucher/:id/waitlist/leave", httpkit.ByVoucher(h.leave)),
		httpkit.Owning("GET /waitlist", h.list),
		httpkit.Staff("GET /admin/voucher/:id/waitlist", httpkit.ByVoucher(h.count), httpkit.OwnVoucher(front.ShopOf)),
	}
}

type handlers struct {
	lists Service
	find  finder
	front httpkit.Front
}

// enter returns the voucher in the path, if its guards let the caller in. For a voucher that is not shown to them it
// returns voucher.ErrNotFound.
func (h handlers) enter(c *gin.Context, who httpkit.Identity) (voucher.Voucher, error) {
	id, err := httpkit.PathVoucher(c)
	if err != nil {
		return voucher.Voucher{}, err
	}
	v, err := h.find(c.Request.Context(), id)
	if err == nil && !v.ShownTo(who.UserID, h.front.Now()) {
		err = voucher.ErrNotFound
	}
	if err == nil && h.guarded(v) {
		err = h.front.Gatekeeper.Enter(c, who, v)
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
	ctx, end := c.Request.Context(), func(Place, error) {}
	if standing {
		if end, err = h.claim(c, who, v, State.Open, h.promised); err != nil {
			return httpkit.Answer{}, err
		}
		ctx = context.WithoutCancel(ctx) // a caller who hangs up still claims the unit, and a join is short
	}
	var p Place
	err = order.ErrUnavailable // stays so after a panic
	defer func() { end(p, err) }()
	p, err = h.lists.Join(ctx, who.UserID, v, says)
	return placeAnswer(http.StatusCreated, p, unlisted(err))
}

// accept answers POST /voucher/:id/waitlist/accept: 201 once the order exists, 202 while Redis has not decided.
func (h handlers) accept(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	v, err := h.enter(c, who)
	if err != nil {
		return httpkit.Answer{}, err
	}
	end, err := h.claim(c, who, v, func(s State) bool { return s.Open() || s == Bought }, h.accepted)
	if err != nil {
		return httpkit.Answer{}, err
	}
	var p Place
	err = order.ErrUnavailable // stays so after a panic
	defer func() { end(p, err) }()
	p, err = h.lists.Accept(c.Request.Context(), who.UserID, v)
	if err != nil {
		return httpkit.Answer{}, unlisted(err)
	}
	return acceptedAnswer(p)
}

// unlisted returns voucher.ErrNotFound for a voucher that was taken off the shelf, as buyers cannot tell it from none.
func unlisted(err error) error {
	if errors.Is(err, voucher.ErrOffShelf) {
		return voucher.ErrNotFound
	}
	return err
}

// claim reserves one of the units that the guards allow the caller's address. Call end with the place and the error
// that the request got; ending then decides who gets the unit. claim reserves nothing if the place's unit is
// claimed already and goesOn returns true for the place's state.
func (h handlers) claim(
	c *gin.Context, who httpkit.Identity, v voucher.Voucher, goesOn func(State) bool,
	ending func(ctx context.Context, userID, voucherID int64, p Place, err error) guards.Ending,
) (end func(Place, error), err error) {
	none := func(Place, error) {}
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
	finish, err := h.front.Gatekeeper.Reserve(c, who, v, 1)
	return func(p Place, err error) { finish(ending(ctx, who.UserID, v.ID, p, err)) }, err
}

// promised is the ending of a request with a standing yes: a place claims its unit once, with the first yes that is
// recorded, and has no order yet. After a failure the yes may have been recorded; the place tells.
func (h handlers) promised(ctx context.Context, userID, voucherID int64, p Place, err error) guards.Ending {
	switch {
	case err == nil && p.Claims:
		return guards.Ending{Outcome: guards.Claimed, ID: -p.Position}
	case err == nil, !doubtful(err): // claimed by another request, or refused
		return guards.Ending{Outcome: guards.Refused}
	}
	return h.looked(ctx, func(ctx context.Context) guards.Ending {
		p, err := h.lists.Place(ctx, userID, voucherID)
		switch {
		case errors.Is(err, ErrNoPlace), err == nil && !p.Claimed:
			return guards.Ending{Outcome: guards.Refused}
		case err != nil:
			return guards.Ending{Outcome: guards.Unknown}
		}
		return guards.Ending{Outcome: guards.Claimed, ID: -p.Position}
	})
}

// accepted is the ending of a request that accepts an invitation. It wins the unit if Redis has accepted the order that
// this request made of the place.
func (h handlers) accepted(ctx context.Context, userID, voucherID int64, p Place, err error) guards.Ending {
	mine := p.OrderID
	switch {
	case err == nil && p.Claims:
		if e := endingOf(p); e.Outcome != guards.Unknown {
			return e
		}
	case err == nil, !doubtful(err), mine == 0: // claimed by another request, or refused
		return guards.Ending{Outcome: guards.Refused}
	}
	return h.looked(ctx, func(ctx context.Context) guards.Ending {
		p, err := h.lists.Place(ctx, userID, voucherID)
		switch {
		case errors.Is(err, ErrNoPlace), err == nil && p.OrderID != mine:
			return guards.Ending{Outcome: guards.Refused}
		case err != nil:
			return guards.Ending{Outcome: guards.Unknown}
		}
		return endingOf(p)
	})
}

// endingOf is the ending of the request that accepted a place.
func endingOf(p Place) guards.Ending {
	switch p.State {
	case Bought:
		return guards.Ending{Outcome: guards.Won, ID: p.OrderID}
	case Accepted:
		return guards.Ending{Outcome: guards.Unknown, ID: p.OrderID}
	default:
		return guards.Ending{Outcome: guards.Refused}
	}
}

// looked returns what a look at the place tells. If that is not known yet, the guards look again.
func (h handlers) looked(ctx context.Context, look func(context.Context) guards.Ending) guards.Ending {
	e := look(ctx)
	if e.Outcome == guards.Unknown {
		e.Look = look
	}
	return e
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
	v, err := h.find(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	n, err := h.lists.Counts(c.Request.Context(), v)
	return httpkit.Data(http.StatusOK, countsView(id, n), err)
}

func placeAnswer(status int, p Place, err error) (httpkit.Answer, error) {
	return httpkit.Data(status, view(p), err)
}
