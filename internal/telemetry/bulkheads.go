package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/metric"
)

// WatchBulkheads registers read, which returns how the classes of callers share requests in flight and connections, by
// resource, a label from a fixed list. It is called whenever the metrics are read. Call WatchBulkheads once.
func (m *Metrics) WatchBulkheads(read func() map[string][]bulkhead.Load) {
	desc := func(name, help string) *prometheus.Desc {
		return metric.Desc("bulkhead", name, help, "resource", "class")
	}
	inUse := desc("in_use", "Requests in flight of a class of callers, or its connections to a store.")
	waiting := desc("waiting", "Callers of a class who wait for a connection.")
	limit := desc("limit", "The most that a class can have while the others use only their reserves.")
	sheds := desc("shed_total",
		"Callers of a class who were refused because its limit was reached; nothing was done for them.")
	m.registry.MustRegister(prometheus.CollectorFunc(func(to chan<- prometheus.Metric) {
		for resource, loads := range read() {
			for _, l := range loads {
				labels := []string{resource, l.Class.String()}
				to <- prometheus.MustNewConstMetric(inUse, prometheus.GaugeValue, float64(l.InUse), labels...)
				to <- prometheus.MustNewConstMetric(waiting, prometheus.GaugeValue, float64(l.Waiting), labels...)
				to <- prometheus.MustNewConstMetric(limit, prometheus.GaugeValue, float64(l.Most), labels...)
				to <- prometheus.MustNewConstMetric(sheds, prometheus.CounterValue, float64(l.Shed), labels...)
			}
		}
	}))
}
