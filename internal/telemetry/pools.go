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
	// Since the start: how often callers waited for a connection, for how long in total, and how often they got none.
	Waits    int64
	Waited   time.Duration
	Timeouts int64
}

// WatchPools registers read, which returns the state of the connection pools. It is called whenever the metrics are
// read. Call WatchPools once.
func (m *Metrics) WatchPools(read func() []Pool) {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return metric.Desc("pool", name, help, append([]string{"pool"}, labels...)...)
	}
	connections := desc("connections", "Connections to a store that are open.", "state")
	waits := desc("waits_total", "How often a caller had to wait for a connection.")
	seconds := desc("wait_seconds_total", "Total time for which callers have waited for connections.")
	timeouts := desc("timeouts_total", "How often a caller gave up waiting for a connection.")
	m.registry.MustRegister(prometheus.CollectorFunc(func(to chan<- prometheus.Metric) {
		for _, p := range read() {
			to <- prometheus.MustNewConstMetric(connections, prometheus.GaugeValue, float64(p.InUse), p.Name, "in_use")
			to <- prometheus.MustNewConstMetric(connections, prometheus.GaugeValue, float64(p.Idle), p.Name, "idle")
			to <- prometheus.MustNewConstMetric(waits, prometheus.CounterValue, float64(p.Waits), p.Name)
			to <- prometheus.MustNewConstMetric(seconds, prometheus.CounterValue, p.Waited.Seconds(), p.Name)
			to <- prometheus.MustNewConstMetric(timeouts, prometheus.CounterValue, float64(p.Timeouts), p.Name)
		}
	}))
}
