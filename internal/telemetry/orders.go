package telemetry

import (
	"errors"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
	"seckill/internal/order/payment"
)

// orders counts events after recording: operations that Redis applies, orders that expire, payments.
type orders struct {
	flushSeconds prometheus.Histogram
	applied      prometheus.Counter
	refused      prometheus.Counter
	flushFailed  prometheus.Counter
	pending      prometheus.Gauge

	expired       prometheus.Counter
	expireSeconds prometheus.Histogram

	received [payment.Closed + 1]prometheus.Counter // by state; index 0 for any other
	refunded prometheus.Counter
	failed   prometheus.Counter                     // failed refunds
	declined prometheus.Counter                     // refunds that a provider refuses for good
	unwanted map[payment.Refusal]prometheus.Counter // notices that were refused
	ignored  prometheus.Counter
	stuck    prometheus.Gauge
	disputed prometheus.Gauge
	over     prometheus.Gauge
	failures prometheus.Gauge // refunds of parts that have failed
}

func newOrders(r registry) *orders {
	operations := r.counters("outbox", "operations_total",
		"Operations of sales that were completed, by Redis's result.", "result")
	payments := r.counters("payments", "notices_total",
		"Payment notices, repeated ones included, by the payment's state after them.", "state")
	refunds := r.counters("payments", "refunds_total", "Attempts to refund a payment.", "result")
	unwanted := r.counters("payments", "notices_refused_total",
		"Notices of payment providers that were refused for good, by reason.", "reason")
	o := &orders{
		unwanted: make(map[payment.Refusal]prometheus.Counter),
		ignored: r.counter("payments", "notices_ignored_total",
			"Notices of payment providers of types that do not concern this service."),
		flushSeconds: r.histogram("outbox", "duration_seconds",
			"Time to apply one batch of operations in Redis and to complete them, failures included.",
			metric.Seconds()),
		applied: operations.WithLabelValues("applied"), refused: operations.WithLabelValues("refused"),
		flushFailed: r.counter("outbox", "failures_total",
			"Batches of operations that could not be applied or completed and are retried."),
		pending: r.gauge("outbox", "pending_sales",
			"Sales with operations that Redis has not applied yet, as of the last check, once a second."),
		expired: r.counter("expirer", "orders_total", "Orders that expired: they were not paid in time."),
		expireSeconds: r.histogram("expirer", "duration_seconds",
			"Time of one transaction that expired orders.", metric.Seconds()),
		refunded: refunds.WithLabelValues("refunded"), failed: refunds.WithLabelValues("failed"),
		declined: refunds.WithLabelValues("refused"),
		stuck: r.unknownGauge("payments", "stuck", "Payments whose provider refuses for good to send the money back, "+
			"and which nobody has retried or closed; NaN when it is not known."),
		disputed: r.unknownGauge("payments", "disputed",
			"Payments that a buyer disputes, undecided; NaN when it is not known."),
		over: r.unknownGauge("payments", "overdrawn",
			"Payments of which more money has gone back than came in; NaN when it is not known."),
		failures: r.unknownGauge("payments", "failed_parts",
			"Refunds of a part that have failed, and to which nobody has seen; NaN when it is not known."),
	}
	for _, why := range payment.Refusals() {
		o.unwanted[why] = unwanted.WithLabelValues(string(why))
	}
	for s := range o.received {
		o.received[s] = payments.WithLabelValues(payment.State(s).String())
	}
	return o
}

// OperationsApplied implements [outbox.Observer].
func (m *Metrics) OperationsApplied(applied, refused int, took time.Duration, err error) {
	o := m.orders
	o.flushSeconds.Observe(took.Seconds())
	if err != nil {
		o.flushFailed.Inc()
		return
	}
	o.applied.Add(float64(applied))
	o.refused.Add(float64(refused))
}

// OutboxBehind implements [outbox.Observer].
func (m *Metrics) OutboxBehind(sales int) { m.orders.pending.Set(float64(sales)) }

// OrdersExpired implements [service.Observer].
func (m *Metrics) OrdersExpired(orders int, took time.Duration) {
	m.orders.expired.Add(float64(orders))
	m.orders.expireSeconds.Observe(took.Seconds())
}

// PaymentReceived implements [service.Observer].
func (m *Metrics) PaymentReceived(state payment.State) {
	if state < 0 || int(state) >= len(m.orders.received) {
		state = 0
	}
	m.orders.received[state].Inc()
}

// NoticeRefused implements [service.NoticeObserver].
func (m *Metrics) NoticeRefused(why payment.Refusal) {
	if counter, known := m.orders.unwanted[why]; known {
		counter.Inc()
	}
}

// NoticeIgnored implements [service.NoticeObserver].
func (m *Metrics) NoticeIgnored() { m.orders.ignored.Inc() }

// PaymentRefunded implements [service.Observer].
func (m *Metrics) PaymentRefunded(err error) {
	_, refused := errors.AsType[*payment.RefusedError](err)
	switch {
	case refused:
		m.orders.declined.Inc()
	case err != nil:
		m.orders.failed.Inc()
	default:
		m.orders.refunded.Inc()
	}
}

// PaymentsNeedStaff implements [service.Observer].
func (m *Metrics) PaymentsNeedStaff(n payment.NeedStaff, err error) {
	for gauge, known := range map[prometheus.Gauge]int64{
		m.orders.stuck: n.Stuck, m.orders.disputed: n.Disputed, m.orders.over: n.Overdrawn,
		m.orders.failures: n.FailedParts,
	} {
		figure := float64(known)
		if err != nil {
			figure = math.NaN()
		}
		gauge.Set(figure)
	}
}
