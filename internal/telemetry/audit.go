package telemetry

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
	"seckill/internal/order"
	"seckill/internal/order/audit"
)

// auditedSales caps the number of sales with their own series; sales whose units do not add up come first.
const auditedSales = 100

// auditMetrics show whether the units of the sales add up. Only the instance that audits has per-sale series.
type auditMetrics struct {
	difference *prometheus.Desc
	lost       *prometheus.Desc
	stock      *prometheus.Desc
	sales      *prometheus.Desc

	last     prometheus.Gauge
	failures prometheus.Counter
	waited   prometheus.Gauge
	rebuilds prometheus.Counter
	pauses   prometheus.Counter

	mu       sync.Mutex
	auditing bool // this instance is the auditor
	balances []audit.Balance
}

func newAudit(r registry) *auditMetrics {
	const subsystem = "audit"
	actions := r.counters(subsystem, "actions_total", "Measures taken for sales whose units do not add up.", "action")
	a := &auditMetrics{
		difference: metric.Desc(subsystem, "difference_units",
			"Units of a sale too many (above 0) or too few in a store, as of the last audit.", "voucher", "store"),
		lost: metric.Desc(subsystem, "lost_orders",
			"Accepted orders of a sale that are in no stream and no ledger, as of the last audit.", "voucher"),
		stock: metric.Desc("sale", "stock_units",
			"Units that a sale had left to sell, as of the last audit; those given back that are not on sale yet "+
				"included.", "voucher"),
		sales: metric.Desc(subsystem, "sales", "Sales by what the last audit found.", "finding"),
		last: r.gauge(subsystem, "last_timestamp_seconds",
			"When this instance last audited sales, seconds since 1970; 0 for never. The highest of all instances "+
				"counts."),
		waited: r.gauge(subsystem, "unchecked_seconds",
			"For how long the sale that has waited longest was not audited; 0 on instances that do not audit."),
		failures: r.counter(subsystem, "failures_total", "Audits that failed because a store was down."),
		rebuilds: actions.WithLabelValues("rebuild"), pauses: actions.WithLabelValues("pause"),
	}
	r.MustRegister(prometheus.CollectorFunc(a.collect))
	return a
}

// collect reads the last audit.
func (a *auditMetrics) collect(to chan<- prometheus.Metric) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.auditing {
		return
	}
	gauge := func(desc *prometheus.Desc, value int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), labels...)
	}
	found := make(map[audit.Finding]int64)
	for i, b := range a.balances {
		found[b.Finding]++
		if i >= auditedSales {
			continue
		}
		voucher := strconv.FormatInt(b.VoucherID, 10)
		gauge(a.difference, b.LedgerDifference, voucher, "ledger")
		gauge(a.difference, b.RedisDifference, voucher, "redis")
		gauge(a.lost, b.Lost, voucher)
		if b.Redis.Mode != order.SaleMissing && b.Redis.Mode != order.SaleRebuilding {
			gauge(a.stock, b.Redis.Stock, voucher)
		}
	}
	for f := audit.Undecided; f <= audit.LedgerExcess; f++ {
		gauge(a.sales, found[f], f.String())
	}
}

// Audited implements [audit.Observer].
func (m *Metrics) Audited(balances []audit.Balance, unchecked time.Duration, err error) {
	a := m.audit
	a.waited.Set(unchecked.Seconds())
	if err != nil {
		a.failures.Inc()
		return
	}
	balances = slices.Clone(balances)
	slices.SortStableFunc(balances, func(x, y audit.Balance) int { return cmp.Compare(rank(x), rank(y)) })
	a.mu.Lock()
	a.auditing, a.balances = true, balances
	a.mu.Unlock()
	a.last.SetToCurrentTime()
}

func rank(b audit.Balance) int {
	if b.Finding.Broken() {
		return 0
	}
	return 1
}

// AuditOver implements [audit.Observer]. From now on another instance audits.
func (m *Metrics) AuditOver() {
	m.audit.mu.Lock()
	defer m.audit.mu.Unlock()
	m.audit.auditing, m.audit.balances = false, nil
	m.audit.waited.Set(0)
}

// RepairRequested implements [audit.Observer].
func (m *Metrics) RepairRequested() { m.audit.rebuilds.Inc() }

// SalePaused implements [audit.Observer].
func (m *Metrics) SalePaused() { m.audit.pauses.Inc() }
