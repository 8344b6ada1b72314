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

// entry is one stay of a process in the torture test.
type entry struct {
	Kind     string
	From, To int64 // Unix nanoseconds; To is when the hold last reported that it is held
	Token    int64
}

// torment takes locks of all kinds for ever, and prints each stay.
func torment(ctx context.Context, task childTask, out io.Writer) error {
	var d deafness
	client := d.dialer(task.Addr)
	locker := newLocker(client, task.Prefix)
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
					os.Exit(1) // nobody reads the output
				}
			}
		}()
	}
	select {}
}

// stayOnce takes a lock of the kind, and reports whether it got it.
func stayOnce(parent context.Context, k kind, locker *lock.Locker) (e entry, ok bool) {
	ctx, cancel := context.WithTimeout(parent, 10*childLease)
	defer cancel()
	name := k.name
	if k.rival != "" {
		name = k.rival
	}
	h, err := k.open(locker, name, lock.NewOwner(), lock.WithRenewedLease(childLease)).Lock(ctx)
	if err != nil {
		time.Sleep(rand.N(20 * time.Millisecond)) // Redis may be down
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
	_ = h.Release(ctx) // the lock may have been lost
	if e.To == 0 {
		return entry{}, false
	}
	return e, true
}
