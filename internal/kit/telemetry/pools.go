package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
)

// Pool is how a pool of connections is used.
type Pool struct {
	Name  string // from a fixed list; a label
	InUse int
	Idle  int
	// Since the start: how often a caller waited for a connection, for how long in all, and how often in vain.
	Waits    int64
	Waited   time.Duration
	Timeouts int64
}

// pools reads the state of the pools of connections whenever the metrics are read.
type pools struct {
	read                                  func() []Pool
	connections, waits, seconds, timeouts *prometheus.Desc
}

// WatchPools registers read, which is called whenever the metrics are read: how the pools of connections are used. It
// is called once.
func (m *Metrics) WatchPools(read func() []Pool) {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(metric.Namespace, "pool", name), help,
			append([]string{"pool"}, labels...), nil)
	}
	m.registry.MustRegister(&pools{ // as in NewMetrics
		read:        read,
		connections: desc("connections", "Connections to a store that are open.", "state"),
		waits:       desc("waits_total", "How often a caller had to wait for a connection."),
		seconds:     desc("wait_seconds_total", "For how long callers have waited for connections in all."),
		timeouts:    desc("timeouts_total", "How often a caller waited for a connection in vain."),
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
