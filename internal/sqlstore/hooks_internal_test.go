package sqlstore

import (
	"testing"

	"seckill/internal/order/waitlist"
)

// An offer's state has the name of its place's.
func TestOfferStates(t *testing.T) {
	t.Parallel()
	for _, s := range []waitlist.State{
		waitlist.Offered, waitlist.Bought, waitlist.Left, waitlist.Missed, waitlist.Refused, waitlist.Over,
	} {
		if got := (placeRow{State: s}).offerState().String(); got != s.String() {
			t.Errorf("the offer of a place that is %s is %s", s, got)
		}
	}
}
