package httpapi_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/kit/bulkhead"
)

// While an address has spent its budget of bad tokens, its requests show their token before they take a permit: with
// every permit taken a stranger is told so, a buyer is refused as ever. Afterwards, and of other addresses, tokens are
// not read in overload.
func TestStrangersTakeNoPermits(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	a := newAPI(t, func(cfg *setup) {
		cfg.Now = func() time.Time { return noon.Add(time.Duration(ahead.Load())) }
	})
	stranger, buyer := press, press
	stranger.Header = map[string]string{"Authorization": "forged"}
	elsewhere := stranger
	elsewhere.From = "198.51.100.7:1"
	ask := func(want int, requests ...request) {
		t.Helper()
		for _, r := range requests {
			if w := do(t, a, r); w.Code != want {
				t.Errorf("%v from %q: %d %s, want %d", r.Header, r.From, w.Code, w.Body, want)
			}
		}
	}
	ask(http.StatusUnauthorized, stranger)
	full := saturate(a)
	ask(http.StatusServiceUnavailable, stranger, buyer)
	full()
	for range failedTokensAtOnce {
		ask(http.StatusUnauthorized, stranger)
	}
	ask(http.StatusAccepted, buyer)
	full = saturate(a)
	ask(http.StatusUnauthorized, stranger)
	ask(http.StatusServiceUnavailable, buyer, elsewhere)
	ahead.Store(int64(time.Minute))
	ask(http.StatusServiceUnavailable, stranger)
	full()
	if loads := a.Config.InFlight.Loads(); loads[bulkhead.Unnamed].InUse != 0 {
		t.Errorf("%+v", loads)
	}
}
