package lock_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
	"seckill/internal/testkit"
)

// holderEnv makes the test program a process that holds a lock until it is killed: "addr prefix".
const holderEnv = "LOCK_TEST_HOLDER"

// holderLease is that process's lease, which it renews.
const holderLease = time.Second

func TestMain(m *testing.M) {
	if where := os.Getenv(holderEnv); where != "" {
		holdForever(where)
		os.Exit(1)
	}
	testkit.Main(m)
}

// holdForever takes the lock and says so; it returns when that fails, or when the lock is lost.
func holdForever(where string) {
	var addr, prefix string
	if _, err := fmt.Sscan(where, &addr, &prefix); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	client := redis.NewClient(&redis.Options{Addr: addr})
	h, err := lock.New(client, prefix).Mutex("m", lock.WithRenewedLease(holderLease)).TryLock(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Println("held")
	<-h.Lost()
}
