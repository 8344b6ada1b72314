package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"seckill/internal/order"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// couponRedeemed is a part of the statement that makes orders redeemed.
const couponRedeemed = "`redeem_time`="

// coupon is a coupon that several callers want at once.
type coupon struct {
	user        int64
	order, code string
}

// redeemed lets tills redeem coupons, with and without reservations, while their owners want refunds. Exactly one
// caller gets each coupon, whichever faults happen, one after the other.
func redeemed(strikes ...func(r *run, race func())) func(*run) {
	const coupons = 30
	return func(r *run) {
		r.open(deployment{})
		voucher := r.createSale(int64(coupons*len(strikes)), map[string]any{"redeemable": true})
		r.load(8, 50*time.Millisecond)
		r.awaitAccepted(50)
		for _, strike := range strikes {
			r.raceForCoupons(r.buyAndPay(voucher, coupons), strike)
		}
		r.faultEnded()
		r.expectOneEnd(voucher, int64(coupons*len(strikes)))
		r.awaitAccepted(50)
		r.finish()
	}
}

// raceForCoupons lets two tills and, for most coupons, the owner want each coupon at once, while the fault happens.
func (r *run) raceForCoupons(coupons []coupon, strike func(r *run, race func())) {
	r.Helper()
	var (
		begin  = make(chan struct{})
		racing sync.WaitGroup
		wins   = make([]atomic.Int32, len(coupons))
		bound  = make(chan struct{}, 12) // bounds the requests under way
	)
	for i, c := range coupons {
		wants := []func(context.Context, coupon) (bool, error){r.reserveAndRedeem, r.redeem, r.refund}
		if i%4 == 0 {
			wants = wants[:2] // so that tills get some at every instance, however fast the owners are
		}
		for _, want := range wants {
			racing.Go(func() {
				<-begin
				bound <- struct{}{}
				defer func() { <-bound }()
				won, err := want(r.Context(), c)
				if err != nil {
					r.Errorf("order %s: %v", c.order, err)
				}
				if won {
					wins[i].Add(1)
				}
			})
		}
	}
	strike(r, func() { close(begin) })
	r.await("the last answer about a coupon", closedAfter(&racing))
	for i, c := range coupons {
		if n := wins[i].Load(); n != 1 {
			r.Errorf("%d have got the coupon of order %s", n, c.order)
		}
	}
}

// tillsInstanceKilled kills an instance while it serves tills, and starts it again.
func tillsInstanceKilled(at testkit.Match) func(*run, func()) {
	return func(r *run, race func()) {
		r.Helper()
		n := r.victim()
		b := r.proxies[n].mysql.Break(at)
		race()
		r.await("the request to fail at", b.Reached())
		r.must(r.site.Servers[n].KillAndStart())
		b.Cut()
	}
}

// tillsMySQLKilled kills MySQL while a till's COMMIT is on its way.
func tillsMySQLKilled(r *run, race func()) {
	r.Helper()
	b := r.proxies[r.victim()].mysql.Break(testkit.Match{Text: commit, After: couponRedeemed})
	race()
	r.await("a till's commit", b.Reached())
	r.mysql.Kill()
	b.Cut()
	r.mysql.Start()
}

// buyAndPay returns the coupons of n new users who have bought and paid.
func (r *run) buyAndPay(voucher int64, n int) (paid []coupon) {
	r.Helper()
	for _, user := range r.newUsers(n) {
		// Conflict: it is the user's by a request whose answer was lost or came before its row.
		bought := r.until(0, user, fmt.Sprintf("/voucher/seckill/%d?wait=10s", voucher), http.StatusCreated,
			http.StatusConflict)
		id := box.Decode[box.Placed](r, bought).OrderID
		if id == "" {
			r.Fatalf("user %d bought nothing: %s", user, bought.Body)
		}
		begun := r.until(0, user, "/order/"+id+"/pay", http.StatusOK)
		r.until(0, user, box.Decode[struct{ PayURL string }](r, begun).PayURL, http.StatusOK)
		found := box.Decode[struct{ Coupon struct{ Code string } }](r, r.site.Client.Whole(r, box.Request{
			URL: r.site.URL("/order/" + id), Token: box.BuyerToken(user),
		}))
		paid = append(paid, coupon{user, id, found.Coupon.Code})
	}
	return paid
}

