package lock_test

import (
	"errors"
	"testing"
	"time"

	"seckill/internal/lock"
)

// TestClockSetBack: after a step of Redis's clock a mutex's time to live is longer than any lease. A dead holder's ends
// within two leases all the same, and a living one has time to renew.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	const lease = 1500 * time.Millisecond // a busy machine stops a process for a second
	s := newStage(t, "Mutex")
	step := func() {
		for _, key := range s.keys(t) {
			if err := s.client.PExpire(t.Context(), key, time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustLock(t, s.lock(lock.WithLease(lease))) // and dies
	step()
	living := mustLock(t, s.lock(lock.WithRenewedLease(lease)))
	step()
	if _, err := s.lock().TryLock(t.Context()); !errors.Is(err, lock.ErrNotObtained) {
		t.Errorf("TryLock while its holder lives: %v, want %v", err, lock.ErrNotObtained)
	}
	if left := s.state(t).TTL(); left > lease {
		t.Errorf("the lock is taken for %v, longer than its lease of %v", left, lease)
	}
	if err := living.Err(); err != nil {
		t.Errorf("the living holder: %v", err)
	}
}
