package lock

import (
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestWhoJoinsALostHoldIsNotRenewed has a member answer at the moment when the hold is lost: either it does not join,
// or it ends with the others. Else its lease would be renewed for nobody.
func TestWhoJoinsALostHoldIsNotRenewed(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // is not asked: no lease is due so soon
	t.Cleanup(func() { _ = client.Close() })                       // nothing is under way
	locker := New(client, "")
	lock := Redlock(locker.Mutex("1"), locker.Mutex("2"), locker.Mutex("3"))
	for range 3000 {
		var held [3]*Hold
		for i, m := range lock.group.members {
			held[i] = newHold(m, claim{}, answer{token: 1}, time.Now())
		}
		whole := &Hold{lock: lock, parts: &parts{need: lock.group.need}} // hears of an end from this test alone
		whole.parts.add(held[0])
		whole.parts.add(held[1])
		var joins bool
		var both sync.WaitGroup
		both.Go(func() { joins = whole.adopt(held[2]) })
		both.Go(func() {
			held[0].end(ErrLost, true)
			whole.count()
		})
		both.Wait()
		if whole.Err() != nil && joins && held[2].Err() == nil {
			t.Fatal("a part that joined is renewed, though the hold is lost")
		}
		for _, part := range held {
			part.end(ErrLost, true)
		}
	}
}
