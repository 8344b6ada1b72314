package redisstore

import (
	"testing"
	"time"

	"seckill/internal/order"
)

// pass lets time go by: on the in-process server by its clock, on a real one by waiting until its clock is there.
func (r *rig) pass(d time.Duration) {
	r.t.Helper()
	until := r.now().Add(d)
	if r.mini != nil {
		r.mini.SetTime(until)
		return
	}
	for r.now().Before(until) {
		time.Sleep(time.Millisecond) // what is tested is Redis's clock, which nothing signals
	}
}

// stop makes the in-process server's clock stand still, so that tests decide when a time has come.
func (r *rig) stop() {
	if r.mini != nil {
		r.mini.SetTime(time.Now())
	}
}

func (r *rig) correct(returns ...order.Return) []bool {
	r.t.Helper()
	acted, err := r.correctSale(r.ctx(), r.sale, returns)
	r.must(err)
	return acted
}

// testReturnedUnitsWait: a unit that comes back to a sold-out sale is in the view at once and can be sold after the
// delay, not before (rule 11).
func testReturnedUnitsWait(t *testing.T, r *rig) {
	r.stop()
	r.open(1, r.hour(1))
	r.admit(applicants(1, 1)...)
	returned := r.now()
	equal(t, []bool{true}, r.correct(order.Return{UserID: 1, OrderID: 1001, GiveBack: true}))
	equal(t, int64(1), r.view().Stock)
	got := r.admit(applicants(2, 1)...)
	if got.View.Now.Before(returned.Add(testDelay)) { // else the machine was too slow to tell
		equal(t, []string{"9"}, codes(got.Outcomes))
	}
	r.pass(testDelay)
	got = r.admit(applicants(3, 2)...)
	equal(t, []string{"0", "9"}, codes(got.Outcomes))
	equal(t, int64(0), got.View.Stock)
	equal(t, []string{"0", "0"}, []string{r.field(fieldStock), r.field(fieldReturned)})
}

// testReturnedUnitsJoin: units that come back one after another do not put each other off.
func testReturnedUnitsJoin(t *testing.T, r *rig) {
	r.stop()
	r.open(1, r.hour(3))
	r.admit(applicants(1, 3)...)
	r.correct(order.Return{UserID: 1, OrderID: 1001, GiveBack: true})
	first := r.field(fieldReturnedAt)
	r.pass(2 * time.Millisecond)
	r.correct(order.Return{UserID: 2, OrderID: 1002, GiveBack: true})
	equal(t, first, r.field(fieldReturnedAt))
	equal(t, "2", r.field(fieldReturned))
	r.pass(testDelay)
	// Their time has come: the next one joins the stock at once.
	r.correct(order.Return{UserID: 3, OrderID: 1003, GiveBack: true})
	equal(t, []string{"3", "0"}, []string{r.field(fieldStock), r.field(fieldReturned)})
}
