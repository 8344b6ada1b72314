//go:build before

package locks

import (
	"context"

	"seckill/lab/bench/locks/before/lock"
)

// pastCommit is whose code lies in the folder before; the build says it.
var pastCommit string

// past is this package as it was at a commit, with the settings of today's.
func past() []library {
	return []library{{asItWas + pastCommit, connectPast, []string{"evalsha", "eval"}}}
}

func connectPast(addr string) (process, error) {
	c := client(addr)
	locker := lock.New(c, "before:")
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
