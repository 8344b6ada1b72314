package lock

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed mutex_acquire.lua
	mutexAcquire string
	//go:embed mutex_renew.lua
	mutexRenew string
	//go:embed mutex_release.lua
	mutexRelease string
)

// Mutex is a lock that one holder has at a time. It is not reentrant: a holder that locks again waits for itself.
// A Mutex is only a name and settings; it may be used any number of times, from any goroutine.
type Mutex struct {
	engine engine
}

// Mutex returns the mutex with the name, which may be any string. Processes that use the same name and prefix on the
// same Redis exclude each other. Without an option it has a lease of DefaultLease, which is renewed.
func (l *Locker) Mutex(name string, opts ...Option) *Mutex {
	return &Mutex{engine{
		name:      name,
		settings:  newSettings(opts),
		subscribe: l.client.Subscribe,
		remote:    &mutexRemote{client: l.client, scripts: l.mutex, keys: newKeys(l.prefix, name)},
	}}
}

// TryLock takes the lock if it is free, and returns ErrNotObtained at once if it is not. Other errors are ctx's,
// Redis's, or ErrInvalidLease; then the lock was not taken, or is free again after the lease at the latest.
func (m *Mutex) TryLock(ctx context.Context) (*Hold, error) { return m.engine.tryLock(ctx) }

// Lock waits for the lock until ctx ends; then it returns ErrNotObtained together with ctx's error. Other errors are as
// for TryLock: when Redis cannot be reached, Lock does not wait for that to end. Waiters are not served in order.
func (m *Mutex) Lock(ctx context.Context) (*Hold, error) { return m.engine.lock(ctx) }

// Do waits for the lock and runs f under it, with a context that ends when ctx does or the lock is lost. It returns
// the errors of Lock, or those of f and of the release together; ErrNotHeld among them says that f ended only after the
// lock was lost.
func (m *Mutex) Do(ctx context.Context, f func(ctx context.Context, h *Hold) error) error {
	h, err := m.Lock(ctx)
	if err != nil {
		return err
	}
	return h.do(ctx, f)
}

// TryDo is Do without waiting: it returns ErrNotObtained when somebody else has the lock.
func (m *Mutex) TryDo(ctx context.Context, f func(ctx context.Context, h *Hold) error) error {
	h, err := m.TryLock(ctx)
	if err != nil {
		return err
	}
	return h.do(ctx, f)
}

// do runs f under the hold and releases it, also when f panics.
func (h *Hold) do(ctx context.Context, f func(context.Context, *Hold) error) (err error) {
	held, cancel := h.Context(ctx)
	defer cancel()
	defer func() { err = errors.Join(err, h.Release(ctx)) }()
	return f(held, h)
}

// mutexScripts are the scripts of a mutex.
type mutexScripts struct{ acquire, renew, release *redis.Script }

func newMutexScripts() mutexScripts {
	return mutexScripts{redis.NewScript(mutexAcquire), redis.NewScript(mutexRenew), redis.NewScript(mutexRelease)}
}

// latchTime is how long it is remembered that an owner has released: longer than a request is repeated or stuck.
const latchTime = time.Minute

// mutexRemote is one mutex in Redis.
type mutexRemote struct {
	client  redis.Scripter
	scripts mutexScripts
	keys    keys
}

func (r *mutexRemote) acquire(ctx context.Context, owner string, lease time.Duration) (answer, error) {
	got, err := r.scripts.acquire.Run(ctx, r.client,
		[]string{r.keys.lock, r.keys.counter, r.keys.latch(owner)}, owner, lease.Milliseconds()).Int64Slice()
	if err != nil {
		return answer{}, err
	}
	if len(got) != 2 {
		return answer{}, fmt.Errorf("acquire script answered %v", got)
	}
	if got[0] == 1 {
		return answer{obtained: true, token: got[1]}, nil
	}
	return answer{wait: time.Duration(got[1]) * time.Millisecond}, nil
}

func (r *mutexRemote) renew(ctx context.Context, owner string, lease time.Duration) (bool, error) {
	n, err := r.scripts.renew.Run(ctx, r.client, []string{r.keys.lock}, owner, lease.Milliseconds()).Int()
	return n == 1, err
}

func (r *mutexRemote) release(ctx context.Context, owner string) (bool, error) {
	n, err := r.scripts.release.Run(ctx, r.client, []string{r.keys.lock, r.keys.latch(owner)},
		owner, latchTime.Milliseconds(), r.keys.channel).Int()
	return n == 1, err
}

func (r *mutexRemote) channel() string { return r.keys.channel }
