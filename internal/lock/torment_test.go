package lock_test

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"seckill/internal/lock"
)

// entry is one stay of a torture's process at a lock.
type entry struct {
	Kind     string
	From, To int64 // Unix nanoseconds; To is when it was last said to be held
	Token    int64
}

// torment takes locks of all kinds for ever, and prints what it had.
func torment(ctx context.Context, task childTask, out io.Writer) error {
	var d deafness
	client := d.dialer(task.Addr)
	locker := lock.New(client, task.Prefix)
	if task.Deaf {
		go func() {
			for {
				time.Sleep(rand.N(4 * childLease))
				d.begin()
			}
		}()
	}
	var mu sync.Mutex
	lines := json.NewEncoder(out)
	for range 2 * len(kinds) {
		go func() {
			for {
				k := kinds[rand.IntN(len(kinds))]
				e, ok := stayOnce(ctx, k, locker)
				if !ok {
					continue
				}
				mu.Lock()
				err := lines.Encode(e)
				mu.Unlock()
				if err != nil {
					os.Exit(1) // nobody listens
				}
			}
		}()
	}
	select {}
}

// stayOnce takes the lock of a kind, and reports whether it had it.
func stayOnce(parent context.Context, k kind, locker *lock.Locker) (e entry, ok bool) {
	ctx, cancel := context.WithTimeout(parent, 10*childLease)
	defer cancel()
	name := k.name
	if k.rival != "" {
		name = k.rival
	}
	h, err := k.open(locker, name, lock.NewOwner(), lock.WithRenewedLease(childLease)).Lock(ctx)
	if err != nil {
		time.Sleep(rand.N(20 * time.Millisecond)) // Redis may be away
		return entry{}, false
	}
	e = entry{Kind: k.name, From: time.Now().UnixNano(), Token: h.Token()}
	for end := time.Now().Add(rand.N(20 * time.Millisecond)); time.Now().Before(end); time.Sleep(time.Millisecond) {
		at := time.Now().UnixNano()
		if h.Err() != nil {
			break
		}
		e.To = at
	}
	_ = h.Release(ctx) // it may have been lost
	if e.To == 0 {
		return entry{}, false
	}
	return e, true
}
