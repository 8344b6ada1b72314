package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
)

// locks counts uses of the locks that instances share. Lock names contain voucher ids, so they are not a label: the
// number of series would not be bounded.
type locks struct {
	seconds prometheus.Histogram
	busy    prometheus.Counter
	failed  prometheus.Counter

	refusals *prometheus.CounterVec
}

func newLocks() *locks {
	const subsystem = "lock"
	l := &locks{seconds: metric.Histogram(subsystem, "wait_seconds",
		"Time from requesting a lock shared by all instances to holding it.", metric.Seconds())}
	l.refusals = metric.Counters(subsystem, "refusals_total",
		"Locks that were not obtained: another instance had it and the caller does not wait (busy), or Redis was "+
			"away (failed).", "reason")
	l.busy, l.failed = l.refusals.WithLabelValues("busy"), l.refusals.WithLabelValues("failed")
	return l
}

func (l *locks) collectors() []prometheus.Collector {
	return []prometheus.Collector{l.seconds, l.refusals}
}

// Locked counts a lock that was obtained, and the time until then.
func (m *Metrics) Locked(took time.Duration) { m.locks.seconds.Observe(took.Seconds()) }

// LockBusy counts a lock that another instance had.
func (m *Metrics) LockBusy() { m.locks.busy.Inc() }

// LockFailed counts a lock that could not be requested.
func (m *Metrics) LockFailed() { m.locks.failed.Inc() }
