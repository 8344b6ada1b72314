package redemption

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
)

// Metrics counts tills' commands, and coupons that lapse.
type Metrics struct {
	commands      *prometheus.CounterVec
	lapsed        prometheus.Counter
	lapserSeconds prometheus.Histogram
}

// NewMetrics returns metrics that are not registered.
func NewMetrics() *Metrics {
	return &Metrics{
		commands: metric.Counters("redemption", "commands_total",
			"Commands of tills, by what they wanted and what became of it.", "command", "result"),
		lapsed: metric.Counter("lapser", "coupons_total", "Coupons that lapsed: they were not redeemed in time."),
		lapserSeconds: metric.Histogram("lapser", "duration_seconds",
			"Time of one transaction that lapsed coupons.", metric.Seconds()),
	}
}

// Collectors returns the collectors to register.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.commands, m.lapsed, m.lapserSeconds}
}

// Redemption counts a till's command, by its verb and its result. An error that is not one of this package's
// counts as failed.
func (m *Metrics) Redemption(v Verb, err error) {
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

// CouponsLapsed counts the coupons that lapsed in a transaction, and observes the time that it took.
func (m *Metrics) CouponsLapsed(coupons int, took time.Duration) {
	m.lapsed.Add(float64(coupons))
	m.lapserSeconds.Observe(took.Seconds())
}
