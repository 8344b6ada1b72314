package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
	"seckill/internal/order/recovery"
)

// WatchRepairs registers load, which returns the state of the repair queue whenever the metrics are read. Call
// WatchRepairs once.
func (m *Metrics) WatchRepairs(load func() map[recovery.Urgency]recovery.RepairLoad) {
	sales := metric.Desc("repairs", "waiting_sales",
		"Sales that this instance is repairing or retiring, or has queued for that, by urgency.", "sales")
	oldest := metric.Desc("repairs", "oldest_seconds",
		"How long the first of them has waited; 0 if none waits.", "sales")
	m.registry.MustRegister(prometheus.CollectorFunc(func(to chan<- prometheus.Metric) {
		for urgency, load := range load() {
			to <- prometheus.MustNewConstMetric(sales, prometheus.GaugeValue, float64(load.Sales), urgency.String())
			to <- prometheus.MustNewConstMetric(oldest, prometheus.GaugeValue, load.Oldest.Seconds(), urgency.String())
		}
	}))
}

// Swept implements [recovery.Observer].
func (m *Metrics) Swept(err error) {
	if err == nil {
		m.recorder.swept.SetToCurrentTime()
	}
}
