package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/webhook"
)

// webhooks counts what is sent to endpoints, and what waits.
type webhooks struct {
	attempts    *prometheus.CounterVec
	seconds     prometheus.Histogram
	deadLetters prometheus.Counter
	disabled    prometheus.Counter
	waiting     prometheus.Gauge
	oldest      prometheus.Gauge
	endpoints   *prometheus.GaugeVec
	dead        prometheus.Gauge
}

var _ webhook.Observer = (*Metrics)(nil)

func newWebhooks() *webhooks {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: "webhook", Name: name, Help: help,
		})
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: "webhook", Name: name, Help: help,
		})
	}
	w := &webhooks{
		attempts: counters("webhook", "attempts_total",
			"Attempts of this instance to send an event to an endpoint, by what came of them.", "result"),
		seconds: histogram("webhook", "attempt_duration_seconds",
			"Time of one attempt to send an event.", seconds()),
		deadLetters: counter("dead_letters_total",
			"Events that this instance gave up: the endpoint did not take them."),
		disabled: counter("disabled_total",
			"Endpoints that this instance disabled: they answered 410, or failed for five days."),
		waiting: gauge("waiting_events", "Events that the endpoint with the longest queue has not taken."),
		oldest: gauge("oldest_event_seconds",
			"How long the oldest event that an enabled endpoint has not taken has waited."),
		endpoints: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: "webhook", Name: "endpoints", Help: "Enabled endpoints: those that take " +
				"events, and those that fail and are only tried from time to time.",
		}, []string{"state"}),
		dead: gauge("dead_letters", "Dead letters that were neither replayed nor deleted."),
	}
	for _, result := range []string{"taken", "failed"} {
		w.attempts.WithLabelValues(result)
	}
	return w
}

func (w *webhooks) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		w.attempts, w.seconds, w.deadLetters, w.disabled, w.waiting, w.oldest, w.endpoints, w.dead,
	}
}

// EventSent implements [webhook.Observer].
func (m *Metrics) EventSent(ok bool, took time.Duration) {
	result := "failed"
	if ok {
		result = "taken"
	}
	m.webhooks.attempts.WithLabelValues(result).Inc()
	m.webhooks.seconds.Observe(took.Seconds())
}

// EventsGivenUp implements [webhook.Observer].
func (m *Metrics) EventsGivenUp(n int) { m.webhooks.deadLetters.Add(float64(n)) }

// EndpointDisabled implements [webhook.Observer].
func (m *Metrics) EndpointDisabled() { m.webhooks.disabled.Inc() }

// WebhooksWaiting implements [webhook.Observer].
func (m *Metrics) WebhooksWaiting(b webhook.Backlog) {
	m.webhooks.waiting.Set(float64(b.Events))
	m.webhooks.oldest.Set(b.Oldest.Seconds())
	m.webhooks.endpoints.WithLabelValues("failing").Set(float64(b.Broken))
	m.webhooks.endpoints.WithLabelValues("taking").Set(float64(b.Endpoints - b.Broken))
	m.webhooks.dead.Set(float64(b.DeadLetters))
}
