//go:build before

package locks

import (
	"context"

	"seckill/lab/bench/locks/before/lock"
)

// pastCommit is the commit whose code is in the folder before; the build sets it.
var pastCommit string

// past returns this package at an older commit, with today's settings.
func past() []library {
	return []library{{asItWas + pastCommit, connectPast, []string{"evalsha", "eval"}}}
}

// first returns a Locker: older commits' New returned nothing else.
func first[L any](locker L, _ ...error) L { return locker }

func connectPast(addr string) (process, error) {
	c := client(addr)
	locker := first(lock.New(c, "before:"))
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
