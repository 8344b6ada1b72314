package dispatch

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"seckill/internal/order"
)

// ofWaitlists are what can happen on a waiting list; the type of an event is "waitlist." and one of them.
func ofWaitlists() []order.TurnKind {
	return []order.TurnKind{
		order.TurnInvited, order.TurnAccepted, order.TurnDeclined, order.TurnMissed, order.TurnEnded,
		order.TurnReleased,
	}
}

// TypeOfTurn returns the type of the event that something has happened on a waiting list.
func TypeOfTurn(k order.TurnKind) Type { return Type("waitlist." + k) }

// PlaceID names a place on a waiting list; position 0 is the list itself.
type PlaceID struct{ VoucherID, Position int64 }

// String returns the id as endpoints get it.
func (id PlaceID) String() string { return fmt.Sprintf("%d-%d", id.VoucherID, id.Position) }

// positionBits are those of a key that hold the position; the others, but for the sign, hold the voucher.
const positionBits = 32

// Key returns what stands for the place where an event names its order: a number below 0, as orders have others. It
// is 0, and the place has no events, beyond two billion vouchers or four billion places.
func (id PlaceID) Key() int64 {
	if id.VoucherID <= 0 || id.VoucherID > math.MaxInt32 || id.Position < 0 || id.Position > math.MaxUint32 {
		return 0
	}
	return -(id.VoucherID<<positionBits | id.Position)
}

// placeOf returns the place with the key.
func placeOf(key int64) PlaceID {
	return PlaceID{VoucherID: -key >> positionBits, Position: -key & math.MaxUint32}
}

// parsePlaceID reads what String has written; of anything else it returns the zero id, whose key is 0.
func parsePlaceID(text string) PlaceID {
	voucher, position, _ := strings.Cut(text, "-")
	v, errVoucher := strconv.ParseInt(voucher, 10, 64)
	p, errPosition := strconv.ParseInt(position, 10, 64)
	id := PlaceID{VoucherID: v, Position: p}
	if errVoucher != nil || errPosition != nil || id.String() != text {
		return PlaceID{}
	}
	return id
}

// turnData is a place after the event, with the names that GET /voucher/:id/waitlist uses; of the list itself, only
// what it has.
type turnData struct {
	PlaceID      string     `json:"placeId"`
	Number       int64      `json:"number"`
	ShopID       int64      `json:"shopId"`
	VoucherID    int64      `json:"voucherId"`
	UserID       int64      `json:"userId,omitempty"`
	OrderID      string     `json:"orderId,omitempty"` // that accepting makes
	Missed       int64      `json:"missed,omitempty"`
	Units        int64      `json:"units,omitempty"` // that were released
	JoinTime     *time.Time `json:"joinTime,omitempty"`
	InviteTime   *time.Time `json:"inviteTime,omitempty"`
	AcceptBefore *time.Time `json:"acceptBefore,omitempty"`
	EndTime      *time.Time `json:"endTime,omitempty"`
}

// EventOfTurn returns the event that something has happened on a waiting list.
func EventOfTurn(t order.Turn, shopID int64) (Event, error) {
	id := PlaceID(t.ID)
	e := Event{ShopID: shopID, OrderID: id.Key(), OrderNumber: t.Number, Type: TypeOfTurn(t.Kind), At: t.At}
	d := turnData{
		PlaceID: id.String(), Number: t.Number, ShopID: shopID, VoucherID: id.VoucherID, UserID: t.UserID,
		Missed: t.Missed, Units: t.Units, JoinTime: shown(t.Joined), InviteTime: shown(t.Invited),
		AcceptBefore: shown(t.Deadline), EndTime: shown(t.Ended),
	}
	if t.OrderID != 0 {
		d.OrderID = strconv.FormatInt(t.OrderID, 10)
	}
	var err error
	if e.Body, err = json.Marshal(payload{Type: e.Type, Timestamp: t.At.UTC(), Data: d}); err != nil {
		return Event{}, fmt.Errorf("event %s: %w", e.ID(), err)
	}
	return e, nil
}

// Place returns the place that the event is about, unless it is about an order.
func (e Event) Place() (id PlaceID, is bool) { return placeOf(e.OrderID), e.OrderID < 0 }
