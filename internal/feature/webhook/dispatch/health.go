package dispatch

import (
	"math/rand/v2"
	"time"
)

// The rules for delivery after failures.
const (
	// breakAfter is the number of failures in a row after which nothing is sent for a while: then the endpoint is at
	// fault, not the event. Until then each failure counts against its event.
	breakAfter = 10
	// minPause and maxPause bound the breaker's pause, which doubles with each attempt that fails: a receiver that
	// comes back waits for maxPause at most.
	minPause = time.Second
	maxPause = time.Minute
	// disableAfter is how long an endpoint may fail without one success until it is disabled.
	disableAfter = 5 * 24 * time.Hour
)

// Health counts an endpoint's failures since its last success.
type Health struct {
	Failures     int64     // the attempts that failed since the last success
	FailingSince time.Time // when the first of these attempts failed
	RetryAt      time.Time // nothing is sent before this time
}

// Equal reports whether both are the same.
func (h Health) Equal(o Health) bool {
	return h.Failures == o.Failures && h.FailingSince.Equal(o.FailingSince) && h.RetryAt.Equal(o.RetryAt)
}

// Broken reports whether the breaker is open: only one attempt at a time is made, to see whether the endpoint is back.
func (h Health) Broken() bool { return h.Failures >= breakAfter }

// OthersFirst reports whether, while the breaker is open, an event that was not tried yet is sent before an event that
// has failed. It does every other time, so that events that are never taken do not hide that the endpoint takes others;
// and always once the endpoint is to be disabled.
func (h Health) OthersFirst(now time.Time) bool { return h.Failures%2 == 1 || h.hopeless(now) }

// after returns the health after one more attempt.
func (h Health) after(ok bool, now time.Time) Health {
	if ok {
		return Health{}
	}
	if h.Failures == 0 {
		h.FailingSince = now
	}
	h.Failures++
	if h.Broken() {
		h.RetryAt = now.Add(jitter(min(maxPause, minPause<<min(h.Failures-breakAfter, 6))))
	}
	return h
}

// hopeless reports whether the endpoint has failed for so long that it is to be disabled.
func (h Health) hopeless(now time.Time) bool {
	return h.Broken() && now.Sub(h.FailingSince) >= disableAfter
}

// retryPause returns how long an event waits after the given number of attempts, and whether it is retried at all.
func retryPause(attempts int64) (pause time.Duration, again bool) {
	pauses := [...]time.Duration{
		5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour,
		2 * time.Hour, 4 * time.Hour,
	}
	if attempts < 1 || attempts > int64(len(pauses)) {
		return 0, attempts < 1
	}
	return jitter(pauses[attempts-1]), true
}

// jitter returns a time between four and six fifths of d, so that many do not come back at once.
func jitter(d time.Duration) time.Duration {
	return d*4/5 + rand.N(d*2/5+1) //nolint:gosec // the time need not be secret
}
