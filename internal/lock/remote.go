package lock

import (
	"context"
	"time"
)

// remote is one kind of lock as it is kept in Redis. Each call is safe to repeat with the same owner. An error says
// nothing about whether the call took effect unless uncertain denies it.
type remote interface {
	// acquire takes the lock for the owner if it is free or his already.
	acquire(ctx context.Context, owner string, lease time.Duration) (answer, error)
	// renew gives the owner a whole lease again, and reports false when the lock is not his.
	renew(ctx context.Context, owner string, lease time.Duration) (bool, error)
	// release frees the lock if it is the owner's, and reports whether it was; the owner cannot acquire any more.
	release(ctx context.Context, owner string) (bool, error)
	// channel is where a release is published.
	channel() string
}

// answer is what an acquire was told.
type answer struct {
	obtained bool
	token    int64         // if obtained
	wait     time.Duration // if not: when the lease of the present holder ends, unless he renews it
}
