package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/testkit"
)

// When the answer of a call is lost, the outcome of all its sales is unknown; the identical call finds it out.
func TestAnswerForSalesLost(t *testing.T) {
	t.Parallel()
	proxy := testkit.NewProxy(t, testkit.StartRedis(t).Addr)
	r := rigOn(t, newClients(t, rediskit.Config{Topology: rediskit.Single, Addrs: []string{proxy.Addr}}), "")
	batches := r.sales(3, 5)
	r.admit(requests(100, 1)...) // so that Redis has the script
	proxy.DropRepliesTo("buyers:2", 1)
	if _, err := r.Store.Admit(r.ctx(), batches); err == nil || errors.Is(err, order.ErrUnavailable) {
		t.Errorf("the answer was lost: %v", err)
	}
	equal(t, 1, proxy.Lost())
	results, err := r.Store.Admit(r.ctx(), batches)
	r.must(err)
	for _, v := range results {
		r.must(v.Err)
		equal(t, []string{"0"}, codes(v.Results))
	}
}

// sales opens n sales, 1, 2, 3…, with that stock, and returns a batch for each: a request of user 1.
func (r *rig) sales(n int64, stock int64) []gate.Batch {
	batches := make([]gate.Batch, n)
	for i := range batches {
		r.sale.VoucherID = int64(i + 1)
		r.open(1, r.hour(stock))
		batches[i] = gate.Batch{Sale: r.sale, MaxBacklog: 1000, Requests: requests(1, 1)}
	}
	return batches
}

// A call may have gate.MaxSales sales, each with its own answer: one that cannot be read affects no other.
func TestFullCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	batches := r.sales(gate.MaxSales, 5)
	broken := batches[gate.MaxSales-1].Sale
	r.must(r.commands.Set(r.ctx(), r.keys.buyers(broken), "not a hash", 0).Err())
	results, err := r.Store.Admit(r.patient(), batches)
	r.must(err)
	for i, v := range results {
		want := "0"
		if batches[i].Sale == broken {
			want = "2"
		}
		equal(t, []string{want}, codes(v.Results))
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
	batch := func(id int64, requests ...gate.Request) gate.Batch {
		return gate.Batch{Sale: order.SaleRef{VoucherID: id}, MaxBacklog: 1000, Requests: requests}
	}
	ahead := batch(4, requests(1, 1)...)
	ahead.Known = order.Mark{Epoch: 1, Sequence: 5}
	stale := batch(5, requests(1, 1)...)
	r.must(r.commands.HSet(r.ctx(), r.keys.sale(order.SaleRef{VoucherID: 5}), "server", "another").Err())
	two := order.QuantityOf(2)
	several := batch(6, gate.Request{UserID: 1, OrderID: 1001, Quantity: two},
		gate.Request{UserID: 2, OrderID: 1002, Quantity: two})
	results, err := r.Store.Admit(r.patient(), []gate.Batch{
		batch(1, requests(1, 2)...), batch(2, requests(1, 1)...), batch(3, requests(1, 1)...), ahead, stale, several,
		batch(99, requests(1, 1)...), batch(1, requests(3, 2)...),
	})
	r.must(err)
	want := [][]string{{"0", "0"}, {"2"}, {"2"}, {"3"}, {"3"}, {"0", "11"}, {"2"}, {"0", "9"}}
	for i, v := range results {
		r.must(v.Err)
		equal(t, want[i], codes(v.Results))
	}
	var entries []string
	for _, c := range r.stream() {
		entries = append(entries, fmt.Sprintf("%d:%d", c.VoucherID, c.UserID))
	}
	equal(t, []string{"1:1", "1:2", "6:1", "1:3"}, entries)
}

// An error of Redis's own state is returned for each sale, and nothing was written.
func TestRefusedSales(t *testing.T) {
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
			batches := r.sales(3, 3)
			r.sale = batches[0].Sale
			r.admit(requests(9, 1)...)
			batches[0].Requests = requests(9, 1) // user 9 has bought there before
			r.must(tc.breaks(r))
			for range 2 {
				results, err := r.Store.Admit(r.patient(), batches)
				r.must(err)
				for i, v := range results {
					switch {
					case batches[i].Requests[0].UserID == 9:
						if v.Err != nil {
							t.Errorf("a holder is not told of their order because other sales are refused: %v", v.Err)
						}
					case v.Err == nil || errors.Is(v.Err, order.ErrUnavailable) == tc.available:
						t.Errorf("sale %d: %v", batches[i].Sale.VoucherID, v.Err)
					default:
						r.sale = batches[i].Sale
						equal(t, 0, len(r.holders()))
						equal(t, int64(3), r.view().Stock)
					}
				}
				slices.Reverse(batches)
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

// passing is a hook that changes nothing.
type passing struct{}

func (passing) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (passing) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (passing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// moving answers calls of several sales as a cluster does while their slot moves to another node.
type moving struct{ redis.Hook }

func (moving) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" && cmd.Args()[2].(int) > 3 {
			cmd.SetErr(replyError("TRYAGAIN Multiple keys request during rehashing of slot"))
			return cmd.Err()
		}
		return next(ctx, cmd)
	}
}

// If a node does not have all keys of one sale yet, each sale needs a call of its own.
func TestSalesApart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	batches := r.sales(3, 3)
	r.commands.AddHook(moving{passing{}})
	if _, err := r.Store.Admit(r.patient(), batches); !errors.Is(err, gate.ErrApart) {
		t.Errorf("together: %v", err)
	}
	for _, b := range batches {
		v, err := r.Admit(r.patient(), b)
		r.must(err)
		equal(t, []string{"0"}, codes(v.Results))
	}
}
