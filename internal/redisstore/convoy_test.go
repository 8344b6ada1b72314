package redisstore

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"seckill/internal/order"
	"seckill/internal/testkit"
)

// roadblock keeps calls of scripts that travel alone from Redis until it is lifted, and counts those that travel together.
type roadblock struct {
	stopped  chan struct{} // one for each call that has come to it
	lifted   chan struct{}
	together chan int
}

func (b *roadblock) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (b *roadblock) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			b.stopped <- struct{}{}
			<-b.lifted
		}
		return next(ctx, cmd)
	}
}

func (b *roadblock) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		b.together <- len(cmds)
		return next(ctx, cmds)
	}
}

// jam is a rig whose convoy is full: maxConvoys sends are under way and come no further until the block is lifted.
type jam struct {
	*rig
	*roadblock
	t     *testing.T
	first errgroup.Group // the sends under way
}

// newJam opens so many sales, 1, 2, 3…, with five units each.
func newJam(t *testing.T, clients *Clients, sales int64) *jam {
	t.Helper()
	j := &jam{t: t, rig: rigOn(t, clients, ""), roadblock: &roadblock{
		stopped: make(chan struct{}, 1000), lifted: make(chan struct{}), together: make(chan int, 1000),
	}}
	for id := range sales {
		j.sale.VoucherID = id + 1
		j.open(1, j.hour(5))
		j.admit(applicants(100, 1)...) // so that the script is there
	}
	clients.Commands.AddHook(j.roadblock)
	for range maxConvoys {
		j.first.Go(func() error { return second(j.admitTo(j.ctx(), 1, 200)) })
	}
	for range maxConvoys {
		<-j.stopped
	}
	return j
}

// admitTo sends one applicant to a sale.
func (j *jam) admitTo(ctx context.Context, sale, user int64) (order.Verdict, error) {
	return j.Admit(ctx, order.Batch{Sale: order.SaleRef{VoucherID: sale}, Applicants: applicants(user, 1), MaxBacklog: 1000})
}

// awaitWaiting returns once so many wait for the next send.
func (j *jam) awaitWaiting(n int) {
	j.t.Helper()
	eventually(j.t, func() bool {
		j.admissions.mu.Lock()
		defer j.admissions.mu.Unlock()
		return len(j.admissions.waiting) == n
	})
}

// lift lets the first sends through.
func (j *jam) lift() {
	j.t.Helper()
	close(j.lifted)
	j.must(j.first.Wait())
}

// Whoever comes while sends are under way travels together, and each is told what became of him.
func TestConvoyTravelsTogether(t *testing.T) {
	t.Parallel()
	const sales = maxPassengers + 10
	server := testkit.StartRedis(t)
	j := newJam(t, newClients(t, ClientConfig{Topology: Single, Addrs: []string{server.Addr}}), sales)
	broken := int64(sales)
	j.must(j.commands.Set(j.ctx(), j.keys.buyers(order.SaleRef{VoucherID: broken}), "not a hash", 0).Err())
	j.must(j.commands.ScriptFlush(j.ctx()).Err())
	var group errgroup.Group
	for id := int64(1); id <= sales; id++ {
		group.Go(func() error {
			v, err := j.admitTo(j.ctx(), id, 300+id)
			if id == broken {
				if err == nil || errors.Is(err, order.ErrUnavailable) {
					t.Errorf("a sale that cannot be read: %v", err)
				}
				return nil
			}
			if err == nil {
				equal(t, []string{"0"}, codes(v.Outcomes))
			}
			return err
		})
	}
	j.awaitWaiting(sales)
	j.lift()
	j.must(group.Wait())
	travelled := 0
	for travelled < sales {
		n := <-j.together
		if n > maxPassengers {
			t.Errorf("%d travelled together", n)
		}
		travelled += n
	}
	if n := len(j.together); n > 0 {
		t.Errorf("%d more sends", n)
	}
	for id := int64(1); id < broken; id++ {
		j.sale.VoucherID = id
		if place := j.places()[300+id]; place == 0 {
			t.Errorf("sale %d: the buyer has no place", id)
		}
	}
	eventually(t, func() bool { // a send ends when its passengers have their answers
		j.admissions.mu.Lock()
		defer j.admissions.mu.Unlock()
		return j.admissions.underway+len(j.admissions.waiting) == 0
	})
}

// Whoever stops waiting before he was sent is not sent, and that is known.
func TestConvoyLeftInTime(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t)
	j := newJam(t, newClients(t, ClientConfig{Topology: Single, Addrs: []string{server.Addr}}), 3)
	ctx, cancel := context.WithCancel(j.ctx())
	var group errgroup.Group
	var left error
	group.Go(func() error { left = second(j.admitTo(ctx, 2, 300)); return nil })
	group.Go(func() error { return second(j.admitTo(j.ctx(), 3, 301)) })
	j.awaitWaiting(2)
	cancel()
	j.awaitWaiting(1)
	j.lift()
	j.must(group.Wait())
	if !errors.Is(left, order.ErrUnavailable) || !errors.Is(left, context.Canceled) {
		t.Errorf("he left before he was sent: %v", left)
	}
	equal(t, 1, <-j.together)
	j.sale.VoucherID = 2
	equal(t, 1, len(j.places()))
}

// When the answer of a send is lost, that is unknown for all who travelled in it; each one's identical call tells.
func TestConvoyAnswerLost(t *testing.T) {
	t.Parallel()
	proxy := testkit.NewProxy(t, testkit.StartRedis(t).Addr)
	j := newJam(t, newClients(t, ClientConfig{Topology: Single, Addrs: []string{proxy.Addr}}), 4)
	var group errgroup.Group
	errs := make([]error, 5)
	for id := int64(2); id <= 4; id++ {
		group.Go(func() error { errs[id] = second(j.admitTo(j.ctx(), id, 300)); return nil })
	}
	j.awaitWaiting(3)
	proxy.DropRepliesTo("buyers:3", 1)
	j.lift()
	j.must(group.Wait())
	equal(t, 1, proxy.Lost())
	for id := int64(2); id <= 4; id++ {
		if err := errs[id]; err == nil || errors.Is(err, order.ErrUnavailable) {
			t.Errorf("sale %d: the answer was lost: %v", id, err)
		}
		v, err := j.admitTo(j.ctx(), id, 300)
		j.must(err)
		equal(t, []string{"0"}, codes(v.Outcomes))
		j.sale.VoucherID = id
		equal(t, 2, len(j.places()))
	}
}
