package faults

import (
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// nodeDeadInMove has all buyers of a split sale want units of one share, so that units move to it. While some are on their way, taken from
// a share and not given to the other, the master of the one share or of the other is killed.
func nodeDeadInMove(giving bool) func(*run) {
	return func(r *run) {
		r.partitions, r.shares = max(r.partitions, 4), max(r.shares, 4) // of four partitions, three are on different masters
		r.rebuilt, r.loss, r.rebuilds = true, true, plannedRebuilds
		r.open(deployment{units: 4000})
		getting := r.rand.IntN(r.shares)
		caught := r.holdMoves()
		r.loadBy(r.buyers, func() int64 { return r.newUserOf(getting) }, 24, 20*time.Millisecond)
		r.load(8, 100*time.Millisecond) // of all shares
		replicas := r.replicas()
		r.await("units on their way", caught.reached)
		from := r.onTheWayFrom()
		key := r.streamOf(getting)
		if giving {
			key = r.streamOf(from)
		}
		victim := r.cluster.Master(key)
		r.cluster.Nodes[victim].Kill()
		caught.release()
		r.nodeTimeout(nodeTimeout, victim)
		r.Logf("node %d was killed while units were on their way from share %d to share %d of %v", victim, from, getting, r.sharesAt)
		box.Eventually(r, "a replica that takes writes", func() error { return replicas[victim].Set(r.Context(), key+":probe", 1, 0).Err() })
		r.nodeTimeout(patientTimeout, victim)
		r.awaitSelling()
		if n := r.buyers.Record.Counts()["refused SOLD_OUT"]; n > 0 { // the checker excuses it where a Redis has lost something
			r.Errorf("%d buyers were told SOLD_OUT while there were units", n)
		}
		r.finish()
		r.expectNoneOnTheWay()
		r.cluster.Nodes[victim].Start() // for those who come next
		r.cluster.AwaitReady()
	}
}

// streamOf returns the key of the stream of a share's orders, which is on the same node as the share.
func (r *run) streamOf(share int) string {
	return r.site.Redis.In(r.sharesAt[share].Partition).StreamKey()
}

// replicas returns a client of the replica of each master, by the master's number.
func (r *run) replicas() map[int]*redis.Client {
	r.Helper()
	clients := map[int]*redis.Client{}
	for _, master := range r.cluster.Masters() {
		clients[master] = r.cluster.Nodes[r.cluster.Replica(master)].Client()
	}
	return clients
}

// heldMoves are moves that are held at every instance: Redis has taken the units, and the ledger does not know.
type heldMoves struct {
	reached chan struct{} // closed when the first one is held
	points  []*testkit.Breakpoint
}

// holdMoves holds the next move of each instance: when one gives up, another one goes on with its move.
func (r *run) holdMoves() *heldMoves {
	h := &heldMoves{reached: make(chan struct{})}
	reached := sync.OnceFunc(func() { close(h.reached) })
	for _, p := range r.proxies {
		b := p.mysql.Break(testkit.Match{Text: commit, After: unitsTaken})
		h.points = append(h.points, b)
		go func() {
			select {
			case <-b.Reached():
				reached()
			case <-r.Context().Done():
			}
		}()
	}
	return h
}

// release lets all that is held go on.
func (h *heldMoves) release() {
	for _, b := range h.points {
		b.Release()
	}
}

// onTheWayFrom returns the share that units have left in Redis. It fails the scenario unless they are on their way.
func (r *run) onTheWayFrom() int {
	r.Helper()
	out, in, err := r.movedInRedis()
	r.must(err)
	from, on := -1, int64(0)
	for share := range out {
		on += out[share] - in[share]
		if out[share] > 0 {
			from = share
		}
	}
	if on <= 0 {
		r.Fatalf("no units are on their way: the shares have given %v and got %v", out, in)
	}
	return from
}

// expectNoneOnTheWay waits until Redis and the ledger agree that each unit that has left a share has come to another one.
func (r *run) expectNoneOnTheWay() {
	r.Helper()
	box.Eventually(r, "no unit on its way", func() error {
		if _, err := r.site.Ledger.Shares(r.Context(), r.buyers.Voucher); err != nil {
			return err
		}
		moved, err := r.site.Ledger.Moved(r.Context(), r.buyers.Voucher)
		if err != nil {
			return err
		}
		out, in, err := r.movedInRedis()
		if err != nil {
			return err
		}
		var given, got int64
		for share := range out {
			given, got = given+out[share], got+in[share]
		}
		if given != moved || got != moved || moved == 0 {
			return fmt.Errorf("in Redis %d have left shares and %d have come to shares, in the ledger %d", given, got, moved)
		}
		return nil
	})
}

// movedInRedis returns how many units each share has given and got, as Redis says.
func (r *run) movedInRedis() (out, in []int64, err error) {
	for _, share := range r.sharesAt {
		o, i, err := r.site.Redis.Moved(r.Context(), r.buyers.Voucher, share)
		if err != nil {
			return nil, nil, err
		}
		out, in = append(out, o), append(in, i)
	}
	return out, in, nil
}
