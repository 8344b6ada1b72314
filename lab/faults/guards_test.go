package faults

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"seckill/test/box"
)

const (
	// shareOfAddress is how many units the guarded sale gives an address, and guardedAddresses how many there are.
	shareOfAddress, guardedAddresses = 10, 8
	// cutPresses is how many purchases hang up, per address and buyer.
	cutPresses = 300
	// countedWithin is how long after the last request all counts must be those of what was sold.
	countedWithin = 10 * time.Second
)

// guardedSale is a sale with shares of addresses, at one instance: for a second, each instance has its own share.
type guardedSale struct {
	*run

	id   int64
	cuts atomic.Int64
}

// callersHangUp lets buyers with an order, and others, press and hang up at any moment, from one address each, while
// their neighbours buy: the neighbours get the rest of the share, and ten seconds later share, tally and orders agree.
func callersHangUp(r *run) {
	r.open(deployment{instances: 2, settings: map[string]string{
		"SECKILL_TRUSTED_PROXIES": "127.0.0.1", "SECKILL_USER_RATE": "0",
	}})
	r.load(2, 50*time.Millisecond)
	r.awaitAccepted(50)
	g := &guardedSale{run: r, id: r.createSale(1000, map[string]any{
		"guards": map[string]any{"units": map[string]any{"perAddress": shareOfAddress}},
	})}
	var all sync.WaitGroup
	for n := range guardedAddresses {
		address := fmt.Sprintf("192.0.2.%d", n+1)
		all.Go(func() {
			winner, other := r.newUsers(1)[0], r.newUsers(1)[0]
			if code := g.press(r.Context(), winner, address); code != "" {
				r.Errorf("the first buyer at %s: %s", address, code)
			}
			var cutting sync.WaitGroup
			for _, user := range []int64{winner, other} {
				for range 4 { // lines of each
					cutting.Go(func() { g.cut(user, address, cutPresses/4) })
				}
			}
			for _, neighbour := range r.newUsers(shareOfAddress - 2) {
				if code := g.press(r.Context(), neighbour, address); code != "" {
					r.Errorf("a neighbour at %s: %s", address, code)
				}
			}
			cutting.Wait()
		})
	}
	all.Wait()
	r.Logf("%d purchases hung up", g.cuts.Load())
	r.faultEnded()
	ended := time.Now()
	for n := range guardedAddresses { // the last unit of each share may be had, and no more
		for _, user := range r.newUsers(3) {
			g.press(r.Context(), user, fmt.Sprintf("192.0.2.%d", n+1))
		}
	}
	g.agree(ended.Add(countedWithin))
	r.finish()
}

// press buys until the answer is final, and returns its code; "" for an order.
func (g *guardedSale) press(ctx context.Context, user int64, address string) string {
	for {
		r, err := g.site.Client.Do(ctx, g.request(user, address))
		switch {
		case ctx.Err() != nil:
			return "no answer"
		case err == nil && r.Code == "ALREADY_BOUGHT", err == nil && r.StatusCode < 300:
			return ""
		case err == nil && r.StatusCode < 500 && r.StatusCode != http.StatusTooManyRequests:
			return r.Code
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// cut presses and hangs up within some milliseconds, some times at once and some after the answer.
func (g *guardedSale) cut(user int64, address string, presses int) {
	for n := range presses {
		ctx, hangUp := context.WithTimeout(g.Context(), time.Duration(n%40)*100*time.Microsecond)
		if _, err := g.site.Client.Do(ctx, g.request(user, address)); err != nil {
			g.cuts.Add(1)
		}
		hangUp()
	}
}

func (g *guardedSale) request(user int64, address string) box.Request {
	return box.Request{
		Method: http.MethodPost, Token: box.BuyerToken(user), Header: map[string]string{"X-Forwarded-For": address},
		URL: g.site.Servers[0].URL(fmt.Sprintf("/voucher/seckill/%d", g.id)),
	}
}

// agree waits until the ledger, the tally and the shares count the same units, at most until a time.
func (g *guardedSale) agree(by time.Time) {
	g.Helper()
	var tally, sold int64
	for {
		rows, err := g.site.Ledger.Orders(g.Context(), g.id)
		g.must(err)
		sold = int64(len(rows))
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
		if sold == guardedAddresses*shareOfAddress && tally == sold {
			return
		}
		if time.Now().After(by) {
			g.Errorf("%d orders, %d units counted, want %d of both", sold, tally, guardedAddresses*shareOfAddress)
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}
