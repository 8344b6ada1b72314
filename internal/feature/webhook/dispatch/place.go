package dispatch

import (
	"strconv"

	"seckill/internal/kit/moment"
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

// turnData is a place after the event, with the names that GET /voucher/:id/waitlist uses; of the list itself, only
// what it has.
type turnData struct {
	ShopID       int64        `json:"shopId"`
	VoucherID    int64        `json:"voucherId"`
	UserID       int64        `json:"userId,omitempty"`
	OrderID      string       `json:"orderId,omitempty"` // that accepting makes
	Missed       int64        `json:"missed,omitempty"`
	Units        int64        `json:"units,omitempty"` // that were released
	JoinTime     *moment.Time `json:"joinTime,omitempty"`
	InviteTime   *moment.Time `json:"inviteTime,omitempty"`
	AcceptBefore *moment.Time `json:"acceptBefore,omitempty"`
	EndTime      *moment.Time `json:"endTime,omitempty"`
}

// EventOfTurn returns the event that something has happened on a waiting list.
func EventOfTurn(t order.Turn, shopID int64) (Event, error) {
	e := Event{ShopID: shopID, Subject: t.Subject(), SubjectNumber: t.Number, Type: TypeOfTurn(t.Kind), At: t.At}
	d := turnData{
		ShopID: shopID, VoucherID: t.ID.VoucherID, UserID: t.UserID, Missed: t.Missed, Units: t.Units,
		JoinTime: moment.OrNil(t.Joined), InviteTime: moment.OrNil(t.Invited), AcceptBefore: moment.OrNil(t.Deadline),
		EndTime: moment.OrNil(t.Ended),
	}
	if t.OrderID != 0 {
		d.OrderID = strconv.FormatInt(t.OrderID, 10)
	}
	return e.withBody(d)
}
