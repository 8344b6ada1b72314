package payment_test

import (
	"testing"
	"time"

	"seckill/internal/order/payment"
)

// The deadline moves to when the provider will know, never back, and at most by what the voucher allows; when the money
// does not come, the buyer has the time to pay once more, and no longer than the unit was held anyway.
func TestWait(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	for name, c := range map[string]struct {
		deadline, until, now, moved, given int // minutes after noon; until 0: none
	}{
		"it does not say":           {deadline: 15, now: 5, moved: 45, given: 15},
		"sooner than the deadline":  {deadline: 15, until: 10, now: 5, moved: 15, given: 15},
		"within":                    {deadline: 15, until: 30, now: 16, moved: 30, given: 15},
		"beyond":                    {deadline: 15, until: 600, now: 5, moved: 45, given: 15},
		"long before it would move": {deadline: 600, until: 700, now: 5, moved: 630, given: 20},
	} {
		w := payment.Wait{Deadline: at(c.deadline), Within: 30 * time.Minute}
		if c.until != 0 {
			w.Until = at(c.until)
		}
		if got := w.Moved(); !got.Equal(at(c.moved)) {
			t.Errorf("%s: it moves to %s, want %s", name, got, at(c.moved))
		}
		if got := w.Given(at(c.now), 15*time.Minute); !got.Equal(at(c.given)) {
			t.Errorf("%s: the buyer then has until %s, want %s", name, got, at(c.given))
		}
	}
}

// What a provider says of an open payment is shown while it is open only.
func TestSaid(t *testing.T) {
	t.Parallel()
	for p, want := range map[payment.Payment]string{
		{State: payment.Open}: "",
		{State: payment.Open, Progress: payment.ProgressProcessing}:     "processing",
		{State: payment.Open, Progress: payment.ProgressFailed}:         "failed",
		{State: payment.Open, Progress: payment.ProgressCancelled}:      "cancelled",
		{State: payment.Received, Progress: payment.ProgressProcessing}: "",
		{State: payment.Open, Progress: payment.ProgressCancelled + 1}:  "unknown",
	} {
		if got := p.Said(); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
}
