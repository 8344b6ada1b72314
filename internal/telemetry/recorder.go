package telemetry

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
)

// recorderMetrics counts the recorder's work on accepted orders, and rebuilds of sales.
type recorderMetrics struct {
	size        prometheus.Histogram
	seconds     prometheus.Histogram
	orders      prometheus.Counter
	failed      prometheus.Counter
	retries     prometheus.Counter
	rejected    prometheus.Counter
	deadLetters prometheus.Counter
	backlog     prometheus.Gauge
	oldest      prometheus.Gauge
	waiting     prometheus.Gauge // dead letters

	rebuilt        prometheus.Counter
	rebuildFailed  prometheus.Counter
	rebuildSeconds prometheus.Histogram
	requeued       prometheus.Counter
	unaccounted    prometheus.Counter
	swept          prometheus.Gauge
	decisionsLost  prometheus.Gauge
}

func newRecorder(r registry) *recorderMetrics {
	const subsystem = "recorder"
	rebuilds := r.counters("", "rebuilds_total",
		"Rebuilds of a sale in Redis from the ledger; those superseded by a newer one are not counted.", "result")
	return &recorderMetrics{
		size: r.histogram(subsystem, "batch_size", "Orders, failed ones included, per committed transaction.",
			[]float64{0, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000}),
		seconds: r.histogram(subsystem, "duration_seconds", "Time to record one batch that was committed.",
			metric.Seconds()),
		orders: r.counter(subsystem, "orders_total", "Accepted orders that were recorded as valid orders."),
		failed: r.counter(subsystem, "failed_orders_total",
			"Accepted orders that were recorded as failed, with a reason in their row."),
		retries: r.counter(subsystem, "retries_total",
			"Recording steps that failed because of the infrastructure and were retried."),
		rejected: r.counter(subsystem, "rejected_orders_total",
			"Accepted orders that the ledger rejected for good; they are recorded as failed if it takes that."),
		deadLetters: r.counter(subsystem, "dead_letters_total",
			"Stream entries that could not be decoded and were set aside; each needs an operator."),
		backlog: r.unknownGauge("stream", "backlog_entries",
			"Entries of accepted orders that wait for their rows, of all instances; while few wait, one may "+
				"have up to 16 orders. NaN when it is not known."),
		oldest: r.unknownGauge("stream", "oldest_seconds",
			"For how long the oldest accepted order has waited for its row, of all instances and partitions "+
				"that can be read; 0 when none waits, NaN when it is not known."),
		waiting: r.unknownGauge("dead_letters", "waiting",
			"Dead letters that were not replayed or discarded yet; NaN when it is not known."),
		rebuilt: rebuilds.WithLabelValues("rebuilt"), rebuildFailed: rebuilds.WithLabelValues("failed"),
		rebuildSeconds: r.histogram("rebuild", "duration_seconds",
			"Time of one rebuild of a sale, whatever its result.", metric.Seconds()),
		requeued: r.counter(subsystem, "requeued_orders_total",
			"Accepted orders whose entries Redis had lost, and which a rebuild queued again."),
		unaccounted: r.counter(subsystem, "unaccounted_orders_total",
			"Admissions that a rebuild found lost in Redis and whose orders no instance remembers."),
		decisionsLost: r.unknownGauge("sales", "decision_lost",
			"Sales of which the database has lost a decision of a person, and nobody has decided anew; NaN when it is "+
				"not known."),
		swept: r.gauge("repairs", "last_sweep_timestamp_seconds",
			"When this instance last compared all sales in Redis with the ledger, seconds since 1970; 0 for never."),
	}
}

// Recorded implements [recorder.Observer].
func (m *Metrics) Recorded(orders, failed int, took time.Duration) {
	r := m.recorder
	r.size.Observe(float64(orders + failed))
	r.seconds.Observe(took.Seconds())
	r.orders.Add(float64(orders))
	r.failed.Add(float64(failed))
}

// RecordRetried implements [recorder.Observer]. The error is only logged: as a label it would not be bounded.
func (m *Metrics) RecordRetried(error) { m.recorder.retries.Inc() }

// Rejected implements [recorder.Observer].
func (m *Metrics) Rejected() { m.recorder.rejected.Inc() }

// DeadLettered implements [recorder.Observer].
func (m *Metrics) DeadLettered() { m.recorder.deadLetters.Inc() }

// Recovered implements [recovery.Observer].
func (m *Metrics) Recovered(requeued int, unaccounted int64) {
	m.recorder.requeued.Add(float64(requeued))
	m.recorder.unaccounted.Add(float64(unaccounted))
}

// DecisionsLost implements [recovery.Observer].
func (m *Metrics) DecisionsLost(sales int, err error) {
	if err != nil {
		m.recorder.decisionsLost.Set(math.NaN())
		return
	}
	m.recorder.decisionsLost.Set(float64(sales))
}

// Rebuilt implements [recovery.Observer].
func (m *Metrics) Rebuilt(took time.Duration, err error) {
	r := m.recorder
	r.rebuildSeconds.Observe(took.Seconds())
	if err != nil {
		r.rebuildFailed.Inc()
		return
	}
	r.rebuilt.Inc()
}
