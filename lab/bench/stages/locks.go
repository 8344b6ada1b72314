package stages

import (
	"context"
	_ "embed"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/order/gate"
)

// noLock does not lock.
func noLock(context.Context, int64) (func(), error) { return func() {}, nil }

// processLocks are users' locks in this process's memory. Two users share one only by rare chance.
type processLocks [1 << 16]sync.Mutex

func (l *processLocks) lock(_ context.Context, userID int64) (func(), error) {
	m := &l[userID%int64(len(l))]
	m.Lock()
	return m.Unlock, nil
}

//go:embed unlock.lua
var unlockSource string

var unlock = redis.NewScript(unlockSource)

// redisLocks are users' locks in Redis, with a lease and an owner. A request that does not get its user's lock is
// refused at once: another request of the user is buying.
type redisLocks struct{ shop *shop }

const lease = 10 * time.Second

func (l redisLocks) lock(ctx context.Context, userID int64) (func(), error) {
	key, owner := l.shop.lockKey(userID), uuid.NewString()
	got, err := l.shop.rdb.SetNX(ctx, key, owner, lease).Result()
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	case !got:
		return nil, &gate.AlreadyBoughtError{Status: order.StatusUnknown}
	}
	return func() {
		// A lock that cannot be released ends with its lease.
		_ = unlock.Run(context.WithoutCancel(ctx), l.shop.rdb, []string{key}, owner).Err()
	}, nil
}
