package stages

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"seckill/internal/lock"
	"seckill/internal/order"
)

// The times of the stages that show what a lock in Redis is worth. All of them hold it for work; the first of a user's
// turns, and every fourth after it, stalls, as under a slow query or while its process does not run.
const (
	shortLease = 500 * time.Millisecond
	work       = shortLease / 5
	stall      = shortLease * 3 / 2
	stallEvery = 4
	pollEvery  = 20 * time.Millisecond
)

// where a turn stalls.
type where int

const (
	inWork    where = iota // between the check whether the user has bought and the order
	inRelease              // between the check who owns the lock and its removal
)

// critical sells under a lock per user in Redis, for which requests wait, and counts the turns that began while another
// request held the same user's lock.
type critical struct {
	shop   *shop
	lock   func(ctx context.Context, userID int64, pause func()) (unlock func(), err error)
	stalls where

	mu       sync.Mutex
	holders  map[int64]int // by user
	begun    map[int64]int // turns, by user
	turns    int
	overlaps int
}

// newCritical returns the stage with the lock of that name, or nil if there is none.
func newCritical(s *shop, name string) *critical {
	c := &critical{shop: s, holders: map[int64]int{}, begun: map[int64]int{}}
	switch name {
	case "ownerless":
		c.lock = s.lockWithoutOwner
	case "checkdelete":
		c.lock, c.stalls = s.lockCheckedThenDeleted, inRelease
	case "unrenewed":
		c.lock = s.lockUnrenewed
	case "renewed":
		c.lock = newRenewedLocks(s)
	default:
		return nil
	}
	return c
}

func (c *critical) Buy(ctx context.Context, userID, voucher int64, _ time.Duration) (order.Order, error) {
	turn := 0
	pause := func(at where) {
		if at == c.stalls && turn%stallEvery == 1 {
			time.Sleep(stall)
		}
	}
	unlock, err := c.lock(ctx, userID, func() { pause(inRelease) })
	if err != nil {
		return order.Order{}, fmt.Errorf("%w: %w", order.ErrUnavailable, err)
	}
	defer unlock()
	turn = c.enter(userID)
	defer c.leave(userID)
	id, err := c.shop.nextID(ctx)
	if err != nil {
		return order.Order{}, err
	}
	p := purchase{id, userID, voucher}
	err = c.shop.inTransaction(ctx, func(tx *sql.Tx) error {
		err := notBoughtYet(ctx, tx, p)
		time.Sleep(work)
		pause(inWork)
		if err != nil {
			return err
		}
		return c.shop.takeUnit(ctx, tx, p)
	})
	if err != nil {
		return order.Order{}, err
	}
	return p.order(), nil
}

// enter begins a turn and returns its number among the user's.
func (c *critical) enter(userID int64) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holders[userID] > 0 {
		c.overlaps++
	}
	c.holders[userID]++
	c.begun[userID]++
	c.turns++
	return c.begun[userID]
}

func (c *critical) leave(userID int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holders[userID]--
}

// report is the process's last line: only it knows how its turns lay.
func (c *critical) report() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("overlaps: %d in %d turns", c.overlaps, c.turns)
}

func (s *shop) lockKey(userID int64) string {
	return s.prefix + "lock:order:" + strconv.FormatInt(userID, 10)
}

// awaitLock sets the key to the owner as soon as it is not there.
func (s *shop) awaitLock(ctx context.Context, key, owner string) error {
	for {
		got, err := s.rdb.SetNX(ctx, key, owner, shortLease).Result()
		if err != nil || got {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// lockWithoutOwner is released by whoever comes to it: also by one whose lease has ended, while another holds it.
func (s *shop) lockWithoutOwner(ctx context.Context, userID int64, _ func()) (func(), error) {
	key := s.lockKey(userID)
	return func() {
		_ = s.rdb.Del(context.WithoutCancel(ctx), key).Err() // else the lease ends it
	}, s.awaitLock(ctx, key, "locked")
}

// lockCheckedThenDeleted has an owner, who is checked by one call and deleted by the next.
func (s *shop) lockCheckedThenDeleted(ctx context.Context, userID int64, pause func()) (func(), error) {
	key, owner := s.lockKey(userID), uuid.NewString()
	return func() {
		ctx := context.WithoutCancel(ctx)
		if held, err := s.rdb.Get(ctx, key).Result(); err == nil && held == owner {
			pause()
			_ = s.rdb.Del(ctx, key).Err() // else the lease ends it
		}
	}, s.awaitLock(ctx, key, owner)
}

// lockUnrenewed is released by its owner alone, in one step; but a lease that is too short ends it earlier.
func (s *shop) lockUnrenewed(ctx context.Context, userID int64, _ func()) (func(), error) {
	key, owner := s.lockKey(userID), uuid.NewString()
	return func() {
		_ = unlock.Run(context.WithoutCancel(ctx), s.rdb, []string{key}, owner).Err() // else the lease ends it
	}, s.awaitLock(ctx, key, owner)
}

// newRenewedLocks returns this service's lock, with the same lease.
func newRenewedLocks(s *shop) func(context.Context, int64, func()) (func(), error) {
	locker, unfit := lock.New(s.rdb, s.prefix)
	return func(ctx context.Context, userID int64, _ func()) (func(), error) {
		if unfit != nil {
			return nil, unfit
		}
		hold, err := locker.Mutex(strconv.FormatInt(userID, 10), lock.WithRenewedLease(shortLease)).Lock(ctx)
		if err != nil {
			return nil, err
		}
		return func() { _ = hold.Release(context.WithoutCancel(ctx)) }, nil // else the lease ends it
	}
}
