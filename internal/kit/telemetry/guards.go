package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/voucher/guards"
)

// guardMetrics counts whom the guards of sales stop.
type guardMetrics struct{ stopped *prometheus.CounterVec }

// The modes in which a guard stops.
const (
	guardStopped = "stopped"
	guardDryRun  = "dry_run"
)

func newGuards() *guardMetrics {
	g := &guardMetrics{counters("guard", "stopped_total",
		"Requests that a guard of a sale stopped (stopped), or would have stopped were it not for its dryRun "+
			"(dry_run).", "guard", "mode")}
	for _, n := range guards.Names() {
		g.stopped.WithLabelValues(string(n), guardStopped)
		g.stopped.WithLabelValues(string(n), guardDryRun)
	}
	return g
}

func (g *guardMetrics) collectors() []prometheus.Collector { return []prometheus.Collector{g.stopped} }

// GuardStopped implements the Observer of package guard.
func (m *Metrics) GuardStopped(by guards.Name, dryRun bool) {
	mode := guardStopped
	if dryRun {
		mode = guardDryRun
	}
	m.guards.stopped.WithLabelValues(string(by), mode).Inc()
}
