package lock

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Limits and defaults of a lease.
const (
	// DefaultLease is the lease of a lock without an option; it is renewed.
	DefaultLease = 30 * time.Second
	// MinLease is the shortest lease that can be kept: renewals and answers need their time.
	MinLease = 20 * time.Millisecond
)

// Client is what the package needs of Redis; every redis.UniversalClient has it. The client should have
// ContextTimeoutEnabled set, else contexts' deadlines end no call that waits for Redis.
type Client interface {
	redis.Scripter
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// Locker hands out the locks of one Redis.
type Locker struct {
	client Client
	prefix string
	mutex  mutexScripts
}

// New returns a locker whose keys start with the prefix. Braces in the prefix are escaped.
func New(client Client, prefix string) *Locker {
	return &Locker{client: client, prefix: prefix, mutex: newMutexScripts()}
}

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
	return nil
}

// validity is how long after sending a request its sender may rely on the lease that it gave: less than the lease by
// what the two clocks may drift apart and what Redis rounds.
func (s settings) validity() time.Duration {
	return s.lease - s.lease/100 - 2*time.Millisecond
}
