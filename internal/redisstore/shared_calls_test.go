package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/testkit"
	"seckill/scripts"
)

// block holds up calls of scripts until it is lifted, and then counts the sales of each.
type block struct {
	stopped  chan struct{} // one value per call that it holds up
	lifted   chan struct{}
	together chan int // number of sales of each later call
}

func (b *block) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (b *block) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		b.pass(cmd)
		return next(ctx, cmd)
	}
}

func (b *block) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			b.pass(cmd)
		}
		return next(ctx, cmds)
	}
}

func (b *block) pass(cmd redis.Cmder) {
	if cmd.Name() != "evalsha" {
		return
	}
	select {
	case <-b.lifted:
		b.together <- (cmd.Args()[2].(int) - 1) / 2
	default:
		b.stopped <- struct{}{}
		<-b.lifted
	}
}

// busyRig is a rig with maxSends sends under way, which the block holds up until it is lifted.
type busyRig struct {
	*rig
	*block
	t     *testing.T
	first errgroup.Group // the sends under way
}

// newBusyRig opens that many sales, 1, 2, 3…, with five units each.
func newBusyRig(t *testing.T, clients *rediskit.Clients, sales int64) *busyRig {
	t.Helper()
	j := &busyRig{t: t, rig: rigOn(t, clients, ""), block: &block{
		stopped: make(chan struct{}, 1000), lifted: make(chan struct{}), together: make(chan int, 1000),
	}}
	for id := range sales {
		j.sale.VoucherID = id + 1
		j.open(1, j.hour(5))
		j.admit(requests(100, 1)...) // so that Redis has the script
	}
	clients.Commands.AddHook(j.block)
	for range maxSends {
		j.first.Go(func() error { return second(j.admitTo(j.patient(), 1, 200)) })
	}
	for range maxSends {
		<-j.stopped
	}
	return j
}

// admitTo sends one request to a sale.
func (j *busyRig) admitTo(ctx context.Context, sale, user int64) (gate.BatchResult, error) {
	return j.Admit(ctx,
		gate.Batch{Sale: order.SaleRef{VoucherID: sale}, Requests: requests(user, 1), MaxBacklog: 1000})
}

// awaitWaiting returns once n batches wait for the next send.
func (j *busyRig) awaitWaiting(n int) {
	j.t.Helper()
	testkit.Eventually(j.t, func() bool { return j.callsIn(0).sends.Waiting() == n })
}

// lift lets the first sends through.
func (j *busyRig) lift() {
	j.t.Helper()
	close(j.lifted)
	j.must(j.first.Wait())
}

// Batches that come while sends are under way share the next calls, and each gets its own answer: a sale that cannot be
// read affects no other.
func TestSalesShareCalls(t *testing.T) {
	t.Parallel()
	const sales = scripts.MaxSales + 10
	server := testkit.StartRedis(t)
	j := newBusyRig(t, newClients(t, rediskit.Config{Topology: rediskit.Single, Addrs: []string{server.Addr}}), sales)
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
		if n > scripts.MaxSales {
			t.Errorf("one call had %d sales", n)
		}
		sent += n
	}
	if n := len(j.together); n > 0 {
		t.Errorf("%d more calls", n)
	}
	for id := int64(1); id < broken; id++ {
		j.sale.VoucherID = id
		if place := j.holders()[300+id]; place == 0 {
			t.Errorf("sale %d: the buyer has no order", id)
		}
	}
	equal(t, 0, j.callsIn(0).sends.Waiting())
}

// The call of a caller who gives up before is not sent, and the error says so.
func TestSharedCallCallerGivesUp(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t)
	j := newBusyRig(t, newClients(t, rediskit.Config{Topology: rediskit.Single, Addrs: []string{server.Addr}}), 4)
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
		t.Errorf("the caller gave up before the call was sent: %v", err)
	}
	j.lift()
	j.must(group.Wait())
	equal(t, 2, <-j.together)
	j.sale.VoucherID = 2
	equal(t, 1, len(j.holders()))
}

