package guard

import (
	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
	"seckill/internal/voucher/guards"
)

// Values of the label mode: whether the guard stops requests or only counts them.
const (
	modeStopped = "stopped"
	modeDryRun  = "dry_run"
)

// Metrics counts the requests that guards stop.
type Metrics struct{ stopped *prometheus.CounterVec }

// NewMetrics returns counters at zero.
func NewMetrics() *Metrics {
	m := &Metrics{metric.Counters("guard", "stopped_total",
		"Requests that a guard of a sale stopped (stopped), or would have stopped were it not for its dryRun "+
			"(dry_run).",
		"guard", "mode")}
	for _, n := range guards.Names() {
		m.stopped.WithLabelValues(string(n), modeStopped)
		m.stopped.WithLabelValues(string(n), modeDryRun)
	}
	return m
}

// Collectors returns the collectors to register.
func (m *Metrics) Collectors() []prometheus.Collector { return []prometheus.Collector{m.stopped} }

// GuardStopped counts a request that a guard stopped, or with dryRun would have stopped.
func (m *Metrics) GuardStopped(by guards.Name, dryRun bool) {
	mode := modeStopped
	if dryRun {
		mode = modeDryRun
	}
	m.stopped.WithLabelValues(string(by), mode).Inc()
}
