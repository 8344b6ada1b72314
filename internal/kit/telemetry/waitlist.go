package telemetry

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/kit/metric"
	"seckill/internal/order"
	"seckill/internal/order/waitlist"
)

// waitlists counts what happens on waiting lists.
type waitlists struct {
	joins          *prometheus.CounterVec
	offers         *prometheus.CounterVec
	failures       prometheus.Counter
	offererSeconds prometheus.Histogram
}

func newWaitlists() *waitlists {
	return &waitlists{
		joins: metric.Counters("waitlist", "joins_total",
			"Requests to join a waiting list, by what became of them.", "result"),
		offers: metric.Counters("waitlist", "offers_total",
			"Offers to those who wait, by what became of them.", "result"),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: metric.Namespace, Subsystem: "offerer", Name: "failures_total",
			Help: "Looks at the offers of waiting lists that failed.",
		}),
		offererSeconds: metric.Histogram("offerer", "duration_seconds",
			"Time of one look at the offers that found something to do.", metric.Seconds()),
	}
}

func (w *waitlists) collectors() []prometheus.Collector {
	return []prometheus.Collector{w.joins, w.offers, w.failures, w.offererSeconds}
}

// WaitlistJoined implements [waitlist.Observer].
func (m *Metrics) WaitlistJoined(err error) {
	m.waitlists.joins.WithLabelValues(joinResult(err)).Inc()
}

// joinResult names what became of a request to join.
func joinResult(err error) string {
	_, bought := errors.AsType[*order.AlreadyBoughtError](err)
	switch {
	case err == nil:
		return "joined"
	case bought:
		return "already_bought"
	case errors.Is(err, waitlist.ErrOnSale):
		return "on_sale"
	case errors.Is(err, order.ErrUnavailable):
		return "unavailable"
	default:
		return "refused"
	}
}

// OfferDecided implements [waitlist.Observer].
func (m *Metrics) OfferDecided(accepted bool) {
	result := "declined"
	if accepted {
		result = "accepted"
	}
	m.waitlists.offers.WithLabelValues(result).Inc()
}

// OffersSeenTo implements [waitlist.Observer].
func (m *Metrics) OffersSeenTo(p waitlist.Pass, took time.Duration, err error) {
	m.waitlists.offers.WithLabelValues("missed").Add(float64(p.Missed))
	m.waitlists.offers.WithLabelValues("asked_again").Add(float64(p.Asked))
	m.waitlists.offers.WithLabelValues("over").Add(float64(p.Over))
	switch {
	case err != nil:
		m.waitlists.failures.Inc()
	case p.Missed+p.Asked+p.Over > 0:
		m.waitlists.offererSeconds.Observe(took.Seconds())
	}
}
