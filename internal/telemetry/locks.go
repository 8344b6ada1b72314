package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
)

// locks counts uses of the locks that instances share. Lock names contain voucher ids, so they are not a label: the
// number of series would not be bounded.
type locks struct {
	seconds      prometheus.Histogram
	busy, failed prometheus.Counter
}

func newLocks(r registry) *locks {
	const subsystem = "lock"
	refusals := r.counters(subsystem, "refusals_total",
		"Locks that were not obtained: another instance had it and the caller does not wait (busy), or Redis was "+
			"away (failed).", "reason")
	return &locks{
		seconds: r.histogram(subsystem, "wait_seconds",
			"Time from requesting a lock shared by all instances to holding it.", metric.Seconds()),
		busy: refusals.WithLabelValues("busy"), failed: refusals.WithLabelValues("failed"),
	}
}

// Locked counts a lock that was obtained, and the time until then.
func (m *Metrics) Locked(took time.Duration) { m.locks.seconds.Observe(took.Seconds()) }

// LockBusy counts a lock that another instance had.
func (m *Metrics) LockBusy() { m.locks.busy.Inc() }

// LockFailed counts a lock that could not be requested.
func (m *Metrics) LockFailed() { m.locks.failed.Inc() }
