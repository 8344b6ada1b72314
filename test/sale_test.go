package test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestSale is the service's reason to exist, from the first click to the last question: five thousand people want
// five hundred units.
func TestSale(t *testing.T) {
	t.Parallel()
	for _, kind := range siteKinds() {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			testSale(t, kind.open(t))
		})
	}
}

func testSale(t *testing.T, s *site) {
	const units, buyers, workers = 500, 5000, 200
	end := time.Now().Add(15 * time.Second) // the crowd needs half a second
	c := s.crowd(s.createSale(t, units, end))
	everybody := people(1000, buyers)

	began := time.Now()
	c.rush(t.Context(), workers, everybody)
	if time.Now().After(end) {
		t.Fatalf("the machine is too slow: the sale ended before its buyers had come")
	}
	t.Logf("answers within %v: %v", time.Since(began).Round(time.Millisecond), c.record.tally())
	if got := c.record.tally(); got["accepted"] != units || got["refused SOLD_OUT"] != buyers-units || len(got) != 2 {
		t.Fatalf("answers %v, want %d accepted and the others SOLD_OUT", got, units)
	}
	s.check(t, c, units)
	winners := c.record.winners()
	if len(winners) != units {
		t.Fatalf("%d winners, want %d", len(winners), units)
	}
	s.checkOrdersShown(t, c.voucher, winners)
	if v := s.voucher(t, c.voucher); *v.Stock != 0 || *v.Issued != units || v.SaleState != "sold_out" {
		t.Errorf("the voucher shows stock %d of %d, state %s; want 0 of %d, sold_out", *v.Stock, *v.Issued, v.SaleState, units)
	}

	t.Run("asking again while sold out", func(t *testing.T) { askAgain(t, c, winners, "SOLD_OUT") })
	s.awaitState(t, c.voucher, "ended")
	t.Run("asking again after the end", func(t *testing.T) { askAgain(t, c, winners, "ENDED") })
	s.check(t, c, units)
}

// checkOrdersShown asks for every winner's order as its owner.
func (s *site) checkOrdersShown(t *testing.T, voucher int64, winners map[int64]int64) {
	t.Helper()
	for user, id := range winners {
		want := orderJSON{ID: strconv.FormatInt(id, 10), UserID: user, VoucherID: voucher, Status: "unpaid"}
		if got := s.order(t, user, id); got != want {
			t.Fatalf("order %d is shown as %+v, want %+v", id, got, want)
		}
	}
}

// askAgain lets all winners and as many losers press the button once more: a winner is told his order, whatever has
// become of the sale, and a loser the reason.
func askAgain(t *testing.T, c *crowd, winners map[int64]int64, reason string) {
	t.Helper()
	var users []int64
	losers := len(winners)
	for _, a := range c.record.all() {
		_, won := winners[a.user]
		if !won && losers > 0 {
			losers--
		}
		if (won || losers > 0) && !slices.Contains(users, a.user) {
			users = append(users, a.user)
		}
	}
	again := &crowd{client: c.client, servers: c.servers, voucher: c.voucher, record: &record{}}
	again.rush(t.Context(), 50, users)
	for _, a := range again.record.all() {
		c.record.add(a)
		id, won := winners[a.user]
		switch {
		case won && (a.verdict != held || a.order != id):
			t.Errorf("winner of order %d is told: %s", id, a)
		case !won && (a.verdict != refused || a.code != reason):
			t.Errorf("loser is told: %s; want %s", a, reason)
		}
	}
}

// TestImpatientBuyer has one user press the button two hundred times at once and two hundred times more: there is one
// order, and every answer names it. (Three instances: scenario F02.)
func TestImpatientBuyer(t *testing.T) {
	t.Parallel()
	for _, kind := range siteKinds()[:2] {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			s := kind.open(t)
			c := s.crowd(s.createSale(t, 10, time.Now().Add(time.Hour)))
			user := slices.Repeat([]int64{4242}, 200)
			c.rush(t.Context(), len(user), user)
			c.rush(t.Context(), 1, user)
			if got := c.record.tally(); got["accepted"] < 1 || got["accepted"]+got["held"] != 400 {
				t.Errorf("answers %v, want 400 that name the order", got)
			}
			s.check(t, c, 10)
		})
	}
}

// TestWindow: nobody gets in before the begin, and the sale opens by itself.
func TestWindow(t *testing.T) {
	t.Parallel()
	s := realSite(t, 1)
	begin := time.Now().Add(4 * time.Second)
	r := s.client.must(t, http.StatusCreated, request{
		method: http.MethodPost, url: s.url("/voucher/seckill"), token: adminToken(),
		body: seckillDraft(1, 5, begin, begin.Add(time.Hour)),
	})
	v := decode[voucherJSON](t, r)
	s.awaitState(t, v.ID, "not_started")
	early := s.crowd(v.ID)
	a := early.buy(t.Context(), s.servers[0], 1)
	if a.told.Before(begin.Add(-time.Second)) && (a.verdict != refused || a.code != "NOT_STARTED") {
		t.Errorf("before the begin: %s, want NOT_STARTED", a)
	}
	s.awaitState(t, v.ID, "on_sale")
	c := s.crowd(v.ID)
	c.rush(t.Context(), 10, people(1, 10))
	if got := c.record.tally(); got["accepted"] != 5 || got["refused SOLD_OUT"] != 5 {
		t.Errorf("after the begin: %v, want 5 accepted and 5 SOLD_OUT", got)
	}
	for _, a := range c.record.all() {
		if a.verdict == accepted && a.asked.Before(begin.Add(-time.Second)) {
			t.Errorf("accepted before the begin: %s", a)
		}
	}
	s.check(t, c, 5)
}
