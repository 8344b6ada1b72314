package shop

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
	"seckill/internal/order/waitlist"
	"seckill/internal/voucher"
)

// Waitlists are the waiting lists of sales: *waitlist.Waitlists.
type Waitlists interface {
	// Join gives the user a place, or the one that they have. voucher.ErrNotSeckill, voucher.ErrOffShelf,
	// waitlist.ErrNoList, waitlist.ErrOnSale, *order.AlreadyBoughtError, order.ErrPaused, order.ErrNotStarted,
	// order.ErrEnded, order.ErrUnavailable.
	Join(ctx context.Context, userID int64, v voucher.Voucher) (waitlist.Place, error)
	// Accept accepts the user's offer. voucher.ErrOffShelf, waitlist.ErrNoPlace, waitlist.ErrNoOffer,
	// order.ErrUnavailable.
	Accept(ctx context.Context, userID int64, v voucher.Voucher) (waitlist.Place, error)
	// Leave gives up the user's place and its offer. voucher.ErrNotFound, voucher.ErrNotSeckill, waitlist.ErrNoPlace,
	// waitlist.ErrAccepted, order.ErrUnavailable.
	Leave(ctx context.Context, userID, voucherID int64) (waitlist.Place, error)
	// Place returns the user's open place, or their latest. waitlist.ErrNoPlace, order.ErrUnavailable.
	Place(ctx context.Context, userID, voucherID int64) (waitlist.Place, error)
	// Places returns the user's open places. order.ErrUnavailable.
	Places(ctx context.Context, userID int64) ([]waitlist.Place, error)
	// Counts returns how many places a voucher's list has in each state. voucher.ErrNotSeckill, waitlist.ErrNoList,
	// order.ErrUnavailable.
	Counts(ctx context.Context, v voucher.Voucher) (waitlist.Counts, error)
}

// joinWaitlist answers POST /voucher/:id/waitlist: 201, also where the user has a place already. The sale's guards
// hold here too: whom they keep from buying gets no offer.
func (a *API) joinWaitlist(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	v, err := a.listed(c)
	if err == nil {
		err = a.enter(c, who, v)
	}
	if err != nil {
		return httpkit.Answer{}, err
	}
	p, err := a.cfg.Waitlists.Join(c.Request.Context(), who.UserID, v)
	return placeAnswer(http.StatusCreated, p, err)
}

// acceptOffer answers POST /voucher/:id/waitlist/accept: 201 once the order is made, 202 while it is not decided.
func (a *API) acceptOffer(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	v, err := a.listed(c)
	if err != nil {
		return httpkit.Answer{}, err
	}
	p, err := a.cfg.Waitlists.Accept(c.Request.Context(), who.UserID, v)
	switch {
	case err != nil:
		return httpkit.Answer{}, err
	case p.State == waitlist.Bought:
		return httpkit.Answer{
			Status: http.StatusCreated, Location: orderPath(p.OrderID), Envelope: httpkit.Envelope{Data: placeView(p)},
		}, nil
	case p.State == waitlist.Accepted:
		return httpkit.Answer{
			Status: http.StatusAccepted, Location: orderPath(p.OrderID), Envelope: httpkit.Envelope{Data: placeView(p)},
		}, nil
	default: // they have another order
		return httpkit.Answer{}, waitlist.ErrNoOffer
	}
}

// listed returns the voucher in the path; a hidden one is not there.
func (a *API) listed(c *gin.Context) (voucher.Voucher, error) {
	id, badID := param.ID("id", c.Param("id"), voucher.MaxID)
	if err := invalid.Join(badID); err != nil {
		return voucher.Voucher{}, err
	}
	v, err := a.cfg.FindVoucher(c.Request.Context(), id)
	if err == nil && v.Hidden(a.cfg.Now()) {
		err = voucher.ErrNotFound
	}
	return v, err
}

// leaveWaitlist answers POST /voucher/:id/waitlist/leave. Without a place the answer is the same for every voucher, and
// for none: it does not tell that there is a hidden one.
func (a *API) leaveWaitlist(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, badID := param.ID("id", c.Param("id"), voucher.MaxID)
	if err := invalid.Join(badID); err != nil {
		return httpkit.Answer{}, err
	}
	p, err := a.cfg.Waitlists.Leave(c.Request.Context(), who.UserID, id)
	if errors.Is(err, voucher.ErrNotSeckill) || errors.Is(err, voucher.ErrNotFound) {
		err = waitlist.ErrNoPlace
	}
	return placeAnswer(http.StatusOK, p, err)
}

