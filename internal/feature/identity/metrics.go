package identity

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/feature/identity/issuers"
	"seckill/internal/kit/metric"
	"seckill/internal/order"
)

// metrics counts sign-ins, and has gauges of the age of keys and of the number of users whose tokens are void.
type metrics struct {
	signIns *prometheus.CounterVec
	ages    *prometheus.Desc
	voids   *prometheus.Desc
	keys    *issuers.Verifier
	void    *Void
}

func newMetrics(keys *issuers.Verifier, void *Void) *metrics {
	m := &metrics{
		signIns: metric.Counters("", "sign_ins_total",
			"Tokens of identity providers that were sent to be exchanged, by outcome.", "outcome"),
		ages: prometheus.NewDesc("seckill_issuer_keys_age_seconds",
			"How long ago the keys were read with which an issuer's tokens are checked.", []string{"issuer"}, nil),
		voids: prometheus.NewDesc("seckill_sessions_void",
			"Users, and issuers, of whom this instance knows that their earlier tokens are void.", nil, nil),
		keys: keys, void: void,
	}
	for _, outcome := range []string{"ok", "refused", "not_staff", "rate_limited", "unavailable", "failed"} {
		m.signIns.WithLabelValues(outcome)
	}
	return m
}

func (m *metrics) collectors() []prometheus.Collector { return []prometheus.Collector{m} }

// observe counts a sign-in.
func (m *metrics) observe(err error) {
	outcome := "failed"
	switch {
	case err == nil:
		outcome = "ok"
	case errors.Is(err, issuers.ErrRefused):
		outcome = "refused"
	case errors.Is(err, ErrNotOfConsole), errors.Is(err, ErrNotOfTill):
		outcome = "not_staff"
	case errors.Is(err, ErrOften):
		outcome = "rate_limited"
	case errors.Is(err, order.ErrUnavailable), errors.Is(err, order.ErrUnknownChange):
		outcome = "unavailable"
	}
	m.signIns.WithLabelValues(outcome).Inc()
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(into chan<- *prometheus.Desc) {
	m.signIns.Describe(into)
	into <- m.ages
	into <- m.voids
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(into chan<- prometheus.Metric) {
	m.signIns.Collect(into)
	for issuer, age := range m.keys.KeyAges() {
		into <- prometheus.MustNewConstMetric(m.ages, prometheus.GaugeValue, age.Seconds(), issuer)
	}
	into <- prometheus.MustNewConstMetric(m.voids, prometheus.GaugeValue, float64(m.void.count()))
}
