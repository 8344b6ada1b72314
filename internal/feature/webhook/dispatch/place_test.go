package dispatch

import (
	"math"
	"strings"
	"testing"
	"time"

	"seckill/internal/order"
)

// The webhook-id names an event, and nothing else does.
func TestEventIDs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]EventID{
		"order-660000000123456789-2": {OrderID: 660000000123456789, Number: 2},
		"place-7-12-1":               {OrderID: PlaceID{VoucherID: 7, Position: 12}.Key(), Number: 1},
		"place-7-0-3":                {OrderID: PlaceID{VoucherID: 7}.Key(), Number: 3},
		"place-2147483647-4294967295-2": {
			OrderID: PlaceID{VoucherID: math.MaxInt32, Position: math.MaxUint32}.Key(), Number: 2,
		},
	} {
		if got, err := ParseEventID(text); err != nil || got != want || got.OrderID == 0 {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "order", "order-1", "order--1-1", "order-0-1", "order-1-0", "order-01-1", "order-1-1-1", "place-7-1",
		"place-7-12-0", "place-7-12-01", "place--7-12-1", "place-0-12-1", "place-2147483648-1-1",
		"place-1-4294967296-1", "place-07-12-1", "test-7", "place-7-12-1-1", "x",
	} {
		if got, err := ParseEventID(text); err == nil || !strings.Contains(err.Error(), "webhook-id") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// An event of a waiting list names its place, or the list.
func TestEventOfTurn(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0)
	for want, turn := range map[string]order.Turn{
		`place-7-12-1 {"type":"waitlist.invited","timestamp":"1970-01-01T00:00:01Z",` +
			`"data":{"placeId":"7-12","number":1,"shopId":2,"voucherId":7,"userId":1,` +
			`"joinTime":"1970-01-01T00:00:01Z","inviteTime":"1970-01-01T00:00:01Z",` +
			`"acceptBefore":"1970-01-01T00:00:31Z"}}`: {
			ID: order.PlaceID{VoucherID: 7, Position: 12}, UserID: 1, Kind: order.TurnInvited, Number: 1, Joined: at,
			Invited: at, Deadline: at.Add(30 * time.Second), At: at,
		},
		`place-7-0-9 {"type":"waitlist.released","timestamp":"1970-01-01T00:00:01Z",` +
			`"data":{"placeId":"7-0","number":9,"shopId":2,"voucherId":7,"units":3}}`: {
			ID: order.PlaceID{VoucherID: 7}, Kind: order.TurnReleased, Number: 9, Units: 3, At: at,
		},
	} {
		e, err := EventOfTurn(turn, 2)
		if got := e.ID() + " " + string(e.Body); err != nil || got != want {
			t.Errorf("%s, %v\nwant %s", got, err, want)
		}
		if id, is := e.Place(); !is || id != PlaceID(turn.ID) {
			t.Errorf("%v, %t", id, is)
		}
	}
}
