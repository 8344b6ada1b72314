package dispatch

import (
	"testing"
	"time"
)

// Ten failures in a row open the breaker, its pauses stay within a minute and a fifth, and one success closes it.
func TestBreaker(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 20, 0, 0, 0, time.UTC)
	var h Health
	for i := range 100 {
		h = h.after(false, now)
		if h.Broken() != (i+1 >= breakAfter) || !h.FailingSince.Equal(now) {
			t.Fatalf("after %d failures: %+v", i+1, h)
		}
		if pause := h.RetryAt.Sub(now); h.Broken() && (pause < minPause*4/5 || pause > maxPause*6/5) {
			t.Fatalf("after %d failures the pause is %v", i+1, pause)
		}
	}
	if h.hopeless(now.Add(disableAfter-time.Second)) || !h.hopeless(now.Add(disableAfter)) {
		t.Error("it is given up at another time than after five days")
	}
	if h = h.after(true, now); h != (Health{}) {
		t.Errorf("after a success: %+v", h)
	}
}

func TestRetryPauses(t *testing.T) {
	t.Parallel()
	var all time.Duration
	for attempts := int64(1); attempts <= 8; attempts++ {
		pause, again := retryPause(attempts)
		if !again || pause <= 0 {
			t.Errorf("after %d attempts: %v, %t", attempts, pause, again)
		}
		all += pause
	}
	if _, again := retryPause(9); again || all < 6*time.Hour || all > 10*time.Hour {
		t.Errorf("nine attempts take %v; a tenth: %t", all, again)
	}
}
