package telemetry

import (
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
)

// Backlog is the backlog of a partition.
type Backlog struct {
	Entries     int64         // entries of accepted orders without rows
	Oldest      time.Duration // the age of the oldest of them
	DeadLetters int64
}

// partitionMetrics show the backlog of each partition. The recorder's metrics are the sums over all partitions.
type partitionMetrics struct {
	entries, oldest, deadLetters, missing *prometheus.GaugeVec

	mu    sync.Mutex
	known map[int]*Backlog // nil: cannot be read
}

func newPartitions(r registry) *partitionMetrics {
	vec := func(name, help string) *prometheus.GaugeVec {
		return add(r, metric.Gauges("partition", name, help, "partition"))
	}
	return &partitionMetrics{
		entries: vec("backlog_entries", "Entries of the partition's accepted orders that wait for their rows, of all "+
			"instances; while few wait, one may have up to 16 orders. NaN when it is not known."),
		oldest: vec("oldest_seconds", "For how long the partition's oldest accepted order has waited for its row; 0 "+
			"when none waits, NaN when it is not known."),
		deadLetters: vec("dead_letters_waiting",
			"Dead letters of the partition that were not replayed or discarded yet; NaN when it is not known."),
		missing: vec("missing_instances", "Living instances that have not worked in the partition for 15 seconds: of "+
			"an older version, mostly; NaN when it is not known. Always 0 for partition 0."),
		known: make(map[int]*Backlog),
	}
}

// SetBacklog sets the backlog of a partition.
func (m *Metrics) SetBacklog(partition int, b Backlog) { m.setBacklog(partition, &b) }

// SetBacklogUnknown sets a partition's numbers to NaN because it cannot be read: old numbers would look current. Sums
// become NaN as well; the oldest order is that of the readable partitions.
func (m *Metrics) SetBacklogUnknown(partition int) { m.setBacklog(partition, nil) }

// ForgetBacklog removes the series of a partition that this instance no longer works in.
func (m *Metrics) ForgetBacklog(partition int) {
	p, label := m.partitions, strconv.Itoa(partition)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, v := range []*prometheus.GaugeVec{p.entries, p.oldest, p.deadLetters} {
		v.DeleteLabelValues(label)
	}
	delete(p.known, partition)
	m.sumBacklogs()
}

// SetMissingInstances implements partition.WatchObserver.
func (m *Metrics) SetMissingInstances(partition, n int) {
	m.partitions.missing.WithLabelValues(strconv.Itoa(partition)).Set(float64(n))
}

// SetMissingInstancesUnknown implements partition.WatchObserver.
func (m *Metrics) SetMissingInstancesUnknown(partition int) {
	m.partitions.missing.WithLabelValues(strconv.Itoa(partition)).Set(math.NaN())
}

// ForgetMissingInstances implements partition.WatchObserver.
func (m *Metrics) ForgetMissingInstances(partition int) {
	m.partitions.missing.DeleteLabelValues(strconv.Itoa(partition))
}

func (m *Metrics) setBacklog(partition int, b *Backlog) {
	p, label := m.partitions, strconv.Itoa(partition)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[partition] = b
	entries, oldest, dead := math.NaN(), math.NaN(), math.NaN()
	if b != nil {
		entries, oldest, dead = float64(b.Entries), b.Oldest.Seconds(), float64(b.DeadLetters)
	}
	p.entries.WithLabelValues(label).Set(entries)
	p.oldest.WithLabelValues(label).Set(oldest)
	p.deadLetters.WithLabelValues(label).Set(dead)
	m.sumBacklogs()
}

// sumBacklogs sets the sums over all partitions. The caller has locked.
func (m *Metrics) sumBacklogs() {
	entries, oldest, dead := 0.0, math.NaN(), 0.0
	for _, b := range m.partitions.known {
		if b == nil {
			entries, dead = math.NaN(), math.NaN()
			continue
		}
		entries, dead = entries+float64(b.Entries), dead+float64(b.DeadLetters)
		if seconds := b.Oldest.Seconds(); !(seconds <= oldest) { // NaN is not comparable
			oldest = seconds
		}
	}
	if len(m.partitions.known) == 0 {
		entries, dead = math.NaN(), math.NaN()
	}
	m.recorder.backlog.Set(entries)
	m.recorder.oldest.Set(oldest)
	m.recorder.waiting.Set(dead)
}
