package faults

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"seckill/test/box"
)

const (
	// shareOfAddress is how many units a guarded sale gives an address, and guardedAddresses how many there are.
	shareOfAddress, guardedAddresses = 10, 8
	// countedWithin is how long after the last request all counts must be those of what was sold.
	countedWithin = 10 * time.Second
)

// guardedSale is a sale with shares of addresses, at one instance: for a second, each instance has its own share.
type guardedSale struct {
	*run

	id      int64
	route   string // of a purchase, or of a place
	presses int    // that hang up, of each buyer
	cuts    atomic.Int64
}

// guarded creates a sale with shares, in which buyers press at a route behind its path; fields are additional.
func (r *run) guarded(route string, presses, units int, guards, fields map[string]any) *guardedSale {
	r.Helper()
	all := map[string]any{"units": map[string]any{"perAddress": shareOfAddress}}
	maps.Copy(all, guards)
	draft := map[string]any{"guards": all}
	maps.Copy(draft, fields)
	return &guardedSale{run: r, route: route, presses: presses, id: r.createSale(int64(units), draft)}
}

// callersHangUp has buyers with an order, and others, press and hang up at any moment, from one address each, while
// their neighbours buy: in a sale with shares, in one that also has limits, and on the waiting list of a third, with a
// standing yes. The neighbours get the rest of the share, and ten seconds later shares, tally, places and orders agree.
func callersHangUp(r *run) {
	r.open(deployment{instances: 2, settings: map[string]string{
		"SECKILL_TRUSTED_PROXIES": "127.0.0.1", "SECKILL_USER_RATE": "0",
	}})
	r.load(2, 50*time.Millisecond)
	r.awaitAccepted(50)
	presses := 150
	if os.Getenv(envFaults) == "all" {
		presses = 700 // tens of thousands in all
	}
	const plenty = 1000
	shares := r.guarded("/voucher/seckill/%d", presses, plenty, nil, nil)
	limits := r.guarded("/voucher/seckill/%d", presses, plenty, map[string]any{"limits": map[string]any{
		"perUser":    map[string]int{"requests": 10, "seconds": 10},
		"perAddress": map[string]int{"requests": 120, "seconds": 10},
	}}, nil)
	places := r.guarded("/voucher/%d/waitlist?standing=true", presses/5, 4, nil,
		map[string]any{"waitlistWindowSeconds": 600})
	for _, user := range r.newUsers(4) { // from no address of the crowd
		if got := places.ask(r.Context(), "/voucher/seckill/%d", user, "198.51.100.1"); got != "" {
			r.Fatalf("selling the units before anybody waits: %s", got)
		}
	}
	r.proxies[0].redis.Delay(2 * time.Millisecond) // so that many hang up during the call
	var all sync.WaitGroup
	for n := range guardedAddresses {
		for _, sale := range []*guardedSale{shares, limits, places} {
			all.Go(func() { sale.besiege(fmt.Sprintf("192.0.2.%d", n+1)) })
		}
	}
	all.Wait()
	r.proxies[0].redis.Heal()
	r.Logf("hung up: %d purchases, %d with limits, %d who wait",
		shares.cuts.Load(), limits.cuts.Load(), places.cuts.Load())
	r.faultEnded()
	for _, sale := range []*guardedSale{shares, limits, places} {
		for n := range guardedAddresses { // the last units of each share may be had, and no more
			for _, user := range r.newUsers(3) {
				sale.press(user, fmt.Sprintf("192.0.2.%d", n+1))
			}
		}
	}
	const orders, standing = "SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ?",
		"SELECT COUNT(*) FROM tb_place WHERE voucher_id = ?"
	by := time.Now().Add(countedWithin + r.leeway())
	shares.agree(by, orders, guardedAddresses*shareOfAddress)
	limits.agree(by, orders, guardedAddresses*shareOfAddress)
	places.agree(by, standing, guardedAddresses*shareOfAddress)
	r.finish()
}

// besiege has a buyer with an order, and another one, hang up again and again on four lines each, while their
// neighbours press one after the other.
func (g *guardedSale) besiege(address string) {
	winner, other := g.newUsers(1)[0], g.newUsers(1)[0]
	if code := g.press(winner, address); code != "" {
		g.Errorf("the first buyer at %s: %s", address, code)
	}
	var cutting sync.WaitGroup
	for _, user := range []int64{winner, other} {
		for line := range 4 {
			cutting.Go(func() { g.cut(user, address, line) })
		}
	}
	for _, neighbour := range g.newUsers(shareOfAddress - 2) {
		if code := g.press(neighbour, address); code != "" {
			g.Errorf("a neighbour at %s: %s", address, code)
		}
	}
	cutting.Wait()
}

// press asks until the answer is final, and returns its code; "" for an order or a place.
func (g *guardedSale) press(user int64, address string) string {
	for {
		code := g.ask(g.Context(), g.route, user, address)
		if code != "again" {
			return code
		}
		select {
		case <-g.Context().Done():
			return "no answer"
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ask asks once, and returns the code of the answer: "" for an order or a place, "again" if it is not final.
func (g *guardedSale) ask(ctx context.Context, route string, user int64, address string) string {
	r, err := g.site.Client.Do(ctx, box.Request{
		Method: http.MethodPost, Token: box.BuyerToken(user), Header: map[string]string{"X-Forwarded-For": address},
		URL: g.site.Servers[0].URL(fmt.Sprintf(route, g.id)),
	})
	switch {
	case err != nil, r.StatusCode >= 500, r.StatusCode == http.StatusTooManyRequests:
		return "again"
	case r.StatusCode < 300, r.Code == "ALREADY_BOUGHT":
		return ""
	}
	return r.Code
}

// cut presses and hangs up: some times at once, some during the call of the script, and some after the answer.
func (g *guardedSale) cut(user int64, address string, line int) {
	for n := range g.presses {
		ctx, hangUp := context.WithTimeout(g.Context(), time.Duration((n+10*line)%40)*500*time.Microsecond)
		g.ask(ctx, g.route, user, address)
		if ctx.Err() != nil {
			g.cuts.Add(1)
		}
		hangUp()
	}
}

// agree waits until the ledger, by a query, and the tally count as many units as the shares have room for, at most
// until a time. The tally does not count who only waits.
func (g *guardedSale) agree(by time.Time, query string, want int64) {
	g.Helper()
	var sold, tally int64
	for {
		g.must(g.site.Ledger.DB.QueryRowContext(g.Context(), query, g.id).Scan(&sold))
		reply := g.site.Client.Must(g, http.StatusOK, box.Request{
			Method: http.MethodGet, Token: box.AdminToken(),
			URL: g.site.Servers[0].URL("/admin/voucher/" + strconv.FormatInt(g.id, 10) + "/report"),
		})
		tally = 0
		for _, n := range box.Decode[struct {
			Guards struct{ UnitsByAge map[string]int64 }
		}](g, reply).Guards.UnitsByAge {
			tally += n
		}
		counted := want
		if g.route != "/voucher/seckill/%d" {
			counted = 4 // those that were sold before anybody waited
		}
		if sold == want && tally == counted {
			return
		}
		if time.Now().After(by) {
			// Counts that Redis has not acknowledged in time are not added again: too low, but never too high.
			if sold == want && tally < counted && g.logged("counts of guards could not be added") > 0 {
				return
			}
			g.Errorf("%s of sale %d: %d, and %d units counted, want %d and %d", query, g.id, sold, tally, want, counted)
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}
