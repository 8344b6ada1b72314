package redemption

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
)

// metrics counts tills' commands, and coupons that lapse.
type metrics struct {
	commands      *prometheus.CounterVec
	lapsed        prometheus.Counter
	lapserSeconds prometheus.Histogram
}

var _ Observer = (*metrics)(nil)

func newMetrics() *metrics {
	return &metrics{
		commands: metric.Counters("redemption", "commands_total",
			"Commands of tills, by what they wanted and what became of it.", "command", "result"),
		lapsed: metric.Counter("lapser", "coupons_total", "Coupons that lapsed: they were not redeemed in time."),
		lapserSeconds: metric.Histogram("lapser", "duration_seconds",
			"Time of one transaction that lapsed coupons.", metric.Seconds()),
	}
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.commands, m.lapsed, m.lapserSeconds}
}

// Redemption implements Observer.
func (m *metrics) Redemption(v Verb, err error) {
	m.commands.WithLabelValues(string(v), redemptionResult(err)).Inc()
}

// redemptionResult names the result of a command.
func redemptionResult(err error) string {
	if err == nil {
		return "done"
	}
	for _, r := range []struct {
		err  error
		name string
	}{
		{ErrMalformed, "malformed"},
		{ErrNotFound, "not_found"},
		{ErrWrongCodes, "limited"},
		{ErrRedeemed, "redeemed"},
		{ErrReserved, "reserved"},
		{ErrReservationOver, "reservation_over"},
		{ErrLapsed, "lapsed"},
		{ErrVoid, "void"},
	} {
		if errors.Is(err, r.err) {
			return r.name
		}
	}
	return "failed"
}

// CouponsLapsed implements Observer.
func (m *metrics) CouponsLapsed(coupons int, took time.Duration) {
	m.lapsed.Add(float64(coupons))
	m.lapserSeconds.Observe(took.Seconds())
}
