package lock

import (
	"fmt"
	"time"
)

// Limits and defaults of a lease.
const (
	// DefaultLease is the lease of a lock without an option; it is renewed.
	DefaultLease = 30 * time.Second
	// MinLease is the shortest lease: renewals and answers need some time.
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

// WithLease sets a fixed lease: the lock is not renewed and ends after d.
func WithLease(d time.Duration) Option {
	return func(s *settings) { s.lease, s.renewed = d, false }
}

// WithRenewedLease replaces DefaultLease. The lease is renewed every d/3; after its holder dies, the lock stays taken
// for d.
func WithRenewedLease(d time.Duration) Option {
	return func(s *settings) { s.lease, s.renewed = d, true }
}

// WithMaxHold stops the renewal after d, so that a hanging holder does not keep the lock for ever. The lock is then
// lost, at most one lease later. It is refused beside WithLease, which sets an end already.
func WithMaxHold(d time.Duration) Option {
	return func(s *settings) { s.maxHold = d }
}

func newSettings(opts []Option) settings {
	s := settings{lease: DefaultLease, renewed: true}
	for _, opt := range opts {
		opt(&s)
	}
	s.lease = s.lease.Truncate(time.Millisecond) // Redis counts whole milliseconds
	return s
}

func (s settings) check() error {
	if s.lease < MinLease {
		return fmt.Errorf("%w: %v, allowed: %v or more", ErrInvalidLease, s.lease, MinLease)
	}
	if s.maxHold < 0 {
		return fmt.Errorf("%w: held for %v at most", ErrInvalidOption, s.maxHold)
	}
	if s.maxHold > 0 && !s.renewed {
		return fmt.Errorf("%w: held for %v at most, although it is not renewed", ErrInvalidOption, s.maxHold)
	}
	return nil
}

// validity returns how long after sending a request the sender may rely on the lease: less than the lease, because two
// clocks may drift and Redis rounds.
func (s settings) validity() time.Duration {
	return s.lease - s.lease/100 - 2*time.Millisecond
}
