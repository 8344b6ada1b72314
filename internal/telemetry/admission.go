package telemetry

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/order"
)

// outcomeNames are the values of the label outcome, by order.OutcomeCode.
func outcomeNames() []string {
	return []string{
		order.Accepted:      "accepted",
		order.AlreadyBought: "already_bought",
		order.NoSale:        "no_sale",
		order.LostTail:      "lost_tail",
		order.Rebuilding:    "rebuilding",
		order.NotOnShelf:    "off_shelf",
		order.Paused:        "paused",
		order.NotStarted:    "not_started",
		order.Ended:         "ended",
		order.SoldOut:       "sold_out",
		order.Backlogged:    "backlogged",
	}
}

// outcomeCount is how many outcomes there are, and one more for codes that the script may learn later.
const outcomeCount = int(order.Backlogged) + 2

// admission counts calls of the admission script.
type admission struct {
	size        prometheus.Histogram
	seconds     prometheus.Histogram
	outcomes    *prometheus.CounterVec
	byCode      [outcomeCount]prometheus.Counter
	errors      *prometheus.CounterVec
	unavailable prometheus.Counter
	unknown     prometheus.Counter
}

func newAdmission() *admission {
	const subsystem = "admission"
	a := &admission{
		size: histogram(subsystem, "batch_size", "Applicants that travelled in one answered call of the admission script.",
			prometheus.ExponentialBuckets(1, 2, 9)), // 1 to 256, the largest batch
		seconds: histogram(subsystem, "duration_seconds", "Time of one call of the admission script, failed ones included.", seconds()),
		outcomes: counters(subsystem, "outcomes_total",
			"Applicants by what the admission script decided; those refused from memory are in memory_refusals_total.", "outcome"),
		errors: counters(subsystem, "errors_total",
			"Calls of the admission script that failed: certainly without effect (unavailable) or not (unknown).", "effect"),
	}
	// Every series is there from the start: a rate over one that appears with its first event misses that event.
	for i := range a.byCode {
		name := "other"
		if names := outcomeNames(); i < len(names) {
			name = names[i]
		}
		a.byCode[i] = a.outcomes.WithLabelValues(name)
	}
	a.unavailable, a.unknown = a.errors.WithLabelValues("unavailable"), a.errors.WithLabelValues("unknown")
	return a
}

func (a *admission) collectors() []prometheus.Collector {
	return []prometheus.Collector{a.size, a.seconds, a.outcomes, a.errors}
}

// Admitted implements [order.Observer].
func (m *Metrics) Admitted(outcomes []order.Outcome, took time.Duration, err error) {
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
	a.size.Observe(float64(len(outcomes)))
	var counts [outcomeCount]int
	for _, o := range outcomes {
		counts[min(uint(o.Code), uint(outcomeCount-1))]++ // a negative code is a large one here
	}
	for i, n := range counts {
		if n > 0 {
			a.byCode[i].Add(float64(n))
		}
	}
}
