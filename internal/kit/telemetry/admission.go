package telemetry

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
	"seckill/internal/order"
)

// admissionMetrics counts calls of the admission script.
type admissionMetrics struct {
	size        prometheus.Histogram
	seconds     prometheus.Histogram
	outcomes    *prometheus.CounterVec
	byOutcome   [order.OutcomeKinds]prometheus.Counter // indexed by Outcome.Index
	errors      *prometheus.CounterVec
	unavailable prometheus.Counter
	unknown     prometheus.Counter
}

func newAdmission() *admissionMetrics {
	const subsystem = "admission"
	a := &admissionMetrics{
		size: metric.Histogram(subsystem, "batch_size",
			"Requests per answered call of the admission script.",
			prometheus.ExponentialBuckets(1, 2, 9)), // 1 to 256, the largest batch
		seconds: metric.Histogram(subsystem, "duration_seconds",
			"Time of one call of the admission script, failed ones included.", metric.Seconds()),
		outcomes: metric.Counters(subsystem, "outcomes_total",
			"Requests by what the admission script decided; those refused from the cache are in "+
				"cache_refusals_total.", "outcome"),
		errors: metric.Counters(subsystem, "errors_total",
			"Failed calls of the admission script: certainly without effect (unavailable), or perhaps not (unknown).",
			"effect"),
	}
	// All series exist from the start: a rate over a series that appears with its first event would miss that event.
	for _, o := range order.Outcomes() {
		// The script itself never returns an outcome below Unreadable.
		a.byOutcome[o.Index()] = a.outcomes.WithLabelValues(max(o, order.Unreadable).String())
	}
	a.unavailable, a.unknown = a.errors.WithLabelValues("unavailable"), a.errors.WithLabelValues("unknown")
	return a
}

func (a *admissionMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{a.size, a.seconds, a.outcomes, a.errors}
}

// Admitted implements the Observer of package admission.
func (m *Metrics) Admitted(results []order.Result, took time.Duration, err error) {
	a := m.admission
	a.seconds.Observe(took.Seconds())
	switch {
	case errors.Is(err, order.ErrUnavailable):
		a.unavailable.Inc()
		return
	case err != nil:
		a.unknown.Inc()
		return
	}
	a.size.Observe(float64(len(results)))
	var counts [order.OutcomeKinds]int
	for _, r := range results {
		counts[r.Outcome.Index()]++
	}
	for i, n := range counts {
		if n > 0 {
			a.byOutcome[i].Add(float64(n))
		}
	}
}
