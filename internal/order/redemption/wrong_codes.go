package redemption

import (
	"sync"
	"time"
)

const (
	wrongBurst = 10               // wrong codes that a till may send at once
	wrongEvery = 10 * time.Second // and one more in each of these
	wrongTills = 10_000           // tills remembered; more are not in one service
)

// wrongCodes limits how many wrong codes a till may send: a token bucket for each, kept as the time at which it is full
// again (the generic cell rate algorithm). A till with a full bucket needs no entry.
type wrongCodes struct {
	mu   sync.Mutex
	full map[int64]time.Time
}

// wait returns how long the till has to wait before it may ask; 0: not at all.
func (w *wrongCodes) wait(till int64, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	free := w.full[till].Add(-(wrongBurst - 1) * wrongEvery) // from then on there is a token
	if !free.After(now) {
		return 0
	}
	return free.Sub(now)
}

// count counts a wrong code of the till.
func (w *wrongCodes) count(till int64, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.full == nil {
		w.full = make(map[int64]time.Time)
	}
	if len(w.full) >= wrongTills {
		for id, full := range w.full {
			if !full.After(now) {
				delete(w.full, id)
			}
		}
	}
	full := w.full[till]
	if full.Before(now) {
		full = now
	}
	w.full[till] = full.Add(wrongEvery)
}
