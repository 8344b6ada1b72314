package telemetry

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"seckill/internal/order/admission"
	"seckill/internal/order/audit"
	"seckill/internal/order/outbox"
	"seckill/internal/order/recorder"
	"seckill/internal/order/recovery"
	"seckill/internal/order/service"
)

// Metrics counts the service's events, in its own registry. It implements the observers of the domain's packages. Its
// methods do not block and are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	requests   *requests
	admission  *admissionMetrics
	cache      *cacheMetrics
	recorder   *recorderMetrics
	partitions *partitionMetrics
	orders     *orders
	audit      *auditMetrics
	repairs    *repairMetrics
	locks      *locks
}

var (
	_ recorder.Observer  = (*Metrics)(nil)
	_ recovery.Observer  = (*Metrics)(nil)
	_ admission.Observer = (*Metrics)(nil)
	_ outbox.Observer    = (*Metrics)(nil)
	_ service.Observer   = (*Metrics)(nil)
	_ audit.Observer     = (*Metrics)(nil)
)

// NewMetrics returns metrics in a new registry, which also has those of the Go runtime, the process and the build.
func NewMetrics(b Build) *Metrics {
	m := &Metrics{
		registry:   prometheus.NewRegistry(),
		requests:   newRequests(),
		admission:  newAdmission(),
		cache:      newCacheMetrics(),
		recorder:   newRecorder(),
		partitions: newPartitions(),
		orders:     newOrders(),
		audit:      newAudit(),
		repairs:    newRepairs(),
		locks:      newLocks(),
	}
	// Registering in a new registry fails only if names clash, which every test would show.
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		b.collector(),
	)
	m.registry.MustRegister(m.requests.collectors()...)
	m.registry.MustRegister(m.admission.collectors()...)
	m.registry.MustRegister(m.cache.collectors()...)
	m.registry.MustRegister(m.recorder.collectors()...)
	m.registry.MustRegister(m.partitions.collectors()...)
	m.registry.MustRegister(m.orders.collectors()...)
	m.registry.MustRegister(m.audit.collectors()...)
	m.registry.MustRegister(m.repairs.collectors()...)
	m.registry.MustRegister(m.locks.collectors()...)
	return m
}

// Register adds another package's collector, such as a connection pool's. It fails if a name is taken.
func (m *Metrics) Register(c prometheus.Collector) error { return m.registry.Register(c) }

// Handler serves the metrics to Prometheus. Use it only on the operations listener: it requires no token.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Registry:            m.registry,
		ErrorHandling:       promhttp.ContinueOnError, // one broken collector does not hide the others
		MaxRequestsInFlight: 4,
		EnableOpenMetrics:   true,
	})
}
