package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
)

// Pool is the state of a connection pool.
type Pool struct {
	Name  string // from a fixed list; a label
	InUse int
	Idle  int
	// Since the start: how often callers waited for a connection, for how long in total, and how often in vain.
	Waits    int64
	Waited   time.Duration
	Timeouts int64
}

// pools reads the state of the connection pools whenever the metrics are read.
type pools struct {
	read                                  func() []Pool
	connections, waits, seconds, timeouts *prometheus.Desc
}

// WatchPools registers read, which returns the state of the connection pools. It is called whenever the metrics are
// read. Call WatchPools once.
func (m *Metrics) WatchPools(read func() []Pool) {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(metric.Namespace, "pool", name), help,
			append([]string{"pool"}, labels...), nil)
	}
	m.registry.MustRegister(&pools{ // cannot fail, see NewMetrics
		read:        read,
		connections: desc("connections", "Connections to a store that are open.", "state"),
		waits:       desc("waits_total", "How often a caller had to wait for a connection."),
		seconds:     desc("wait_seconds_total", "Total time for which callers have waited for connections."),
		timeouts:    desc("timeouts_total", "How often a caller gave up waiting for a connection."),
	})
}

// Describe implements [prometheus.Collector].
func (p *pools) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.connections, p.waits, p.seconds, p.timeouts} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (p *pools) Collect(to chan<- prometheus.Metric) {
	for _, pool := range p.read() {
		to <- prometheus.MustNewConstMetric(p.connections, prometheus.GaugeValue,
			float64(pool.InUse), pool.Name, "in_use")
		to <- prometheus.MustNewConstMetric(p.connections, prometheus.GaugeValue, float64(pool.Idle), pool.Name, "idle")
		to <- prometheus.MustNewConstMetric(p.waits, prometheus.CounterValue, float64(pool.Waits), pool.Name)
		to <- prometheus.MustNewConstMetric(p.seconds, prometheus.CounterValue, pool.Waited.Seconds(), pool.Name)
		to <- prometheus.MustNewConstMetric(p.timeouts, prometheus.CounterValue, float64(pool.Timeouts), pool.Name)
	}
}
