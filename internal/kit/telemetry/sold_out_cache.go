package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
	"seckill/internal/order"
)

// cacheMetrics counts requests that are refused without asking Redis.
type cacheMetrics struct {
	refusals            *prometheus.CounterVec
	soldOut, notStarted prometheus.Counter
}

func newCacheMetrics() *cacheMetrics {
	m := &cacheMetrics{refusals: metric.Counters("admission", "cache_refusals_total",
		"Requests refused without asking Redis, by outcome; updated once a second.", "outcome")}
	m.soldOut = m.refusals.WithLabelValues(order.SoldOut.String())
	m.notStarted = m.refusals.WithLabelValues(order.NotStarted.String())
	return m
}

func (m *cacheMetrics) collectors() []prometheus.Collector { return []prometheus.Collector{m.refusals} }

// RefusedFromCache implements the Observer of package admission.
func (m *Metrics) RefusedFromCache(soldOut, notStarted int64) {
	m.cache.soldOut.Add(float64(soldOut))
	m.cache.notStarted.Add(float64(notStarted))
}
