package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
)

// WatchLoad registers load, which returns how many requests are in flight, how many event streams are open, and how
// many requests were refused because too many were in flight. It is called whenever the metrics are read. Call
// WatchLoad once.
func (m *Metrics) WatchLoad(load func() (inFlight, streams, refused int64)) {
	const subsystem = "http"
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: metric.Namespace, Subsystem: subsystem, Name: "requests_in_flight",
			Help: "HTTP requests in progress, except health checks, admins' requests and event streams.",
		}, func() float64 { n, _, _ := load(); return float64(n) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: metric.Namespace, Subsystem: subsystem, Name: "event_streams",
			Help: "Event streams that are open.",
		}, func() float64 { _, n, _ := load(); return float64(n) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: metric.Namespace, Subsystem: subsystem, Name: "overload_refusals_total",
			Help: "HTTP requests refused at once because too many were in flight; they are UNAVAILABLE " +
				"in requests_total too.",
		}, func() float64 { _, _, n := load(); return float64(n) }),
	)
}

// WatchConnections registers load, which returns how many connections are open at the public listener, and how many
// were refused because there were too many. It is called whenever the metrics are read. Call WatchConnections once.
func (m *Metrics) WatchConnections(load func() (open, refused int64)) {
	const subsystem = "http"
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: metric.Namespace, Subsystem: subsystem, Name: "connections",
			Help: "Connections that are open at the public listener.",
		}, func() float64 { n, _ := load(); return float64(n) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: metric.Namespace, Subsystem: subsystem, Name: "connections_refused_total",
			Help: "Connections answered UNAVAILABLE and closed because SECKILL_MAX_CONNECTIONS were open; their " +
				"requests are in no other metric.",
		}, func() float64 { _, n := load(); return float64(n) }),
	)
}

// WatchAddresses registers unreadable, which returns how many requests had an unreadable caller's address. It is called
// whenever the metrics are read. Call WatchAddresses once.
func (m *Metrics) WatchAddresses(unreadable func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Namespace: metric.Namespace, Subsystem: "http", Name: "unreadable_addresses_total",
		Help: "HTTP requests whose caller's address could not be read from a trusted proxy's X-Forwarded-For.",
	}, func() float64 { return float64(unreadable()) }))
}
