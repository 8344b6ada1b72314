package waitlist

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
	"seckill/internal/order/gate"
)

const subsystem = "waitlist"

// Metrics counts joins, answers and turns of waiting lists.
type Metrics struct {
	joins    *prometheus.CounterVec
	turns    *prometheus.CounterVec
	released prometheus.Counter
	failures prometheus.Counter
	seconds  prometheus.Histogram
}

// NewMetrics returns metrics that are not registered.
func NewMetrics() *Metrics {
	m := &Metrics{
		joins: metric.Counters(subsystem, "joins_total",
			"Requests to join a waiting list, by what became of them.", "result"),
		turns: metric.Counters(subsystem, "turns_total",
			"Places on waiting lists whose turn came, and what became of it; accepted: by their users, standing: as "+
				"they had said yes before, asked_again: about whom Redis was asked again.", "result"),
		released: metric.Counter(subsystem, "released_units_total",
			"Kept units that were put on sale, as nobody waited for them."),
		failures: metric.Counter(subsystem, "turn_failures_total", "Turns of waiting lists that failed."),
		seconds: metric.Histogram(subsystem, "turn_duration_seconds",
			"Time of one turn of a waiting list that found something to do.", metric.Seconds()),
	}
	for _, result := range []string{
		"invited", "accepted", "standing", "declined", "missed", "bought", "refused", "asked_again", "over",
	} {
		m.turns.WithLabelValues(result)
	}
	return m
}

// Collectors returns the collectors to register.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.joins, m.turns, m.released, m.failures, m.seconds}
}

// Joined counts a request to join; err is nil if it got a place.
func (m *Metrics) Joined(err error) { m.joins.WithLabelValues(joinResult(err)).Inc() }

// joinResult names the result of a request to join.
func joinResult(err error) string {
	_, bought := errors.AsType[*gate.AlreadyBoughtError](err)
	switch {
	case err == nil:
		return "joined"
	case bought:
		return "already_bought"
	case errors.Is(err, ErrOnSale):
		return "on_sale"
	case doubtful(err):
		return "unavailable"
	default:
		return "refused"
	}
}

// Answered counts an invitation that was accepted or declined.
func (m *Metrics) Answered(accepted bool) {
	result := "declined"
	if accepted {
		result = "accepted"
	}
	m.turns.WithLabelValues(result).Inc()
}

// Turned counts the changes of one turn of a list, or its failure with err.
func (m *Metrics) Turned(p Pass, took time.Duration, err error) {
	for result, n := range map[string]int64{
		"invited": p.Invited, "standing": p.Accepted, "missed": p.Missed, "bought": p.Bought, "refused": p.Refused,
		"asked_again": p.Again, "over": p.Over,
	} {
		m.turns.WithLabelValues(result).Add(float64(n))
	}
	m.released.Add(float64(p.Released))
	if err != nil {
		m.failures.Inc()
		return
	}
	m.seconds.Observe(took.Seconds())
}
