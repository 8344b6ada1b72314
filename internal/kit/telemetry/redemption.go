package telemetry

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
	"seckill/internal/order/redemption"
)

// coupons counts what tills do with coupons, and those that lapse.
type coupons struct {
	commands      *prometheus.CounterVec
	lapsed        prometheus.Counter
	lapserSeconds prometheus.Histogram
}

func newCoupons() *coupons {
	return &coupons{
		commands: metric.Counters("redemption", "commands_total",
			"Commands of tills, by what they wanted and what became of it.", "command", "result"),
		lapsed: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: metric.Namespace, Subsystem: "lapser", Name: "coupons_total",
			Help: "Coupons that lapsed: they were not redeemed in time.",
		}),
		lapserSeconds: metric.Histogram("lapser", "duration_seconds",
			"Time of one transaction that lapsed coupons.", metric.Seconds()),
	}
}

func (c *coupons) collectors() []prometheus.Collector {
	return []prometheus.Collector{c.commands, c.lapsed, c.lapserSeconds}
}

// Redemption implements [redemption.Observer].
func (m *Metrics) Redemption(v redemption.Verb, err error) {
	m.coupons.commands.WithLabelValues(v.String(), redemptionResult(err)).Inc()
}

// redemptionResult names what became of a command.
func redemptionResult(err error) string {
	if err == nil {
		return "done"
	}
	for _, r := range []struct {
		err  error
		name string
	}{
		{redemption.ErrMalformed, "malformed"},
		{redemption.ErrNotFound, "not_found"},
		{redemption.ErrWrongCodes, "limited"},
		{redemption.ErrRedeemed, "redeemed"},
		{redemption.ErrReserved, "reserved"},
		{redemption.ErrReservationOver, "reservation_over"},
		{redemption.ErrLapsed, "lapsed"},
		{redemption.ErrVoid, "void"},
	} {
		if errors.Is(err, r.err) {
			return r.name
		}
	}
	return "failed"
}

// CouponsLapsed implements [redemption.Observer].
func (m *Metrics) CouponsLapsed(coupons int, took time.Duration) {
	m.coupons.lapsed.Add(float64(coupons))
	m.coupons.lapserSeconds.Observe(took.Seconds())
}
