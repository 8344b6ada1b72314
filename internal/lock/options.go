package lock

import (
	"fmt"
	"time"
)

// Limits and defaults of a lease.
const (
	// DefaultLease is the lease of a lock without an option; it is renewed.
	DefaultLease = 30 * time.Second
	// MinLease is the shortest lease that can be kept: renewals and answers need their time.
	MinLease = 20 * time.Millisecond
)

// Option changes how a lock is held.
type Option func(*settings)

// settings say how a lock is held.
type settings struct {
	lease   time.Duration // whole milliseconds
	renewed bool
	maxHold time.Duration // 0: no limit
}

// WithLease gives the lock for the time d and no longer: it is not renewed.
func WithLease(d time.Duration) Option {
	return func(s *settings) { s.lease, s.renewed = d, false }
}

// WithRenewedLease sets the lease that is renewed every d/3, instead of DefaultLease. It is how long the lock stays
// taken after its holder dies.
func WithRenewedLease(d time.Duration) Option {
	return func(s *settings) { s.lease, s.renewed = d, true }
}

// WithMaxHold stops the renewal after d, so that a holder that hangs does not keep the lock for ever: it is lost then,
// at most a lease later.
func WithMaxHold(d time.Duration) Option {
	return func(s *settings) { s.maxHold = d }
}

func newSettings(opts []Option) settings {
	s := settings{lease: DefaultLease, renewed: true}
	for _, opt := range opts {
		opt(&s)
	}
	s.lease = s.lease.Truncate(time.Millisecond) // what Redis counts in
	return s
}

func (s settings) check() error {
	if s.lease < MinLease {
		return fmt.Errorf("%w: %v, allowed: %v or more", ErrInvalidLease, s.lease, MinLease)
	}
	if s.maxHold < 0 {
		return fmt.Errorf("%w: held for %v at most", ErrInvalidOption, s.maxHold)
	}
	return nil
}

// validity is how long after sending a request its sender may rely on the lease that it gave: less than the lease by
// what the two clocks may drift apart and what Redis rounds.
func (s settings) validity() time.Duration {
	return s.lease - s.lease/100 - 2*time.Millisecond
}
