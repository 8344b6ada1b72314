package server

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"seckill/providers/stripe/internal/bridge"
)

// Metrics are the program's metrics.
type Metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	webhooks *prometheus.CounterVec
	notices  *prometheus.CounterVec
}

// NewMetrics returns the metrics. live says whether real money moves.
func NewMetrics(version string, live bool) *Metrics {
	counter := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "seckill_stripe_" + name, Help: help},
			[]string{label, "result"})
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		calls:    counter("calls_total", "Calls of the service, by result: done, refused, failed.", "call"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "seckill_stripe_call_seconds", Help: "How long calls of the service take, with Stripe's part.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2, 4, 7},
		}, []string{"call"}),
		webhooks: counter("webhooks_total", "Events of Stripe, by result: done, ignored, refused, failed.", "type"),
		notices:  counter("notices_total", "Notices to the service, by result: done, refused, failed.", "type"),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "seckill_stripe_live", Help: "1 if the key moves real money, 0 in test mode.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	if live {
		info.Set(1)
	}
	m.registry.MustRegister(m.calls, m.seconds, m.webhooks, m.notices, info,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *Metrics) called(call, result string, took time.Duration) {
	m.calls.WithLabelValues(call, result).Inc()
	m.seconds.WithLabelValues(call).Observe(took.Seconds())
}

// took counts an event. Types that mean nothing here are one.
func (m *Metrics) took(event, result string) {
	if event != "none" && !slices.Contains(bridge.Events(), event) {
		event = "other"
	}
	m.webhooks.WithLabelValues(event, result).Inc()
}

func (m *Metrics) told(notice, result string) { m.notices.WithLabelValues(notice, result).Inc() }
