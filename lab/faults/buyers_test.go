package faults

import (
	"context"
	"net/http"
	"slices"
	"time"

	"seckill/internal/checker"
	"seckill/scripts"
	"seckill/test/box"
)

// faultless is the rush without a fault: fifty times as many buyers as units.
func faultless(r *run) {
	r.open(deployment{units: 100})
	r.faultEnded()
	r.buyers.BuyAll(r.Context(), 200, r.newUsers(5000))
	r.finish()
	if got := r.buyers.Record.Counts(); len(r.buyers.Record.Winners()) != 100 || got["refused SOLD_OUT"] != 4900 {
		r.Errorf("answers %v, want 100 accepted and the others SOLD_OUT", got)
	}
}

// repeatedClicks lets one user buy at all instances at once: one order results, and every answer names it.
func repeatedClicks(r *run) {
	r.open(deployment{units: 10})
	r.faultEnded()
	user := slices.Repeat(r.newUsers(1), 200)
	r.buyers.BuyAll(r.Context(), len(user), user)
	r.buyers.BuyAll(r.Context(), 1, user)
	// The acceptance may itself be one whose outcome was unknown.
	if got := r.buyers.Record.Counts(); got["accepted"]+got["unknown"] < 1 || got["accepted"]+got["held"] != 400 {
		r.Fatalf("answers %v, want 400 that name the order", got)
	}
	r.finish()
}

// admissionAnswersLost loses answers of the script, one, two or three in a row, at each of two instances. An instance
// retries once, and after that must answer that the outcome is unknown.
func admissionAnswersLost(r *run) {
	r.open(deployment{instances: 2, units: 40})
	users := r.newUsers(100)
	r.buyers.BuyAll(r.Context(), 1, users[:2]) // now Redis has the script
	for n := 3; n < 40; n += 3 {
		proxy, lose := r.proxies[r.victim()].redis, 1+r.rand.IntN(3)
		r.buyers.Record.After(n, func() { proxy.DropRepliesTo(digest(scripts.Source("seckill")), lose) })
	}
	r.buyers.BuyAll(r.Context(), 8, append(users, users...))
	lost := 0
	for _, p := range r.proxies {
		lost += p.redis.Lost()
		p.redis.Heal()
	}
	if lost == 0 {
		r.Error("no answer of the script was lost")
	}
	r.faultEnded()
	r.checkLinearizable(r.finish())
	r.expectAnswer("unknown")
	r.expectAnswer("held")
}

// until sends a user's request to one instance after the other, from the n-th on, until it gets one of the answers, and
// returns that.
func (r *run) until(n int, user int64, path string, want ...int) box.Reply {
	ctx, cancel := context.WithTimeout(r.Context(), box.Patience)
	defer cancel()
	for i := n; ; i++ {
		url := r.site.Servers[i%len(r.site.Servers)].URL(path)
		reply, err := r.site.Client.Do(ctx, box.Request{Method: http.MethodPost, URL: url, Token: box.BuyerToken(user)})
		if err == nil && slices.Contains(want, reply.StatusCode) {
			return reply
		}
		select {
		case <-ctx.Done():
			r.Errorf("user %d, %s: %d %s, %v; want one of %v", user, path, reply.StatusCode, reply.Body, err, want)
			return reply
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// buyersHangUp lets buyers hang up just before their answer arrives, and at any other time; then they ask again.
func buyersHangUp(r *run) {
	r.open(deployment{units: 400})
	r.buyers.BuyAll(r.Context(), 1, r.newUsers(1)) // now Redis has the script
	for _, user := range r.newUsers(20) {
		r.hangUpWhenAccepted(user)
	}
	users := r.newUsers(300)
	for _, user := range users {
		ctx, cancel := context.WithTimeout(r.Context(), time.Duration(r.rand.IntN(4000))*time.Microsecond)
		r.buyers.Buy(ctx, r.site.Servers[r.victim()], user)
		cancel()
	}
	r.faultEnded()
	r.buyers.BuyAll(r.Context(), 8, users)
	r.finish()
	r.expectAnswer("unknown")
}

// hangUpWhenAccepted lets one buyer hang up after Redis has admitted them and before the instance knows. When they ask
// again they are told their order.
func (r *run) hangUpWhenAccepted(user int64) {
	r.Helper()
	n := r.victim()
	b := r.proxies[n].redis.Break(admissionAnswered())
	ctx, hangUp := context.WithCancel(r.Context())
	defer hangUp()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for ctx.Err() == nil { // a busy machine may have it refused before the script runs
			r.buyers.Buy(ctx, r.site.Servers[n], user)
		}
	}()
	r.await("the script's answer", b.Reached())
	hangUp()
	<-gone
	b.Release()
	if a := r.buyers.BuyUntilAnswered(r.Context(), user); a.Outcome != checker.Held {
		r.Errorf("the buyer who hung up is answered: %s; want their order", a)
	}
}
