package webhooks

import (
	"os"
	"testing"
	"time"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/test/webhooks/receiver"
)

// envOutage is the environment variable for how long the receiver is down; make -C lab webhooks-outage sets ten
// minutes.
const envOutage = "SECKILL_TEST_OUTAGE"

func outage(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(envOutage)
	if text == "" {
		return 3 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		t.Fatalf("%s is %q, want a duration such as 10m", envOutage, text)
	}
	return d
}

// A receiver that is down for some real time, while orders go on, gets everything afterwards, once and in order.
func TestReceiverIsDown(t *testing.T) {
	t.Parallel()
	down := outage(t)
	r, to := newMySQLRig(t), receiver.New(t)
	e := r.endpoint(to)
	r.instance("one")
	r.instance("two")
	r.cancels(r.sells(20))
	to.Await(r.events)
	to.Stop()
	began, failed := time.Now(), r.seen.failed.Load()
	for time.Since(began) < down {
		r.cancels(r.sells(10))
		to.Until(min(time.Second, down), func() bool { return false }) // ten orders a second
	}
	attempts, waiting, lasted := r.seen.failed.Load()-failed, r.states(e), time.Since(began)
	to.Start()
	back := time.Now()
	before, _, _ := to.Counts()
	to.Until(2*soon, func() bool { taken, _, _ := to.Counts(); return taken > before })
	first := time.Since(back)
	to.Await(r.events)
	all := time.Since(back)
	to.Right()
	states := r.finished(e)
	_, repeats, _ := to.Counts()
	t.Logf("down for %v: %d attempts failed, %d events waited; back after %v, all taken after %v; %d of %d came twice",
		down, attempts, waiting[dispatch.Waiting]+waiting[dispatch.Retrying], first, all, repeats, r.events)
	if states[dispatch.Delivered] != r.events || r.seen.dead.Load() != 0 {
		t.Errorf("states %v, want %d delivered; %d dead letters", states, r.events, r.seen.dead.Load())
	}
	// 32 were under way when the breaker opened.
	if most := 50 + int64(2*lasted/(50*time.Second)); attempts > most {
		t.Errorf("%d attempts in %v: the breaker does not hold them back", attempts, lasted)
	}
}
