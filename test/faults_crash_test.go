package test

import (
	"time"

	"seckill/internal/testkit"
)

// killedAfterTheScript kills an instance when Redis has let buyers in and the instance has not heard of it. They know
// nothing, ask the others, and are told the orders that they have.
func killedAfterTheScript(d *drill) {
	d.open(deployment{})
	d.load(48, 20*time.Millisecond)
	d.traffic(300)
	n := d.victim()
	d.killAt(n, d.wires[n].redis, admissionAnswered())
	d.traffic(300)
	d.finish()
	d.expectAnswer("held")
	d.comesBack(n)
}

// killedAt kills an instance at a moment of recording. The others take over what it had read.
func killedAt(m testkit.Moment) func(*drill) {
	return func(d *drill) {
		d.open(deployment{})
		d.load(48, 20*time.Millisecond)
		d.traffic(300)
		n := d.victim()
		d.killAt(n, d.wires[n].mysql, m)
		d.traffic(300)
		d.finish() // by the others alone
		d.comesBack(n)
	}
}

// comesBack starts an instance that was killed, which must change nothing.
func (d *drill) comesBack(n int) {
	d.Helper()
	d.must(d.site.servers[n].start())
	d.settled()
}

// killedInTurn kills each of three instances, one after the other, and starts each again at once.
func killedInTurn(d *drill) {
	d.open(deployment{units: 16000}) // a quick machine sells thousands while an instance starts
	d.load(48, 20*time.Millisecond)
	for _, srv := range d.site.servers {
		d.traffic(200 + d.rand.IntN(200))
		d.must(crash(srv))
	}
	d.heal()
	d.finish()
	d.expectAnswer("nobody there")
}

// onlyOneKilled kills the only instance, three times: for a while nobody answers.
func onlyOneKilled(d *drill) {
	d.open(deployment{instances: 1, units: 16000})
	d.load(48, 20*time.Millisecond)
	for range 3 {
		d.traffic(200 + d.rand.IntN(200))
		d.must(crash(d.site.servers[0]))
	}
	d.heal()
	d.finish()
	d.expectAnswer("nobody there")
}

// killedInShort lets a few clients press the button two hundred times for forty units, while one of two instances is
// killed and started again.
func killedInShort(d *drill) {
	d.open(deployment{instances: 2, units: 40})
	users := d.people(100)
	d.crowd.record.after(5+d.rand.IntN(30), func() {
		if err := crash(d.site.servers[d.victim()]); err != nil {
			d.Error(err)
		}
		d.heal()
	})
	d.crowd.rush(d.Context(), 8, append(users, users...))
	d.linearizable(d.finish())
}

// killAt waits for a moment on an instance's wire and kills the instance at it. That is all of the fault: the others
// have to do without it.
func (d *drill) killAt(n int, wire *testkit.Proxy, m testkit.Moment) {
	d.Helper()
	c := wire.Catch(m)
	d.await("the moment of the fault", c.Caught())
	d.must(d.site.servers[n].kill())
	c.Cut()
	d.heal()
}

// expectAnswer fails the drill when nobody was answered in that way: the fault then missed its aim.
func (d *drill) expectAnswer(kind string) {
	d.Helper()
	if tally := d.crowd.record.tally(); tally[kind] == 0 {
		d.Errorf("nobody was told %q: %v", kind, tally)
	}
}
