package test

import (
	"context"
	"slices"
	"time"

	"seckill/scripts"
)

// faultless is the burst that everything else is measured against: fifty times as many buyers as units.
func faultless(d *drill) {
	d.open(deployment{units: 100})
	d.heal()
	d.crowd.rush(d.Context(), 200, d.people(5000))
	d.finish()
	if got := d.crowd.record.tally(); got["accepted"] != 100 || got["refused SOLD_OUT"] != 4900 {
		d.Errorf("answers %v, want 100 accepted and the others SOLD_OUT", got)
	}
}

// impatientUser has one user press the button at all instances at once: there is one order, and every answer names it.
func impatientUser(d *drill) {
	d.open(deployment{units: 10})
	d.heal()
	ctx, cancel := context.WithTimeout(d.Context(), 15*time.Second)
	defer cancel()
	user := slices.Repeat(d.people(1), 200)
	d.crowd.rush(ctx, len(user), user)
	d.crowd.rush(ctx, 1, user)
	if got := d.crowd.record.tally(); got["accepted"] < 1 || got["accepted"]+got["held"] != 400 {
		d.Fatalf("answers %v, want 400 that name the order", got)
	}
	d.finish()
}

// admissionAnswersLost loses answers of the script, one, two or three in a row at each of two instances: an instance
// asks once more by itself, and after that its buyers must be told that it does not know.
func admissionAnswersLost(d *drill) {
	d.open(deployment{instances: 2, units: 40})
	users := d.people(100)
	d.crowd.rush(d.Context(), 1, users[:2]) // Redis knows the script from then on
	for n := 3; n < 40; n += 3 {
		wire, lose := d.wires[d.victim()].redis, 1+d.rand.IntN(3)
		d.crowd.record.after(n, func() { wire.DropRepliesTo(digest(scripts.Seckill), lose) })
	}
	d.crowd.rush(d.Context(), 8, append(users, users...))
	lost := 0
	for _, w := range d.wires {
		lost += w.redis.Lost()
		w.redis.Heal()
	}
	if lost == 0 {
		d.Error("no answer was lost")
	}
	d.heal()
	d.linearizable(d.finish())
	d.expectAnswer("unknown")
	d.expectAnswer("held")
}

// buyersHangUp has buyers hang up while the answer to them is on its way, and at any other moment; then they ask again.
func buyersHangUp(d *drill) {
	d.open(deployment{units: 400})
	d.crowd.rush(d.Context(), 1, d.people(1)) // Redis knows the script from then on
	for _, user := range d.people(20) {
		d.hangUpWhenAccepted(user)
	}
	users := d.people(300)
	for _, user := range users {
		ctx, cancel := context.WithTimeout(d.Context(), time.Duration(d.rand.IntN(4000))*time.Microsecond)
		d.crowd.buy(ctx, d.site.servers[d.victim()], user)
		cancel()
	}
	d.heal()
	d.crowd.rush(d.Context(), 8, users)
	d.finish()
	d.expectAnswer("unknown")
}

// hangUpWhenAccepted lets one buyer hang up when Redis has let him in and his instance has not heard of it. When he asks
// again he is told the order that he has.
func (d *drill) hangUpWhenAccepted(user int64) {
	d.Helper()
	n := d.victim()
	c := d.wires[n].redis.Catch(admissionAnswered())
	ctx, hangUp := context.WithCancel(d.Context())
	defer hangUp()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		d.crowd.buy(ctx, d.site.servers[n], user)
	}()
	d.await("the script's answer", c.Caught())
	hangUp()
	<-gone
	c.Release()
	if a := d.crowd.insist(d.Context(), user); a.verdict != held {
		d.Errorf("who hung up is told: %s; want the order that he has", a)
	}
}