// redeem redeems the coupon at once, at a till of its own.
func (r *run) redeem(ctx context.Context, c coupon) (bool, error) {
	reply, err := r.askTill(ctx, c, 7001, "redeem", map[string]any{"code": c.code})
	return reply.StatusCode == http.StatusOK, err
}

// reserveAndRedeem redeems it with a reservation.
func (r *run) reserveAndRedeem(ctx context.Context, c coupon) (bool, error) {
	reply, err := r.askTill(ctx, c, 7002, "reserve", map[string]any{"code": c.code})
	if err != nil || reply.StatusCode != http.StatusOK {
		return false, err
	}
	var reserved struct{ Reservation struct{ ID string } }
	if err := json.Unmarshal(reply.Data, &reserved); err != nil {
		return false, err
	}
	body := map[string]any{"code": c.code, "reservationId": reserved.Reservation.ID}
	reply, err = r.askTill(ctx, c, 7002, "redeem", body)
	return reply.StatusCode == http.StatusOK, err
}

// refund asks for a refund.
func (r *run) refund(ctx context.Context, c coupon) (bool, error) {
	reply, err := r.askUntilAnswered(ctx, c,
		box.Request{Method: http.MethodPost, URL: "/order/" + c.order + "/refund", Token: box.BuyerToken(c.user)})
	return reply.StatusCode == http.StatusOK || reply.StatusCode == http.StatusAccepted, err
}

// askTill repeats a till's request until it is answered.
func (r *run) askTill(ctx context.Context, c coupon, till int64, verb string, body any) (box.Reply, error) {
	claims := box.Claims(till, "till")
	claims["shop"] = 1
	return r.askUntilAnswered(ctx, c, box.Request{
		Method: http.MethodPost, URL: "/till/" + verb, Token: box.Sign(box.Secret, claims), Body: body,
		Header: map[string]string{"Idempotency-Key": verb + "-" + c.order},
	})
}

// askUntilAnswered sends a request, whose URL is a path, to one instance after the other until it succeeds or is
// refused for good.
func (r *run) askUntilAnswered(ctx context.Context, c coupon, request box.Request) (reply box.Reply, err error) {
	ctx, cancel := context.WithTimeout(ctx, box.Patience)
	defer cancel()
	path := request.URL
	for i := int(c.user); ; i++ {
		request.URL = r.site.Servers[i%len(r.site.Servers)].URL(path)
		reply, err = r.site.Client.Do(ctx, request)
		if err == nil {
			switch reply.StatusCode {
			case http.StatusOK, http.StatusAccepted, http.StatusConflict:
				return reply, nil
			case http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			default:
				return reply, fmt.Errorf("%s is answered %d: %s", path, reply.StatusCode, reply.Body)
			}
		}
		select {
		case <-ctx.Done():
			return reply, fmt.Errorf("%s: never answered: %d %s: %w", path, reply.StatusCode, reply.Body, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// expectOneEnd fails the scenario unless each of the sale's orders was redeemed once or refunded once, and the refunded
// units are on sale again.
func (r *run) expectOneEnd(voucher, orders int64) {
	r.Helper()
	count := func(query string, args ...any) (n int64) {
		r.Helper()
		r.must(r.site.Ledger.DB.QueryRowContext(r.Context(), query, args...).Scan(&n))
		return n
	}
	const inState = "SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ? AND status = ?"
	box.Eventually(r, "the end of all refunds", func() error {
		if n := count(inState, voucher, order.Refunding); n > 0 {
			return fmt.Errorf("%d orders are being refunded", n)
		}
		return nil
	})
	redeemed, refunded := count(inState, voucher, order.Redeemed), count(inState, voucher, order.Refunded)
	events := count("SELECT COUNT(*) FROM tb_order_event e JOIN tb_voucher_order o ON o.id = e.order_id WHERE "+
		"o.voucher_id = ? AND e.status IN (?, ?)",
		voucher, order.Redeemed, order.Refunded)
	stock, _, err := r.site.Ledger.Sale(r.Context(), voucher)
	r.must(err)
	if redeemed+refunded != orders || events != orders || stock != refunded {
		r.Errorf("of %d orders %d are redeemed and %d refunded, with %d such lines in their "+
			"histories and %d units on sale",
			orders, redeemed, refunded, events, stock)
	}
	r.Logf("redeemed %d, refunded %d", redeemed, refunded)
}
