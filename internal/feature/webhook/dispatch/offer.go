package dispatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The types of events about offers of waiting lists.
const (
	OfferMade     Type = "offer.made"     // a unit is kept for the user until acceptBefore
	OfferAccepted Type = "offer.accepted" // it has become the order orderId
	OfferDeclined Type = "offer.declined" // its user gave it up
	OfferMissed   Type = "offer.missed"   // its time has passed
	OfferEnded    Type = "offer.ended"    // its user has another order, or the sale is over
)

// OfferID names an offer by the place on a waiting list that got it: a place gets one at most.
type OfferID struct{ VoucherID, Position int64 }

// String returns the id as endpoints get it.
func (id OfferID) String() string { return fmt.Sprintf("%d-%d", id.VoucherID, id.Position) }

// positionBits are those of a key that hold the position; the others, but for the sign, hold the voucher.
const positionBits = 32

// Key returns what stands for the offer where an event names its order: a number below 0, as orders have others. It
// is 0, and the offer has no events, beyond two billion vouchers or four billion places.
func (id OfferID) Key() int64 {
	if id.VoucherID <= 0 || id.VoucherID > math.MaxInt32 || id.Position <= 0 || id.Position > math.MaxUint32 {
		return 0
	}
	return -(id.VoucherID<<positionBits | id.Position)
}

// offerOf returns the offer with the key.
func offerOf(key int64) OfferID {
	return OfferID{VoucherID: -key >> positionBits, Position: -key & math.MaxUint32}
}

// parseOfferID reads what String has written; of anything else it returns the zero id, whose key is 0.
func parseOfferID(text string) OfferID {
	voucher, position, _ := strings.Cut(text, "-")
	v, errVoucher := strconv.ParseInt(voucher, 10, 64)
	p, errPosition := strconv.ParseInt(position, 10, 64)
	id := OfferID{VoucherID: v, Position: p}
	if errVoucher != nil || errPosition != nil || id.String() != text {
		return OfferID{}
	}
	return id
}

// Offer is an offer as an event tells it.
type Offer struct {
	ID        OfferID
	UserID    int64
	State     string // of its place
	OrderID   int64  // that it has become; 0: none
	JoinedAt  time.Time
	OfferedAt time.Time
	Deadline  time.Time
	EndedAt   time.Time // zero: it stands
}

// number is that of the event among those of the offer: it is made, and it ends.
func (o Offer) number() int64 {
	if o.EndedAt.IsZero() {
		return 1
	}
	return 2
}

// offerData is an offer after the event, with the names that GET /voucher/:id/waitlist uses.
type offerData struct {
	OfferID      string     `json:"offerId"`
	Number       int64      `json:"number"`
	ShopID       int64      `json:"shopId"`
	VoucherID    int64      `json:"voucherId"`
	UserID       int64      `json:"userId"`
	State        string     `json:"state"`
	OrderID      string     `json:"orderId,omitempty"`
	JoinTime     *time.Time `json:"joinTime"`
	OfferTime    *time.Time `json:"offerTime"`
	AcceptBefore *time.Time `json:"acceptBefore"`
	EndTime      *time.Time `json:"endTime,omitempty"`
}

// EventOfOffer returns the event that tells of the offer's present state.
func EventOfOffer(t Type, o Offer, shopID int64, at time.Time) (Event, error) {
	e := Event{ShopID: shopID, OrderID: o.ID.Key(), OrderNumber: o.number(), Type: t, At: at}
	d := offerData{
		OfferID: o.ID.String(), Number: e.OrderNumber, ShopID: shopID, VoucherID: o.ID.VoucherID, UserID: o.UserID,
		State: o.State, JoinTime: shown(o.JoinedAt), OfferTime: shown(o.OfferedAt), AcceptBefore: shown(o.Deadline),
		EndTime: shown(o.EndedAt),
	}
	if o.OrderID != 0 {
		d.OrderID = strconv.FormatInt(o.OrderID, 10)
	}
	var err error
	if e.Body, err = json.Marshal(payload{Type: t, Timestamp: at.UTC(), Data: d}); err != nil {
		return Event{}, fmt.Errorf("event %s: %w", e.ID(), err)
	}
	return e, nil
}

// Offer returns the offer that the event is about, unless it is about an order.
func (e Event) Offer() (id OfferID, is bool) { return offerOf(e.OrderID), e.OrderID < 0 }

// offerMark begins the name of an offer in the body of an event. No text within a body has it: quotes there are
// escaped.
const offerMark = `"offerId":"`

// After returns the key of the offer of which the event's order came, where the event names it; else 0. The order's
// events are not sent before those of the offer.
func (e Event) After() int64 {
	if e.OrderID < 0 {
		return 0
	}
	_, rest, found := bytes.Cut(e.Body, []byte(offerMark))
	text, _, closed := bytes.Cut(rest, []byte{'"'})
	if !found || !closed {
		return 0
	}
	return parseOfferID(string(text)).Key()
}
