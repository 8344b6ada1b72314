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

// block keeps calls of scripts that are sent by themselves from Redis until it is lifted, and counts those that are sent
// together.
type block struct {
	stopped  chan struct{} // one for each call that has come to it
	lifted   chan struct{}
	together chan int // how many commands each pipeline had
}

func (b *block) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (b *block) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			b.stopped <- struct{}{}
			<-b.lifted
		}
		return next(ctx, cmd)
	}
}

func (b *block) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		b.together <- len(cmds)
		return next(ctx, cmds)
	}
}

// busyRig is a rig with maxSends sends under way, which come no further until the block is lifted.
type busyRig struct {
	*rig
	*block
	t     *testing.T
	first errgroup.Group // the sends under way
}

// newBusyRig opens so many sales, 1, 2, 3…, with five units each.
func newBusyRig(t *testing.T, clients *Clients, sales int64) *busyRig {
	t.Helper()
	j := &busyRig{t: t, rig: rigOn(t, clients, ""), block: &block{
		stopped: make(chan struct{}, 1000), lifted: make(chan struct{}), together: make(chan int, 1000),
	}}
	for id := range sales {
		j.sale.VoucherID = id + 1
		j.open(1, j.hour(5))
		j.admit(requests(100, 1)...) // so that the script is there
	}
	clients.Commands.AddHook(j.block)
	for range maxSends {
		j.first.Go(func() error { return second(j.admitTo(j.ctx(), 1, 200)) })
	}
	for range maxSends {
		<-j.stopped
	}
	return j
}

// admitTo sends one request to a sale.
func (j *busyRig) admitTo(ctx context.Context, sale, user int64) (order.BatchResult, error) {
	return j.Admit(ctx, order.Batch{Sale: order.SaleRef{VoucherID: sale}, Requests: requests(user, 1), MaxBacklog: 1000})
}

// awaitWaiting returns once so many wait for the next send.
func (j *busyRig) awaitWaiting(n int) {
	j.t.Helper()
	eventually(j.t, func() bool { return j.admissions.sends.Waiting() == n })
}

// lift lets the first sends through.
func (j *busyRig) lift() {
	j.t.Helper()
	close(j.lifted)
	j.must(j.first.Wait())
}

// Calls that come while sends are under way share the next ones, and each gets its own answer.
func TestPipelinerSharesSends(t *testing.T) {
	t.Parallel()
	const sales = maxCalls + 10
	server := testkit.StartRedis(t)
	j := newBusyRig(t, newClients(t, ClientConfig{Topology: Single, Addrs: []string{server.Addr}}), sales)
	broken := int64(sales)
	j.must(j.commands.Set(j.ctx(), j.keys.buyers(order.SaleRef{VoucherID: broken}), "not a hash", 0).Err())
	j.must(j.commands.ScriptFlush(j.ctx()).Err())
	var group errgroup.Group
	for id := int64(1); id <= sales; id++ {
		group.Go(func() error {
			v, err := j.admitTo(j.ctx(), id, 300+id)
			if id == broken {
				equal(t, []string{"2"}, codes(v.Results))
				return err
			}
			if err == nil {
				equal(t, []string{"0"}, codes(v.Results))
			}
			return err
		})
	}
	j.awaitWaiting(sales)
	j.lift()
	j.must(group.Wait())
	sent := 0
	for sent < sales {
		n := <-j.together
		if n > maxCalls {
			t.Errorf("%d calls in one send", n)
		}
		sent += n
	}
	if n := len(j.together); n > 0 {
		t.Errorf("%d more sends", n)
	}
	for id := int64(1); id < broken; id++ {
		j.sale.VoucherID = id
		if place := j.holders()[300+id]; place == 0 {
			t.Errorf("sale %d: the buyer has no order", id)
		}
	}
	equal(t, 0, j.admissions.sends.Waiting())
}

// A caller that gives up before its call was sent is not sent, and that is known.
func TestPipelinerCallerGivesUp(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t)
	j := newBusyRig(t, newClients(t, ClientConfig{Topology: Single, Addrs: []string{server.Addr}}), 4)
	ctx, cancel := context.WithCancel(j.ctx())
	var group errgroup.Group
	var gaveUp errgroup.Group
	gaveUp.Go(func() error { return second(j.admitTo(ctx, 2, 300)) })
	j.awaitWaiting(1)
	for sale := int64(3); sale <= 4; sale++ {
		group.Go(func() error { return second(j.admitTo(j.ctx(), sale, 301)) })
	}
	j.awaitWaiting(3)
	cancel()
	if err := gaveUp.Wait(); !errors.Is(err, order.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("gave up before it was sent: %v", err)
	}
	j.lift()
	j.must(group.Wait())
	equal(t, 2, <-j.together)
	j.sale.VoucherID = 2
	equal(t, 1, len(j.holders()))
}

// When the answer of a send is lost, the outcome of all its calls is unknown; the identical call tells.
func TestPipelinerAnswerLost(t *testing.T) {
	t.Parallel()
	proxy := testkit.NewProxy(t, testkit.StartRedis(t).Addr)
	j := newBusyRig(t, newClients(t, ClientConfig{Topology: Single, Addrs: []string{proxy.Addr}}), 4)
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
		equal(t, []string{"0"}, codes(v.Results))
		j.sale.VoucherID = id
		equal(t, 2, len(j.holders()))
	}
}
