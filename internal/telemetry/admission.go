package telemetry

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
	"seckill/internal/order"
	"seckill/internal/order/gate"
)

// admissionMetrics counts calls of the admission script.
type admissionMetrics struct {
	size        prometheus.Histogram
	seconds     prometheus.Histogram
	byOutcome   [gate.OutcomeKinds]prometheus.Counter // indexed by Outcome.Index
	unavailable prometheus.Counter
	unknown     prometheus.Counter
}

func newAdmission(r registry) *admissionMetrics {
	const subsystem = "admission"
	a := &admissionMetrics{
		size: r.histogram(subsystem, "batch_size",
			"Requests per answered call of the admission script.",
			prometheus.ExponentialBuckets(1, 2, 9)), // 1 to 256, the largest batch
		seconds: r.histogram(subsystem, "duration_seconds",
			"Time of one call of the admission script, failed ones included.", metric.Seconds()),
	}
	outcomes := r.counters(subsystem, "outcomes_total",
		"Requests by what the admission script decided; those refused from the cache are in cache_refusals_total.",
		"outcome")
	// All series exist from the start: a rate over a series that appears with its first event would miss that event.
	for _, o := range gate.Outcomes() {
		// The script itself never returns an outcome below Unreadable.
		a.byOutcome[o.Index()] = outcomes.WithLabelValues(max(o, gate.Unreadable).String())
	}
	failed := r.counters(subsystem, "errors_total",
		"Failed calls of the admission script: certainly without effect (unavailable), or perhaps not (unknown).",
		"effect")
	a.unavailable, a.unknown = failed.WithLabelValues("unavailable"), failed.WithLabelValues("unknown")
	return a
}

// Admitted implements the Observer of package admission.
func (m *Metrics) Admitted(decided []gate.BatchResult, took time.Duration, err error) {
	a := m.admission
	a.seconds.Observe(took.Seconds())
	if err != nil {
		a.failed(err)
		return
	}
	size := 0
	var counts [gate.OutcomeKinds]int
	for i := range decided {
		if err := decided[i].Err; err != nil {
			a.failed(err)
			continue
		}
		size += len(decided[i].Results)
		for _, r := range decided[i].Results {
			counts[r.Outcome.Index()]++
		}
	}
	if size > 0 {
		a.size.Observe(float64(size))
	}
	for i, n := range counts {
		if n > 0 {
			a.byOutcome[i].Add(float64(n))
		}
	}
}

// failed counts a call, or a sale's part of one, that was not answered.
func (a *admissionMetrics) failed(err error) {
	if errors.Is(err, order.ErrUnavailable) {
		a.unavailable.Inc()
		return
	}
	a.unknown.Inc()
}
