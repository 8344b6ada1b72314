package telemetry

import "github.com/prometheus/client_golang/prometheus"

// memory counts applicants who were refused without a question to Redis.
type memory struct {
	refusals            *prometheus.CounterVec
	soldOut, notStarted prometheus.Counter
}

func newMemory() *memory {
	m := &memory{refusals: counters("admission", "memory_refusals_total",
		"Applicants refused without a question to Redis, by what they were told; brought up to date once a second.", "outcome")}
	m.soldOut, m.notStarted = m.refusals.WithLabelValues("sold_out"), m.refusals.WithLabelValues("not_started")
	return m
}

func (m *memory) collectors() []prometheus.Collector { return []prometheus.Collector{m.refusals} }

// Remembered implements [order.CrierObserver].
func (m *Metrics) Remembered(soldOut, notStarted int64) {
	m.memory.soldOut.Add(float64(soldOut))
	m.memory.notStarted.Add(float64(notStarted))
}
