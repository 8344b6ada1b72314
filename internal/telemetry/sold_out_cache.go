package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/order/gate"
)

// cacheMetrics counts requests that are refused without asking Redis.
type cacheMetrics struct{ soldOut, notStarted prometheus.Counter }

func newCacheMetrics(r registry) *cacheMetrics {
	refusals := r.counters("admission", "cache_refusals_total",
		"Requests refused without asking Redis, by outcome; updated once a second.", "outcome")
	return &cacheMetrics{
		refusals.WithLabelValues(gate.SoldOut.String()), refusals.WithLabelValues(gate.NotStarted.String()),
	}
}

// RefusedFromCache implements the Observer of package admission.
func (m *Metrics) RefusedFromCache(soldOut, notStarted int64) {
	m.cache.soldOut.Add(float64(soldOut))
	m.cache.notStarted.Add(float64(notStarted))
}
