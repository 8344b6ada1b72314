package remotepay

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
)

const subsystem = "payments"

// Metrics counts calls to providers.
type Metrics struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	failing *prometheus.GaugeVec
}

// NewMetrics returns the metrics of the providers with these names.
func NewMetrics(names ...string) *Metrics {
	m := &Metrics{
		calls: metric.Counters(subsystem, "provider_calls_total",
			"Calls to payment providers over HTTP, by what came of them: answered, or why there was no clear answer.",
			"provider", "call", "result"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: metric.Namespace, Subsystem: subsystem, Name: "provider_duration_seconds",
			Help: "Time of one call to a payment provider over HTTP.", Buckets: metric.Seconds(),
		}, []string{"provider"}),
		failing: metric.Gauges(subsystem, "provider_failing",
			"1 while the last call of this instance to the payment provider had no clear answer, else 0.", "provider"),
	}
	for _, name := range names {
		for _, call := range Calls() {
			m.calls.WithLabelValues(name, call, "answered")
		}
		m.seconds.WithLabelValues(name)
		m.failing.WithLabelValues(name)
	}
	return m
}

// Collectors returns what is to be registered.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.calls, m.seconds, m.failing}
}

// called counts a call to a provider; err says why there is no clear answer.
func (m *Metrics) called(provider, call string, took time.Duration, err error) {
	result, failing := "answered", 0.0
	if f, is := errors.AsType[*CallError](err); is {
		result = string(f.Code)
	}
	if _, is := unclear(err); is {
		failing = 1
	}
	m.calls.WithLabelValues(provider, call, result).Inc()
	m.seconds.WithLabelValues(provider).Observe(took.Seconds())
	m.failing.WithLabelValues(provider).Set(failing)
}