// showPlace answers GET /voucher/:id/waitlist.
func (a *API) showPlace(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, badID := param.ID("id", c.Param("id"), voucher.MaxID)
	if err := invalid.Join(badID); err != nil {
		return httpkit.Answer{}, err
	}
	p, err := a.cfg.Waitlists.Place(c.Request.Context(), who.UserID, id)
	return placeAnswer(http.StatusOK, p, err)
}

// listPlaces answers GET /waitlist: the caller's open places.
func (a *API) listPlaces(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	places, err := a.cfg.Waitlists.Places(c.Request.Context(), who.UserID)
	if err != nil {
		return httpkit.Answer{}, err
	}
	views := make([]placeJSON, len(places))
	for i, p := range places {
		views[i] = placeView(p)
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: views}}, nil
}

// countPlaces answers GET /admin/voucher/:id/waitlist.
func (a *API) countPlaces(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	id, badID := param.ID("id", c.Param("id"), voucher.MaxID)
	if err := invalid.Join(badID); err != nil {
		return httpkit.Answer{}, err
	}
	v, err := a.cfg.FindVoucher(c.Request.Context(), id)
	if err != nil {
		return httpkit.Answer{}, err
	}
	n, err := a.cfg.Waitlists.Counts(c.Request.Context(), v)
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: waitlistJSON{
		VoucherID: id, Waiting: n.Waiting, Offered: n.Offered, Accepted: n.Accepted, Bought: n.Bought,
		Left: n.Left, Missed: n.Missed, Refused: n.Refused, Over: n.Over,
	}}}, nil
}

// waitlistJSON is how many places a list has in each state.
type waitlistJSON struct {
	VoucherID int64 `json:"voucherId"`
	Waiting   int64 `json:"waiting"`
	Offered   int64 `json:"offered"`
	Accepted  int64 `json:"accepted"`
	Bought    int64 `json:"bought"`
	Left      int64 `json:"left"`
	Missed    int64 `json:"missed"`
	Refused   int64 `json:"refused"`
	Over      int64 `json:"over"`
}

// placeJSON is a place as its user sees it. Positions are not shown: they tell how many have joined.
type placeJSON struct {
	VoucherID    int64      `json:"voucherId"`
	State        string     `json:"state"`
	Ahead        *int64     `json:"ahead,omitempty"`     // while it waits
	AheadMore    bool       `json:"aheadMore,omitempty"` // there are that many or more
	JoinTime     *time.Time `json:"joinTime"`
	OfferTime    *time.Time `json:"offerTime,omitempty"`
	AcceptBefore *time.Time `json:"acceptBefore,omitempty"`
	OrderID      string     `json:"orderId,omitempty"`
	EndTime      *time.Time `json:"endTime,omitempty"`
	AskAgain     int64      `json:"askAgainSeconds,omitempty"` // while it is open
}

func placeView(p waitlist.Place) placeJSON {
	v := placeJSON{
		VoucherID: p.VoucherID, State: p.State.String(), JoinTime: httpkit.TimeView(p.JoinedAt),
		OfferTime:    httpkit.TimeView(p.OfferedAt),
		AcceptBefore: httpkit.TimeView(p.Deadline), EndTime: httpkit.TimeView(p.EndedAt), AskAgain: askAgain(p),
	}
	if p.State == waitlist.Waiting {
		v.Ahead, v.AheadMore = &p.Ahead, p.Ahead >= waitlist.MaxCounted
	}
	if p.OrderID != 0 && (p.State == waitlist.Accepted || p.State == waitlist.Bought) {
		v.OrderID = strconv.FormatInt(p.OrderID, 10)
	}
	return v
}

// askAgain is after how many seconds it makes sense to ask for a place again: soon at the head of the list, once a
// minute far behind it, so that 100,000 who wait ask 1,700 times a second together.
func askAgain(p waitlist.Place) int64 {
	const soon, perSecond, late = 2, 10, 60
	switch {
	case !p.State.Open():
		return 0
	case p.State != waitlist.Waiting:
		return soon
	default:
		return min(soon+p.Ahead/perSecond, late)
	}
}

func placeAnswer(status int, p waitlist.Place, err error) (httpkit.Answer, error) {
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: status, Envelope: httpkit.Envelope{Data: placeView(p)}}, nil
}

// offeredIn is a sale's waitlistOfferSeconds.
func offeredIn(s *voucher.Sale) int64 { return int64(s.OfferWithin / time.Second) }
