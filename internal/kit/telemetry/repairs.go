package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
	"seckill/internal/order/recovery"
)

// repairMetrics show the repair queue, and when the sales were last compared with the ledger.
type repairMetrics struct {
	swept  prometheus.Gauge
	sales  *prometheus.Desc
	oldest *prometheus.Desc
	load   func() map[recovery.Urgency]recovery.RepairLoad // nil until WatchRepairs
}

func newRepairs() *repairMetrics {
	const subsystem = "repairs"
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(metric.Namespace, subsystem, name), help,
			[]string{"sales"}, nil)
	}
	return &repairMetrics{
		swept: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: metric.Namespace, Subsystem: subsystem, Name: "last_sweep_timestamp_seconds",
			Help: "When this instance last compared all sales in Redis with the ledger, seconds " +
				"since 1970; 0 for never.",
		}),
		sales: desc("waiting_sales",
			"Sales that this instance is repairing or retiring, or has queued for that, by urgency."),
		oldest: desc("oldest_seconds", "How long the first of them has waited; 0 if none waits."),
	}
}

func (r *repairMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{r, r.swept}
}

// Describe implements [prometheus.Collector].
func (r *repairMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- r.sales
	to <- r.oldest
}

// Collect implements [prometheus.Collector].
func (r *repairMetrics) Collect(to chan<- prometheus.Metric) {
	if r.load == nil {
		return
	}
	for urgency, load := range r.load() {
		to <- prometheus.MustNewConstMetric(r.sales, prometheus.GaugeValue, float64(load.Sales), urgency.String())
		to <- prometheus.MustNewConstMetric(r.oldest, prometheus.GaugeValue, load.Oldest.Seconds(), urgency.String())
	}
}

// WatchRepairs registers load, which returns the state of the repair queue. Call it once, before the metrics are read.
func (m *Metrics) WatchRepairs(load func() map[recovery.Urgency]recovery.RepairLoad) {
	m.repairs.load = load
}

// Swept implements [recovery.Observer].
func (m *Metrics) Swept(err error) {
	if err == nil {
		m.repairs.swept.SetToCurrentTime()
	}
}
