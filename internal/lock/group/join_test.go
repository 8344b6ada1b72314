package group

import (
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"seckill/internal/lock"
)

// TestWhoJoinsALostHoldIsNotRenewed has a member answer just as the hold is lost: it must either not join, or end with
// the others. Otherwise its lease would be renewed for nobody.
func TestWhoJoinsALostHoldIsNotRenewed(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	t.Cleanup(func() { _ = client.Close() }) // no call is under way
	locker, err := lock.New(client, "")
	if err != nil {
		t.Fatal(err)
	}
	whole := Redlock(locker.Mutex("1"), locker.Mutex("2"), locker.Mutex("3"))
	for range 1000 {
		var held []*part
		for i, m := range whole.members {
			h, err := m.TryLock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, &part{Hold: h, door: m.door, member: i})
		}
		h := newHold(whole, held[:2:2])
		var joins bool
		var both sync.WaitGroup
		both.Go(func() { joins = h.adopt(held[2]) })
		both.Go(func() {
			for _, p := range held[:2] {
				p.door.GiveUp(p.Hold, lock.ErrLost)
			}
			_ = h.Err()
		})
		both.Wait()
		for end := time.Now().Add(time.Second); joins && held[2].Err() == nil; time.Sleep(time.Millisecond) {
			if h.Err() == nil || time.Now().After(end) {
				t.Fatal("a part that joined is still renewed although the hold is lost")
			}
		}
		for _, p := range held {
			_ = p.Release(t.Context()) // the part may have been lost
		}
	}
}
