package service

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order/ordertest"
)

// oldKeys is a ledger with keys of which it is told when to delete which.
type oldKeys struct {
	left int
	age  time.Duration
	ends []int // how many were left after each batch
}

// ForgetKeys is the ledger's.
func (k *oldKeys) ForgetKeys(_ context.Context, _ int64, age time.Duration, n int) (int, error) {
	n = min(n, k.left)
	k.left -= n
	k.age, k.ends = age, append(k.ends, k.left)
	return n, nil
}

// Old keys go in batches until none is left, at once and not one batch a minute.
func TestKeyCleaner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keys := &oldKeys{left: 2*cleanBatch + 1}
		ctx, cancel := context.WithTimeout(t.Context(), cleanEvery/2)
		defer cancel()
		cleaner := KeyCleaner{Forget: keys.ForgetKeys, Locker: new(fakeFence).TryDoFenced, Log: ordertest.Quiet()}
		if err := cleaner.Run(ctx); err != nil {
			t.Error(err)
		}
		if keys.left != 0 || len(keys.ends) != 3 || keys.age != 30*24*time.Hour {
			t.Errorf("%+v", keys)
		}
	})
}
