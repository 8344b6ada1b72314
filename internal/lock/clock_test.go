package lock_test

import (
	"errors"
	"testing"
	"time"

	"seckill/internal/lock"
)

// TestClockSetBack sets Redis's clock back, after which a mutex's time to live is longer than any lease. A dead
// holder's mutex must still end within two leases, and a living holder must have time to renew.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	const lease = 1500 * time.Millisecond // a busy machine may stop a process for a second
	s := newStage(t, "Mutex")
	step := func() {
		for _, key := range s.keys(t) {
			if err := s.client.PExpire(t.Context(), key, time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustLock(t, s.lock(lock.WithLease(lease))) // its holder dies
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
