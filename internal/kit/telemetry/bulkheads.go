package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/metric"
)

// Bulkhead is how the classes of callers share something.
type Bulkhead struct {
	Resource string // from a fixed list; a label
	Loads    []bulkhead.Load
}

// bulkheads reads who has what whenever the metrics are read.
type bulkheads struct {
	read                         func() []Bulkhead
	inUse, waiting, limit, sheds *prometheus.Desc
}

// WatchBulkheads registers read, which is called whenever the metrics are read: how the classes of callers share
// requests in flight and connections. It is called once.
func (m *Metrics) WatchBulkheads(read func() []Bulkhead) {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(metric.Namespace, "bulkhead", name), help,
			[]string{"resource", "class"}, nil)
	}
	m.registry.MustRegister(&bulkheads{ // as in NewMetrics
		read:    read,
		inUse:   desc("in_use", "What a class of callers uses: requests in flight, or connections to a store."),
		waiting: desc("waiting", "Callers of a class who wait for a connection."),
		limit:   desc("limit", "What a class can have while the others use no more than is theirs."),
		sheds: desc("shed_total",
			"Callers of a class who were refused because what it can have was in use; nothing was done for them."),
	})
}

// Describe implements [prometheus.Collector].
func (b *bulkheads) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{b.inUse, b.waiting, b.limit, b.sheds} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (b *bulkheads) Collect(to chan<- prometheus.Metric) {
	for _, shared := range b.read() {
		for _, l := range shared.Loads {
			labels := []string{shared.Resource, l.Class.String()}
			to <- prometheus.MustNewConstMetric(b.inUse, prometheus.GaugeValue, float64(l.InUse), labels...)
			to <- prometheus.MustNewConstMetric(b.waiting, prometheus.GaugeValue, float64(l.Waiting), labels...)
			to <- prometheus.MustNewConstMetric(b.limit, prometheus.GaugeValue, float64(l.Most), labels...)
			to <- prometheus.MustNewConstMetric(b.sheds, prometheus.CounterValue, float64(l.Shed), labels...)
		}
	}
}
