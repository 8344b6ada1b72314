package telemetry

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"seckill/internal/order"
)

const namespace = "seckill"

// Metrics counts what the service does, in a registry of its own. It implements [order.Observer] and the observers of
// what happens to orders after that. Its methods do not block and may be called by several goroutines.
type Metrics struct {
	registry *prometheus.Registry

	requests  *requests
	admission *admission
	memory    *memory
	recorder  *recorder
	orders    *orders
	audit     *audit
	locks     *locks
}

var (
	_ order.Observer        = (*Metrics)(nil)
	_ order.CrierObserver   = (*Metrics)(nil)
	_ order.OutboxObserver  = (*Metrics)(nil)
	_ order.CloserObserver  = (*Metrics)(nil)
	_ order.CashierObserver = (*Metrics)(nil)
	_ order.AuditObserver   = (*Metrics)(nil)
)

// NewMetrics returns metrics in a new registry, beside those of the Go runtime, of the process and of the build.
func NewMetrics(b Build) *Metrics {
	m := &Metrics{
		registry:  prometheus.NewRegistry(),
		requests:  newRequests(),
		admission: newAdmission(),
		memory:    newMemory(),
		recorder:  newRecorder(),
		orders:    newOrders(),
		audit:     newAudit(),
		locks:     newLocks(),
	}
	// Registering into a registry that nobody else has fails only for names that clash, which any test would show.
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		b.collector(),
	)
	m.registry.MustRegister(m.requests.collectors()...)
	m.registry.MustRegister(m.admission.collectors()...)
	m.registry.MustRegister(m.memory.collectors()...)
	m.registry.MustRegister(m.recorder.collectors()...)
	m.registry.MustRegister(m.orders.collectors()...)
	m.registry.MustRegister(m.audit.collectors()...)
	m.registry.MustRegister(m.locks.collectors()...)
	return m
}

// Register adds a collector of another package, such as a connection pool's. It fails when a name is taken.
func (m *Metrics) Register(c prometheus.Collector) error { return m.registry.Register(c) }

// Handler serves the metrics to a Prometheus server. It belongs on the operations listener: it asks for no token.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Registry:            m.registry,
		ErrorHandling:       promhttp.ContinueOnError, // one broken collector does not hide the others
		MaxRequestsInFlight: 4,
		EnableOpenMetrics:   true,
	})
}

// seconds are bucket limits from half a millisecond to half a minute, for whatever a caller waits for.
func seconds() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
}

func counters(subsystem, name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
}

func histogram(subsystem, name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Subsystem: subsystem, Name: name, Help: help, Buckets: buckets,
	})
}
