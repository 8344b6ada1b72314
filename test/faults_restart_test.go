package test

import (
	"slices"
	"time"
)

// rollingRestart replaces three instances one after the other under full load, behind a balancer that asks /readyz:
// every one of them leaves with exit code 0, and no buyer notices anything.
func rollingRestart(d *drill) {
	d.open(deployment{units: 20_000, settings: map[string]string{"SECKILL_DRAIN_DELAY": "500ms"}})
	d.crowd.pick = newBalancer(d, d.site.servers).pick
	d.load(64, 10*time.Millisecond)
	for _, srv := range d.site.servers {
		d.traffic(500)
		code, err := srv.terminate()
		d.must(err)
		if code != 0 {
			d.Errorf("%s ended with exit code %d", srv.name, code)
		}
		d.must(srv.start())
	}
	d.heal()
	d.finish()
	answers := d.crowd.record.all()
	if n := slices.IndexFunc(answers, func(a answer) bool { return a.verdict == unknown }); n >= 0 {
		d.Errorf("buyers had no answer, the first of them: %s", answers[n])
	}
}