// When the answer of a send is lost, the outcome of all its calls is unknown; the identical call finds it out.
func TestSharedCallAnswerLost(t *testing.T) {
	t.Parallel()
	proxy := testkit.NewProxy(t, testkit.StartRedis(t).Addr)
	j := newBusyRig(t, newClients(t, rediskit.Config{Topology: rediskit.Single, Addrs: []string{proxy.Addr}}), 4)
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

// A send that several callers share ends soon although Redis is silent and the client itself would wait for a minute.
func TestSharedCallSilentRedis(t *testing.T) {
	t.Parallel()
	proxy := testkit.NewProxy(t, testkit.StartRedis(t).Addr)
	r := rigOn(t, newClients(t,
		rediskit.Config{Topology: rediskit.Single, Addrs: []string{proxy.Addr}, Timeout: time.Minute}), "")
	r.open(1, r.hour(5))
	r.admit(requests(1, 1)...) // so that there is a connection
	proxy.Blackhole()
	defer proxy.Heal()
	p := &pendingBatch{Request: gate.Batch{Sale: r.sale, MaxBacklog: 1000, Requests: requests(2, 1)}}
	start := time.Now()
	r.must(r.callsIn(0).send(r.ctx(), []*pendingBatch{p}))
	if took := time.Since(start); p.Answer.err == nil || took > 30*time.Second {
		t.Errorf("%v after %v", p.Answer.err, took)
	}
}

// Whatever is wrong with one sale of a call affects no other. A sale that occurs twice in a call is decided in order.
func TestSalesOfACallAreApart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for id := int64(1); id <= 6; id++ {
		r.sale.VoucherID = id
		r.open(1, r.hour(3))
	}
	r.must(r.commands.Set(r.ctx(), r.keys.buyers(order.SaleRef{VoucherID: 2}), "not a hash", 0).Err())
	r.must(r.commands.Set(r.ctx(), r.keys.sale(order.SaleRef{VoucherID: 3}), "not a hash", 0).Err())
	batch := func(id int64, requests ...gate.Request) *pendingBatch {
		return &pendingBatch{
			Request: gate.Batch{Sale: order.SaleRef{VoucherID: id}, MaxBacklog: 1000, Requests: requests},
		}
	}
	ahead := batch(4, requests(1, 1)...)
	ahead.Request.Known = order.Mark{Epoch: 1, Sequence: 5}
	stale := batch(5, requests(1, 1)...)
	r.must(r.commands.HSet(r.ctx(), r.keys.sale(order.SaleRef{VoucherID: 5}), "server", "another").Err())
	two := order.QuantityOf(2)
	several := batch(6, gate.Request{UserID: 1, OrderID: 1001, Quantity: two},
		gate.Request{UserID: 2, OrderID: 1002, Quantity: two})
	sent := []*pendingBatch{
		batch(1, requests(1, 2)...), batch(2, requests(1, 1)...), batch(3, requests(1, 1)...), ahead, stale, several,
		batch(99, requests(1, 1)...), batch(1, requests(3, 2)...),
	}
	r.must(r.callsIn(0).send(r.patient(), sent))
	want := [][]string{{"0", "0"}, {"2"}, {"2"}, {"3"}, {"3"}, {"0", "11"}, {"2"}, {"0", "9"}}
	for i, p := range sent {
		r.must(p.Answer.err)
		equal(t, want[i], codes(p.Answer.result.Results))
	}
	var entries []string
	for _, c := range r.stream() {
		entries = append(entries, fmt.Sprintf("%d:%d", c.VoucherID, c.UserID))
	}
	equal(t, []string{"1:1", "1:2", "6:1", "1:3"}, entries)
}

// An error of Redis's own state is returned for each sale, and nothing was written.
func TestSharedCallRefused(t *testing.T) {
	t.Parallel()
	const last = "18446744073709551615"
	for name, tc := range map[string]struct {
		breaks    func(j *rig) error
		available bool // the fault is not Redis's own state
	}{
		"full": {func(r *rig) error { return r.commands.ConfigSet(r.ctx(), "maxmemory", "1").Err() }, false},
		"no more ids": {func(r *rig) error {
			return r.commands.Do(r.ctx(), "xadd", r.keys.orders(0), last+"-"+last, "x", "y").Err()
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rigOn(t, newClients(t,
				rediskit.Config{Topology: rediskit.Single, Addrs: []string{testkit.StartRedis(t).Addr}}), "")
			sent := make([]*pendingBatch, 3)
			for i := range sent {
				r.sale.VoucherID = int64(i + 1)
				r.open(1, r.hour(3))
				sent[i] = &pendingBatch{Request: gate.Batch{Sale: r.sale, MaxBacklog: 1000, Requests: requests(1, 1)}}
			}
			r.sale = sent[0].Request.Sale
			r.admit(requests(9, 1)...) // user 9 has bought there before
			winner := &pendingBatch{Request: gate.Batch{Sale: r.sale, MaxBacklog: 1000, Requests: requests(9, 1)}}
			r.must(tc.breaks(r))
			r.must(r.callsIn(0).send(r.patient(), append([]*pendingBatch{winner}, sent[1:]...)))
			if winner.Answer.err != nil {
				t.Errorf("a holder is not told of their order because other sales are refused: %v", winner.Answer.err)
			}
			r.must(r.callsIn(0).send(r.patient(), append(sent[1:], winner)))
			if winner.Answer.err != nil {
				t.Errorf("behind them: %v", winner.Answer.err)
			}
			sent = sent[1:]
			for i, p := range sent {
				if err := p.Answer.err; err == nil || errors.Is(err, order.ErrUnavailable) == tc.available {
					t.Errorf("sale %d: %v", i+1, err)
				}
				r.sale = p.Request.Sale
				equal(t, 0, len(r.holders()))
				equal(t, int64(3), r.view().Stock)
			}
		})
	}
}

