package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/order"
)

// orders counts what becomes of recorded orders: operations that Redis follows, orders closed, payments.
type orders struct {
	followSeconds prometheus.Histogram
	operations    *prometheus.CounterVec
	applied       prometheus.Counter
	refused       prometheus.Counter
	followFailed  prometheus.Counter
	behind        prometheus.Gauge

	closed       prometheus.Counter
	closeSeconds prometheus.Histogram

	payments *prometheus.CounterVec
	received [order.PaymentRefunded + 1]prometheus.Counter // by state; 0 for any other
	refunds  *prometheus.CounterVec
	repaid   prometheus.Counter
	unpaid   prometheus.Counter
}

func newOrders() *orders {
	counter := func(subsystem, name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help})
	}
	o := &orders{
		followSeconds: histogram("outbox", "duration_seconds", "Time of having Redis apply one batch of operations and settling it, failures included.", seconds()),
		operations:    counters("outbox", "operations_total", "Operations of sales that were settled, by what Redis said to them.", "result"),
		followFailed:  counter("outbox", "failures_total", "Batches of operations that could not be applied or settled and are tried again."),
		behind: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: "outbox", Name: "pending_sales",
			Help: "Sales with operations that Redis has not followed yet, as of the last look once a second.",
		}),
		closed:       counter("closer", "orders_total", "Orders closed because they were not paid for in time."),
		closeSeconds: histogram("closer", "duration_seconds", "Time of one transaction that closed overdue orders.", seconds()),
		payments:     counters("cashier", "payments_total", "Notices of money received, repeated ones included, by the state in which the payment was then.", "state"),
		refunds:      counters("cashier", "refunds_total", "Attempts to give a payment's money back.", "result"),
	}
	o.applied, o.refused = o.operations.WithLabelValues("applied"), o.operations.WithLabelValues("refused")
	o.repaid, o.unpaid = o.refunds.WithLabelValues("refunded"), o.refunds.WithLabelValues("failed")
	for s := range o.received {
		o.received[s] = o.payments.WithLabelValues(order.PaymentState(s).String())
	}
	return o
}

func (o *orders) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		o.followSeconds, o.operations, o.followFailed, o.behind, o.closed, o.closeSeconds, o.payments, o.refunds,
	}
}

// Followed implements [order.OutboxObserver].
func (m *Metrics) Followed(applied, refused int, took time.Duration, err error) {
	o := m.orders
	o.followSeconds.Observe(took.Seconds())
	if err != nil {
		o.followFailed.Inc()
		return
	}
	o.applied.Add(float64(applied))
	o.refused.Add(float64(refused))
}

// Behind implements [order.OutboxObserver].
func (m *Metrics) Behind(sales int) { m.orders.behind.Set(float64(sales)) }

// Closed implements [order.CloserObserver].
func (m *Metrics) Closed(orders int, took time.Duration) {
	m.orders.closed.Add(float64(orders))
	m.orders.closeSeconds.Observe(took.Seconds())
}

// Received implements [order.CashierObserver].
func (m *Metrics) Received(state order.PaymentState) {
	if state < 0 || int(state) >= len(m.orders.received) {
		state = 0
	}
	m.orders.received[state].Inc()
}

// Repaid implements [order.CashierObserver].
func (m *Metrics) Repaid(err error) {
	if err != nil {
		m.orders.unpaid.Inc()
		return
	}
	m.orders.repaid.Inc()
}
