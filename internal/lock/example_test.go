package lock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
)

// exampleLocker returns a locker on an in-process Redis, for examples that run anywhere.
func exampleLocker() (locker *lock.Locker, done func()) {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	if locker, err = lock.New(client, "example:"); err != nil {
		panic(err)
	}
	return locker, func() { _ = client.Close(); server.Close() }
}

// One process at a time writes the report; the others do something else.
func ExampleLock_TryDo() {
	locker, done := exampleLocker()
	defer done()
	report := func(ctx context.Context, h *lock.Hold) error {
		fmt.Println("writing, unless ctx ends:", ctx.Err() == nil, h.Token() > 0)
		return nil
	}
	err := locker.Mutex("report").TryDo(context.Background(), report)
	switch {
	case errors.Is(err, lock.ErrNotObtained):
		fmt.Println("somebody else is at it")
	case err != nil:
		fmt.Println(err)
	}
	// Output: writing, unless ctx ends: true true
}

// A wait ends when its context ends.
func ExampleLock_Lock() {
	locker, done := exampleLocker()
	defer done()
	ctx := context.Background()
	first, err := locker.Mutex("report").Lock(ctx)
	fmt.Println(err)

	impatient, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = locker.Mutex("report").Lock(impatient)
	fmt.Println(errors.Is(err, lock.ErrNotObtained), errors.Is(err, context.DeadlineExceeded))
	fmt.Println(first.Release(ctx))
	// Output:
	// <nil>
	// true true
	// <nil>
}

// Pass the owner along to whoever is to enter again.
func ExampleLocker_Reentrant() {
	locker, done := exampleLocker()
	defer done()
	ctx, owner := context.Background(), lock.NewOwner()
	outer, _ := locker.Reentrant("cart:7", owner).Lock(ctx)
	inner, _ := locker.Reentrant("cart:7", owner).Lock(ctx)
	_, err := locker.Reentrant("cart:7", lock.NewOwner()).TryLock(ctx)
	fmt.Println(errors.Is(err, lock.ErrNotObtained), inner.Token() == outer.Token())
	fmt.Println(inner.Release(ctx), outer.Release(ctx))
	// Output:
	// true true
	// <nil> <nil>
}

// Waiters get the lock in the order in which they came, whichever process they are in.
func ExampleLocker_Fair() {
	locker, done := exampleLocker()
	defer done()
	ctx := context.Background()
	first, _ := locker.Fair("counter", lock.NewOwner()).Lock(ctx)
	second := make(chan *lock.Hold)
	go func() {
		h, _ := locker.Fair("counter", lock.NewOwner()).Lock(ctx)
		second <- h
	}()
	fmt.Println(first.Release(ctx))
	next := <-second
	fmt.Println(next.Token() > first.Token(), next.Release(ctx))
	// Output:
	// <nil>
	// true <nil>
}

// A writer may go on reading after it has written, and lets others read as well.
func ExampleLocker_Write() {
	locker, done := exampleLocker()
	defer done()
	ctx, owner := context.Background(), lock.NewOwner()
	writing, _ := locker.Write("prices", owner).Lock(ctx)
	reading, _ := locker.Read("prices", owner).Lock(ctx)
	_, err := locker.Read("prices", lock.NewOwner()).TryLock(ctx)
	fmt.Println("others read while the owner writes:", err == nil)
	fmt.Println(writing.Release(ctx))
	other, err := locker.Read("prices", lock.NewOwner()).TryLock(ctx)
	fmt.Println("others read while the owner only reads:", err == nil)

	// A reader cannot become a writer: two such readers would wait for each other.
	_, err = locker.Write("prices", owner).Lock(ctx)
	fmt.Println(errors.Is(err, lock.ErrUpgrade))
	fmt.Println(reading.Release(ctx), other.Release(ctx))
	// Output:
	// others read while the owner writes: false
	// <nil>
	// others read while the owner only reads: true
	// true
	// <nil> <nil>
}

// A stale holder is harmless where its token is checked.
func ExampleHold_Token() {
	locker, done := exampleLocker()
	defer done()
	ctx := context.Background()
	stale, _ := locker.Mutex("price").Lock(ctx)
	if _, err := locker.Mutex("price").ForceUnlock(ctx); err != nil {
		fmt.Println(err)
	}
	fresh, _ := locker.Mutex("price").Lock(ctx)
	fmt.Println("higher:", stale.Token() < fresh.Token())
	fmt.Println("refused:", errors.Is(stale.Release(ctx), lock.ErrNotHeld), fresh.Release(ctx))
	// In SQL: UPDATE prices SET price = ?, token = ? WHERE id = ? AND token <= ?
	// Output:
	// higher: true
	// refused: true <nil>
}
