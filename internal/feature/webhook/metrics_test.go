package webhook

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	m.EventSent(true, time.Second)
	m.EventSent(false, time.Second)
	m.EventsGivenUp(2)
	m.EndpointDisabled()
	m.setBacklog(Backlog{Endpoints: 3, Broken: 1, Events: 7, Oldest: 90 * time.Second, DeadLetters: 2})
	all := prometheus.NewRegistry()
	all.MustRegister(m.collectors()...)
	err := testutil.GatherAndCompare(all, strings.NewReader(`
# HELP seckill_webhook_attempts_total Attempts of this instance to send an event to an endpoint, by what came of them.
# TYPE seckill_webhook_attempts_total counter
seckill_webhook_attempts_total{result="failed"} 1
seckill_webhook_attempts_total{result="taken"} 1
# HELP seckill_webhook_endpoints Enabled endpoints: those that take events, and those that fail and are only tried from time to time.
# TYPE seckill_webhook_endpoints gauge
seckill_webhook_endpoints{state="failing"} 1
seckill_webhook_endpoints{state="taking"} 2
# HELP seckill_webhook_oldest_event_seconds How long the oldest event that an enabled endpoint has not taken has waited.
# TYPE seckill_webhook_oldest_event_seconds gauge
seckill_webhook_oldest_event_seconds 90
# HELP seckill_webhook_waiting_events Events that the endpoint with the longest queue has not taken.
# TYPE seckill_webhook_waiting_events gauge
seckill_webhook_waiting_events 7
`), "seckill_webhook_attempts_total", "seckill_webhook_endpoints", "seckill_webhook_oldest_event_seconds",
		"seckill_webhook_waiting_events")
	if err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(all); err != nil || n != 10 {
		t.Errorf("%d series, %v; want 10", n, err)
	}
	if problems, err := testutil.GatherAndLint(all); err != nil || len(problems) > 0 {
		t.Errorf("against the conventions: %v, %v", problems, err)
	}
}
