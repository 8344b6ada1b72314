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
		"offer-7-12-1":               {OrderID: OfferID{VoucherID: 7, Position: 12}.Key(), Number: 1},
		"offer-2147483647-4294967295-2": {
			OrderID: OfferID{VoucherID: math.MaxInt32, Position: math.MaxUint32}.Key(), Number: 2,
		},
	} {
		if got, err := ParseEventID(text); err != nil || got != want || got.OrderID == 0 {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "order", "order-1", "order--1-1", "order-0-1", "order-1-0", "order-01-1", "order-1-1-1", "offer-7-1",
		"offer-7-12-0", "offer-7-12-01", "offer--7-12-1", "offer-0-12-1", "offer-7-0-1", "offer-2147483648-1-1",
		"offer-1-4294967296-1", "offer-07-12-1", "test-7", "offer-7-12-1-1", "x",
	} {
		if got, err := ParseEventID(text); err == nil || !strings.Contains(err.Error(), "webhook-id") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// An event of an order names its offer where it came of one; no text within it passes for that.
func TestEventNamesItsOffer(t *testing.T) {
	t.Parallel()
	from := OfferID{VoucherID: 7, Position: 12}
	o := order.Order{ID: 5, VoucherID: 7, UserID: 1, Status: order.Unpaid, CreatedAt: time.Unix(1, 0)}
	for name, c := range map[string]struct {
		from OfferID
		why  string
		want int64
	}{
		"it came of one":     {from: from, want: from.Key()},
		"it came of none":    {},
		"a text that is odd": {why: `"offerId":"7-12"`},
		"one beyond bounds":  {from: OfferID{VoucherID: math.MaxInt32 + 1, Position: 1}},
	} {
		e, err := EventOf(o, c.from, 1, time.Unix(1, 0), order.Why(c.why))
		if err != nil || e.After() != c.want {
			t.Errorf("%s: after %d, %v; want %d: %s", name, e.After(), err, c.want, e.Body)
		}
	}
	e, err := EventOfOffer(OfferMade, Offer{
		ID: from, UserID: 1, State: "offered", OfferedAt: time.Unix(1, 0), Deadline: time.Unix(601, 0),
	}, 1, time.Unix(1, 0))
	if err != nil || e.After() != 0 || e.ID() != "offer-7-12-1" {
		t.Errorf("%s after %d, %v", e.ID(), e.After(), err)
	}
	if id, is := e.Offer(); !is || id != from {
		t.Errorf("%v, %t", id, is)
	}
}