// Invalid arguments are refused before anything is done for any sale.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(1, r.hour(3))
	keys := []string{r.keys.orders(0), r.keys.sale(r.sale), r.keys.buyers(r.sale)}
	two := append(slices.Clone(keys), keys[1:]...)
	good := []any{7, 0, 0, 1000, 1, "", 1, 1001}
	for name, tc := range map[string]struct {
		keys []string
		args []any
	}{
		"no sale":                      {keys[:1], nil},
		"no arguments":                 {keys, nil},
		"one sale's for two":           {two, good},
		"two sales' for one":           {keys, slices.Concat(good, good)},
		"no requests":                  {keys, []any{7, 0, 0, 1000, 0, ""}},
		"half a request":               {keys, good[:7]},
		"more requests than there are": {keys, []any{7, 0, 0, 1000, 2, "", 1, 1001}},
		"no number of requests":        {keys, []any{7, 0, 0, 1000, "x", "", 1, 1001}},
		"no whole number":              {keys, []any{7, 0, 0, 1000, "0.5", "", 1, 1001}},
		"an epoch that is none":        {keys, []any{7, "x", 0, 1000, 1, "", 1, 1001}},
		"too many units":               {keys, []any{7, 0, 0, 1000, 1, "21", 1, 1001}},
		"units of other requests":      {keys, []any{7, 0, 0, 1000, 1, "1 1", 1, 1001}},
		"a second sale's":              {two, slices.Concat(good, []any{7, 0, 0, 1000, 1, "x", 2, 1002})},
	} {
		if _, err := r.scripts.seckill.Run(r.ctx(), r.commands, tc.keys, tc.args...); err == nil ||
			!strings.Contains(err.Error(), "bad arguments") {
			t.Errorf("%s: %v", name, err)
		}
	}
	equal(t, 0, len(r.holders()))
}

// moving answers calls of several sales as a cluster does while their slot moves to another node.
type moving struct{ *block }

func (moving) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" && cmd.Args()[2].(int) > 3 {
			cmd.SetErr(replyError("TRYAGAIN Multiple keys request during rehashing of slot"))
			return cmd.Err()
		}
		return next(ctx, cmd)
	}
}

// If a node does not have all keys of one sale yet, the other sales still sell.
func TestSharedCallWhileTheSlotMoves(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sent := make([]*pendingBatch, 3)
	for i := range sent {
		r.sale.VoucherID = int64(i + 1)
		r.open(1, r.hour(3))
		sent[i] = &pendingBatch{Request: gate.Batch{Sale: r.sale, MaxBacklog: 1000, Requests: requests(1, 1)}}
	}
	r.commands.AddHook(moving{&block{}})
	r.must(r.callsIn(0).send(r.patient(), sent))
	for _, p := range sent {
		r.must(p.Answer.err)
		equal(t, []string{"0"}, codes(p.Answer.result.Results))
	}
}

// A call has gate.MaxBatch requests at most, unless a single sale has more.
func TestTogether(t *testing.T) {
	t.Parallel()
	of := func(n int) *pendingBatch {
		return &pendingBatch{Request: gate.Batch{Requests: make([]gate.Request, n)}}
	}
	for name, tc := range map[string]struct {
		batches []*pendingBatch
		want    int
	}{
		"one":                {[]*pendingBatch{of(1)}, 1},
		"a full one":         {[]*pendingBatch{of(gate.MaxBatch), of(1)}, 1},
		"as many as allowed": {[]*pendingBatch{of(gate.MaxBatch - 2), of(1), of(1), of(1)}, 3},
	} {
		if got := together(tc.batches); got != tc.want {
			t.Errorf("%s: %d together, want %d", name, got, tc.want)
		}
	}
}
