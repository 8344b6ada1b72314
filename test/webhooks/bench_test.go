package webhooks

import (
	"testing"
	"time"
)

// How fast an endpoint catches up on a backlog of events, one of each order.
func BenchmarkCatchUp(b *testing.B) {
	r, to := newMySQLRig(b), newReceiver(b)
	r.endpoint(to)
	for b.Loop() {
		r.sells(10_000)
		taken, _, _ := to.counts()
		began := time.Now()
		stop := r.instance("one")
		to.await(taken + 10_000)
		b.ReportMetric(10_000/time.Since(began).Seconds(), "events/s")
		stop()
	}
	to.right()
}
