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
		os.Exit(holdForever(where))
	}
	testkit.Main(m)
}

func holdForever(where string) int {
	var addr, prefix string
	if _, err := fmt.Sscan(where, &addr, &prefix); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	client := redis.NewClient(&redis.Options{Addr: addr})
	h, err := lock.New(client, prefix).Mutex("m", lock.WithRenewedLease(holderLease)).TryLock(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("held")
	<-h.Lost()
	return 1
}
