package webhook

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/kit/metric"
)

const subsystem = "webhook"

// metrics counts attempts to send events, and waiting events.
type metrics struct {
	attempts    *prometheus.CounterVec
	seconds     prometheus.Histogram
	deadLetters prometheus.Counter
	disabled    prometheus.Counter
	waiting     prometheus.Gauge
	oldest      prometheus.Gauge
	endpoints   *prometheus.GaugeVec
	dead        prometheus.Gauge
}

var _ dispatch.Observer = (*metrics)(nil)

func newMetrics() *metrics {
	m := &metrics{
		attempts: metric.Counters(subsystem, "attempts_total",
			"Attempts of this instance to send an event to an endpoint, by what came of them.", "result"),
		seconds: metric.Histogram(subsystem, "attempt_duration_seconds",
			"Time of one attempt to send an event.", metric.Seconds()),
		deadLetters: metric.Counter(subsystem, "dead_letters_total",
			"Events that this instance gave up: the endpoint did not take them."),
		disabled: metric.Counter(subsystem, "disabled_total",
			"Endpoints that this instance disabled: they answered 410, or failed for five days."),
		waiting: metric.Gauge(subsystem, "waiting_events",
			"Events that the endpoint with the longest queue has not taken."),
		oldest: metric.Gauge(subsystem, "oldest_event_seconds",
			"How long the oldest event that an enabled endpoint has not taken has waited."),
		endpoints: metric.Gauges(subsystem, "endpoints",
			"Enabled endpoints: those that take events, and those that fail and are only tried from time to time.",
			"state"),
		dead: metric.Gauge(subsystem, "dead_letters", "Dead letters that were neither replayed nor deleted."),
	}
	for _, result := range []string{"taken", "failed"} {
		m.attempts.WithLabelValues(result)
	}
	return m
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		m.attempts, m.seconds, m.deadLetters, m.disabled, m.waiting, m.oldest, m.endpoints, m.dead,
	}
}

// EventSent implements [dispatch.Observer].
func (m *metrics) EventSent(ok bool, took time.Duration) {
	result := "failed"
	if ok {
		result = "taken"
	}
	m.attempts.WithLabelValues(result).Inc()
	m.seconds.Observe(took.Seconds())
}

// EventsGivenUp implements [dispatch.Observer].
func (m *metrics) EventsGivenUp(n int) { m.deadLetters.Add(float64(n)) }

// EndpointDisabled implements [dispatch.Observer].
func (m *metrics) EndpointDisabled() { m.disabled.Inc() }

// wait shows the amount of waiting events.
func (m *metrics) setBacklog(b Backlog) {
	m.waiting.Set(float64(b.Events))
	m.oldest.Set(b.Oldest.Seconds())
	m.endpoints.WithLabelValues("failing").Set(float64(b.Broken))
	m.endpoints.WithLabelValues("taking").Set(float64(b.Endpoints - b.Broken))
	m.dead.Set(float64(b.DeadLetters))
}
