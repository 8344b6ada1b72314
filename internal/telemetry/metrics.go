package telemetry

import (
	"math"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"seckill/internal/kit/metric"
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
	registry registry

	requests   *requests
	admission  *admissionMetrics
	cache      *cacheMetrics
	recorder   *recorderMetrics
	partitions *partitionMetrics
	orders     *orders
	audit      *auditMetrics
	locks      *locks
}

var (
	_ recorder.Observer  = (*Metrics)(nil)
	_ recovery.Observer  = (*Metrics)(nil)
	_ admission.Observer = (*Metrics)(nil)
	_ outbox.Observer    = (*Metrics)(nil)
	_ service.Observer   = (*Metrics)(nil)
	_ audit.Observer     = (*Metrics)(nil)

	_ service.NoticeObserver = (*Metrics)(nil)
)

// NewMetrics returns metrics in a new registry, which also has those of the Go runtime, the process and the build.
func NewMetrics(b Build) *Metrics {
	r := registry{prometheus.NewRegistry()}
	add(r, collectors.NewGoCollector())
	add(r, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	add(r, prometheus.NewGauge(prometheus.GaugeOpts{ // dashboards join it with others
		Namespace: metric.Namespace, Name: "build_info", Help: "What this binary was built from; always 1.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "goversion": b.Go},
	})).Set(1)
	return &Metrics{
		registry:   r,
		requests:   newRequests(r),
		admission:  newAdmission(r),
		cache:      newCacheMetrics(r),
		recorder:   newRecorder(r),
		partitions: newPartitions(r),
		orders:     newOrders(r),
		audit:      newAudit(r),
		locks:      newLocks(r),
	}
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

// registry registers the metrics that it makes.
type registry struct{ *prometheus.Registry }

// add registers a collector. In a new registry that fails only if names clash, which every test would show.
func add[C prometheus.Collector](r registry, c C) C {
	r.MustRegister(c)
	return c
}

func (r registry) counter(subsystem, name, help string) prometheus.Counter {
	return add(r, metric.Counter(subsystem, name, help))
}

func (r registry) counters(subsystem, name, help string, labels ...string) *prometheus.CounterVec {
	return add(r, metric.Counters(subsystem, name, help, labels...))
}

func (r registry) gauge(subsystem, name, help string) prometheus.Gauge {
	return add(r, metric.Gauge(subsystem, name, help))
}

// unknownGauge is a gauge that is NaN until it is set.
func (r registry) unknownGauge(subsystem, name, help string) prometheus.Gauge {
	g := r.gauge(subsystem, name, help)
	g.Set(math.NaN())
	return g
}

func (r registry) histogram(subsystem, name, help string, buckets []float64) prometheus.Histogram {
	return add(r, metric.Histogram(subsystem, name, help, buckets))
}
