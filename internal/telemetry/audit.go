package telemetry

import (
	"cmp"
	"slices"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/order"
)

// auditedSales is how many sales have series of their own at most: those whose units are not accounted for come first.
const auditedSales = 100

// audit shows whether the units of the sales are accounted for. Only the one instance that looks has series of sales.
type audit struct {
	difference *prometheus.Desc
	lost       *prometheus.Desc
	stock      *prometheus.Desc
	sales      *prometheus.Desc

	last     prometheus.Gauge
	failures prometheus.Counter
	actions  *prometheus.CounterVec
	mended   prometheus.Counter
	stopped  prometheus.Counter

	mu       sync.Mutex
	looking  bool // this instance is the one
	balances []order.Balance
}

func newAudit() *audit {
	const subsystem = "audit"
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, subsystem, name), help, labels, nil)
	}
	a := &audit{
		difference: desc("difference_units", "Units of a sale too many (above 0) or too few in a store, as of the last look.", "voucher", "store"),
		lost:       desc("lost_orders", "Accepted orders of a sale that are in no stream and no ledger, as of the last look.", "voucher"),
		stock: prometheus.NewDesc(prometheus.BuildFQName(namespace, "sale", "stock_units"),
			"Units that a sale had left to sell, as of the last look; returned ones that are not yet sellable included.", []string{"voucher"}, nil),
		sales: desc("sales", "Sales by what the last look found.", "finding"),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "last_timestamp_seconds",
			Help: "When this instance last looked at all sales, seconds since 1970; 0 for never. The highest of all instances counts.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "failures_total", Help: "Looks that failed because a store was away.",
		}),
		actions: counters(subsystem, "actions_total", "What was done about sales whose units were not accounted for.", "action"),
	}
	a.mended, a.stopped = a.actions.WithLabelValues("rebuild"), a.actions.WithLabelValues("pause")
	return a
}

func (a *audit) collectors() []prometheus.Collector {
	return []prometheus.Collector{a, a.last, a.failures, a.actions}
}

// Describe implements [prometheus.Collector].
func (a *audit) Describe(to chan<- *prometheus.Desc) {
	to <- a.difference
	to <- a.lost
	to <- a.stock
	to <- a.sales
}

// Collect implements [prometheus.Collector].
func (a *audit) Collect(to chan<- prometheus.Metric) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.looking {
		return
	}
	gauge := func(desc *prometheus.Desc, value int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), labels...)
	}
	found := make(map[order.Finding]int64)
	for i, b := range a.balances {
		found[b.Finding]++
		if i >= auditedSales {
			continue
		}
		voucher := strconv.FormatInt(b.VoucherID, 10)
		gauge(a.difference, b.LedgerDifference, voucher, "ledger")
		gauge(a.difference, b.RedisDifference, voucher, "redis")
		gauge(a.lost, b.Lost, voucher)
		if b.Redis.Mode != order.SaleMissing && b.Redis.Mode != order.SaleRebuilding { // else nobody knows
			gauge(a.stock, b.Redis.Stock, voucher)
		}
	}
	for f := order.Undecided; f <= order.LedgerExcess; f++ {
		gauge(a.sales, found[f], f.String())
	}
}

// Audited implements [order.AuditObserver].
func (m *Metrics) Audited(balances []order.Balance, err error) {
	a := m.audit
	if err != nil {
		a.failures.Inc()
		return
	}
	balances = slices.Clone(balances)
	slices.SortStableFunc(balances, func(x, y order.Balance) int { return cmp.Compare(rank(x), rank(y)) })
	a.mu.Lock()
	a.looking, a.balances = true, balances
	a.mu.Unlock()
	a.last.SetToCurrentTime()
}

func rank(b order.Balance) int {
	if b.Finding.Broken() {
		return 0
	}
	return 1
}

// AuditOver implements [order.AuditObserver]. What is found from now on is another instance's to say.
func (m *Metrics) AuditOver() {
	m.audit.mu.Lock()
	defer m.audit.mu.Unlock()
	m.audit.looking, m.audit.balances = false, nil
}

// Mended implements [order.AuditObserver].
func (m *Metrics) Mended() { m.audit.mended.Inc() }

// Stopped implements [order.AuditObserver].
func (m *Metrics) Stopped() { m.audit.stopped.Inc() }
