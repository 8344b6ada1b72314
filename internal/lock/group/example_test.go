package group_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/lock/group"
)

// exampleLocker returns a locker of a Redis of its own.
func exampleLocker() (locker *lock.Locker, done func()) {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	if locker, err = lock.New(client, "myapp:"); err != nil {
		panic(err)
	}
	return locker, func() { _ = client.Close(); server.Close() }
}

// Multi takes all locks or none: nobody else can move money of these two accounts meanwhile.
func ExampleMulti() {
	locker, done := exampleLocker()
	defer done()
	ctx := context.Background()
	transfer := func(from, to string) *group.Lock {
		return group.Multi(locker.Mutex("account:"+from), locker.Mutex("account:"+to))
	}
	err := transfer("ann", "bob").Do(ctx, func(ctx context.Context, _ *group.Hold) error {
		_, busy := transfer("bob", "eve").TryLock(ctx)
		_, free := locker.Mutex("account:eve").TryLock(ctx)
		fmt.Println(errors.Is(busy, lock.ErrNotObtained), free)
		return nil
	})
	fmt.Println(err)
	// Output:
	// true <nil>
	// <nil>
}

// Two of three servers are enough, so a holder survives the loss of one.
func ExampleRedlock() {
	var members []*lock.Lock
	for range 3 { // independent servers
		locker, done := exampleLocker()
		defer done() //nolint:gocritic // three servers, all stopped at the end
		members = append(members, locker.Mutex("leader"))
	}
	ctx := context.Background()
	leader := group.Redlock(members[0], members[1:]...)
	h, err := leader.TryLock(ctx)
	fmt.Println(err, h.Token() > 0)
	_, err = leader.TryLock(ctx)
	fmt.Println(errors.Is(err, lock.ErrNotObtained))
	fmt.Println(h.Release(ctx))
	// Output:
	// <nil> true
	// true
	// <nil>
}
