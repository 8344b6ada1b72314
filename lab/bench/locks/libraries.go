package locks

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"seckill/internal/lock"
)

// lease is the lease of all locks: long enough that none ends during a turn.
const lease = 30 * time.Second

// library is one candidate.
type library struct {
	name string
	// connect makes a client as a separate process would have it.
	connect func(addr string) (process, error)
	// commands are the Redis commands, as Redis counts them, with which the library takes and releases.
	commands []string
}

// process is one client of a library.
type process struct {
	// lock waits for the lock, and returns the function that releases it.
	lock  func(ctx context.Context, name string) (release func() error, err error)
	close func()
}

// ours is the library whose figures are divided by the others'.
const ours = "this package"

func libraries() []library {
	return append([]library{
		{ours, connectOurs, []string{"evalsha", "eval"}},
		{"redsync", connectRedsync, []string{"evalsha", "eval", "set"}},
		{"bsm/redislock", connectRedislock, []string{"evalsha", "eval"}},
		{"rueidislock", connectRueidislock, []string{"evalsha", "eval", "set", "get"}},
	}, past()...)
}

func client(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true})
}

func connectOurs(addr string) (process, error) {
	c := client(addr)
	locker, err := lock.New(c, "ours:")
	if err != nil {
		return process{}, err
	}
	return process{
		lock: func(ctx context.Context, name string) (func() error, error) {
			h, err := locker.Mutex(name).Lock(ctx)
			if err != nil {
				return nil, err
			}
			return func() error { return h.Release(ctx) }, nil
		},
		close: func() { _ = c.Close() }, // nothing is under way
	}, nil
}

// connectRedsync keeps redsync's pauses between tries, 50 to 250 ms, and lets it try for ever.
func connectRedsync(addr string) (process, error) {
	c := client(addr)
	sync := redsync.New(goredis.NewPool(c))
	return process{
		lock: func(ctx context.Context, name string) (func() error, error) {
			m := sync.NewMutex("redsync:"+name, redsync.WithExpiry(lease), redsync.WithTries(1<<30))
			if err := m.LockContext(ctx); err != nil {
				return nil, err
			}
			return func() error { _, err := m.UnlockContext(ctx); return err }, nil
		},
		close: func() { _ = c.Close() }, // nothing is under way
	}, nil
}

// connectRedislock lets it try every 10 ms: it has no default, and its documentation uses 100 ms.
func connectRedislock(addr string) (process, error) {
	c := client(addr)
	locker := redislock.New(c)
	return process{
		lock: func(ctx context.Context, name string) (func() error, error) {
			l, err := locker.Obtain(ctx, "redislock:"+name, lease, &redislock.Options{
				RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond),
			})
			if err != nil {
				return nil, err
			}
			return func() error { return l.Release(ctx) }, nil
		},
		close: func() { _ = c.Close() }, // nothing is under way
	}, nil
}

// connectRueidislock lets it use one key, as the others do, instead of a majority of three.
func connectRueidislock(addr string) (process, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{addr}},
		KeyMajority:  1, KeyValidity: lease, NoLoopTracking: true,
	})
	if err != nil {
		return process{}, err
	}
	return process{
		lock: func(ctx context.Context, name string) (func() error, error) {
			_, release, err := locker.WithContext(ctx, name)
			if err != nil {
				return nil, err
			}
			return func() error { release(); return nil }, nil
		},
		close: locker.Close,
	}, nil
}
