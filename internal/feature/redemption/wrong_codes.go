package redemption

import (
	"sync"
	"time"
)

const (
	wrongBurst = 10               // wrong codes that a till may send at once
	wrongEvery = 10 * time.Second // after this time a till may send one more
	wrongTills = 10_000           // tills in a generation at most; no service should have more
)

// wrongCodes limits how many wrong codes a till may send: a token bucket for each, kept as the time at which it is full
// again (the generic cell rate algorithm). A till with a full bucket needs no entry.
//
// Tills are kept in two generations. When the younger is as old as an empty bucket takes to fill, or has wrongTills, it
// becomes the older one, and the older one is dropped: its tills have full buckets, unless there were too many tills.
type wrongCodes struct {
	mu      sync.Mutex
	began   time.Time // when the younger generation did
	younger map[int64]time.Time
	older   map[int64]time.Time
}

// wait returns how long the till has to wait before it may ask; 0: not at all.
func (w *wrongCodes) wait(till int64, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	free := w.full(till).Add(-(wrongBurst - 1) * wrongEvery) // from then on there is a token
	if !free.After(now) {
		return 0
	}
	return free.Sub(now)
}

// count counts a wrong code of the till.
func (w *wrongCodes) count(till int64, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	full := w.full(till)
	if full.Before(now) {
		full = now
	}
	if len(w.younger) >= wrongTills || now.Sub(w.began) >= wrongBurst*wrongEvery {
		w.older, w.younger, w.began = w.younger, make(map[int64]time.Time), now
	}
	w.younger[till] = full.Add(wrongEvery)
}

// full returns when the till's bucket will be full; the zero time if it is. The caller holds the lock.
func (w *wrongCodes) full(till int64) time.Time {
	if full, known := w.younger[till]; known {
		return full
	}
	return w.older[till]
}
