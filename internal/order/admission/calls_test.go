package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"seckill/internal/order"
	"seckill/internal/order/gate"
)

var (
	errReset   = errors.New("connection reset")
	errRefuses = fmt.Errorf("%w: connection refused", order.ErrUnavailable)
	errOfSale  = errors.New("a key of a wrong type")
)

// errApart is the gate's error of a call whose sales need a call each.
var errApart = fmt.Errorf("%w: %w", order.ErrUnavailable, gate.ErrApart)

// heldGate keeps calls until the test answers them. Sales have the ids 1, 2, 3…
type heldGate struct {
	mu    sync.Mutex
	calls [][]int64 // the sales of each call, in order of their ids
	held  []chan func([]gate.Batch) ([]gate.BatchResult, error)
}

func (g *heldGate) Admit(_ context.Context, batches []gate.Batch) ([]gate.BatchResult, error) {
	var sales []int64
	for _, b := range batches {
		sales = append(sales, b.Sale.VoucherID)
	}
	slices.Sort(sales)
	answer := make(chan func([]gate.Batch) ([]gate.BatchResult, error))
	g.mu.Lock()
	g.calls, g.held = append(g.calls, sales), append(g.held, answer)
	g.mu.Unlock()
	return (<-answer)(batches)
}

// answer answers the oldest call that is held, once the bubble is idle, and waits until it is idle again.
func (g *heldGate) answer(as func([]gate.Batch) ([]gate.BatchResult, error)) {
	synctest.Wait()
	g.mu.Lock()
	if len(g.held) == 0 {
		panic("no call is held")
	}
	next := g.held[0]
	g.held = g.held[1:]
	g.mu.Unlock()
	next <- as
	synctest.Wait()
}

// all answers calls until none is held.
func (g *heldGate) all() {
	for synctest.Wait(); len(g.held) > 0; {
		g.answer(accepting)
	}
}

// accepting accepts everybody.
func accepting(batches []gate.Batch) ([]gate.BatchResult, error) {
	results := make([]gate.BatchResult, len(batches))
	for i, b := range batches {
		results[i] = acceptAll(b)
	}
	return results, nil
}

// failing returns an answer with the error, of the whole call or of one sale.
func failing(err error, sale int64) func([]gate.Batch) ([]gate.BatchResult, error) {
	return func(batches []gate.Batch) ([]gate.BatchResult, error) {
		if sale == 0 {
			return nil, err
		}
		results, _ := accepting(batches)
		for i, b := range batches {
			if b.Sale.VoucherID == sale {
				results[i] = gate.BatchResult{Err: err}
			}
		}
		return results, nil
	}
}

// heldSales returns n sales of one partition, whose calls the gate holds, and another one of another partition.
func heldSales(t *testing.T, n int64) (*heldGate, []*sale) {
	g := new(heldGate)
	a := newTestAdmission(t, g.Admit)
	sales := []*sale{a.sale(order.SaleRef{VoucherID: 100, Partition: 1})}
	for id := int64(1); id <= n; id++ {
		sales = append(sales, a.sale(order.SaleRef{VoucherID: id}))
	}
	return g, sales
}

// Two sales with rushes are in two calls at a time, so that one is decided while the other's answers are read. More
// sales share calls, but no sale is in two calls.
func TestSalesShareCallsAndOverlap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, sales := heldSales(t, 4)
		var all []*joining
		for range 3 {
			all = append(all, joinAll(t.Context(), sales[1], users(3)...)...)
			all = append(all, joinAll(t.Context(), sales[2], users(3)...)...)
		}
		if got := fmt.Sprint(g.calls); got != "[[1] [2]]" {
			t.Errorf("calls under way: %s", got)
		}
		all = append(all, joinAll(t.Context(), sales[3], 1)...)
		all = append(all, joinAll(t.Context(), sales[4], 1)...)
		g.answer(accepting) // of sale 1: its worker takes all that wait, as the other one is busy
		g.all()
		if got, want := fmt.Sprint(g.calls), "[[1] [2] [1 3 4] [2]]"; got != want {
			t.Errorf("calls %s, want %s", got, want)
		}
		for _, j := range all {
			if j.err != nil || j.outcome != gate.Accepted {
				t.Errorf("%+v", *j)
			}
		}
	})
}

// A call that gets no answer, nor does its identical repetition, refuses all that wait in the partition, and nobody
// else. So does a call that certainly had no effect, which is not repeated.
func TestNoAnswerRefusesThePartition(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err   error
		calls string
		want  error // for requests of the call
	}{
		"no answer": {errReset, "[[1] [2] [100] [1]]", order.ErrUnknownOutcome},
		"no effect": {errRefuses, "[[1] [2] [100]]", order.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, sales := heldSales(t, 3)
				called := joinAll(t.Context(), sales[1], 1)[0]
				ok := joinAll(t.Context(), sales[2], 1)
				ok = append(ok, joinAll(t.Context(), sales[0], 1, 2)...)
				var waiting []*joining
				for _, s := range sales[1:] {
					waiting = append(waiting, joinAll(t.Context(), s, 2, 3)...)
				}
				g.answer(failing(tc.err, 0))
				if errors.Is(tc.err, errReset) {
					g.held[0], g.held[2] = g.held[2], g.held[0] // the repetition is answered first
					g.answer(failing(tc.err, 0))
				}
				if !errors.Is(called.err, tc.want) {
					t.Errorf("in the call: %v", called.err)
				}
				for i, j := range waiting {
					if !errors.Is(j.err, order.ErrUnavailable) || errors.Is(j.err, order.ErrUnknownOutcome) {
						t.Errorf("waiting request %d: %v", i, j.err)
					}
				}
				if got := fmt.Sprint(g.calls); got != tc.calls {
					t.Errorf("calls %s, want %s", got, tc.calls)
				}
				g.all()
				for i, j := range ok {
					if j.err != nil {
						t.Errorf("request %d in another call, or of another partition: %v", i, j.err)
					}
				}
				for _, s := range sales {
					counts, _, _ := s.counts.counts()
					if s != sales[0] && counts.counts[gate.Unavailable.Answer()] < 2 {
						t.Errorf("counted %v", counts.counts)
					}
				}
			})
		})
	}
}

// A sale with an error of its own is repeated without the others of its call, once; they have their answers, and their
// next requests are sent, without waiting for it. Then its own requests are refused, and no other sale's.
func TestErrorOfOneSale(t *testing.T) {
	t.Parallel()
	full := fmt.Errorf("%w: OOM", order.ErrUnavailable)
	for name, tc := range map[string]struct {
		err, again error
		calls      string
		want       error // for the requests of sale 3 in the call
	}{
		"and again":          {errOfSale, errOfSale, "[[1] [2] [3 4] [3] [4]]", order.ErrUnknownOutcome},
		"repeated well":      {errOfSale, nil, "[[1] [2] [3 4] [3] [4] [3]]", nil},
		"repeated in vain":   {errOfSale, errRefuses, "[[1] [2] [3 4] [3] [4]]", order.ErrUnknownOutcome},
		"that had no effect": {full, nil, "[[1] [2] [3 4] [4]]", order.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, sales := heldSales(t, 4)
				joinAll(t.Context(), sales[1], 1)
				joinAll(t.Context(), sales[2], 1)
				three, four := joinAll(t.Context(), sales[3], 1)[0], joinAll(t.Context(), sales[4], 1)[0]
				g.answer(accepting)
				g.answer(accepting) // sales 3 and 4 are in one call now, and the other worker has ended
				behind := joinAll(t.Context(), sales[3], 2)[0]
				next := joinAll(t.Context(), sales[4], 2)[0]
				g.answer(failing(tc.err, 3))
				if !four.answered || four.err != nil || four.outcome != gate.Accepted {
					t.Errorf("the other sale of the call: %+v", *four)
				}
				if !errors.Is(tc.want, order.ErrUnavailable) {
					if three.outcome != 0 || len(g.held) != 2 {
						t.Fatalf("%d calls under way, want the repetition and one of the other sale", len(g.held))
					}
					answer := accepting
					if tc.again != nil {
						answer = failing(tc.again, 0)
					}
					g.answer(answer)
				}
				g.all()
				if !errors.Is(three.err, tc.want) || next.err != nil {
					t.Errorf("in the call: %v; the other sale's next: %v", three.err, next.err)
				}
				if refused := errors.Is(behind.err, order.ErrUnavailable); refused != (tc.want != nil) {
					t.Errorf("behind the call: %v", behind.err)
				}
				if got := fmt.Sprint(g.calls); got != tc.calls {
					t.Errorf("calls %s, want %s", got, tc.calls)
				}
			})
		})
	}
}

// If the sales of a call need calls of their own, each gets one, and only the one that fails then is refused.
func TestSalesApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, sales := heldSales(t, 5)
		joinAll(t.Context(), sales[1], 1)
		joinAll(t.Context(), sales[2], 1)
		var all []*joining
		for _, s := range sales[3:] {
			all = append(all, joinAll(t.Context(), s, 1)...)
		}
		g.answer(accepting)
		g.answer(accepting)
		g.answer(failing(errApart, 0))
		g.answer(accepting)
		g.answer(failing(errApart, 4))
		g.all()
		if got, want := fmt.Sprint(g.calls), "[[1] [2] [3 4 5] [3] [4] [5]]"; got != want {
			t.Errorf("calls %s, want %s", got, want)
		}
		for i, j := range all {
			if failed := errors.Is(j.err, order.ErrUnavailable); failed != (i == 1) {
				t.Errorf("sale %d: %v", i+3, j.err)
			}
		}
	})
}

// chance is how a call of a random history ends.
type chance struct {
	takes time.Duration
	ends  int   // 0, 1: well; 2: its answer is lost; 3: it has no effect; 4: one sale's answer is lost; 5: apart
	of    int64 // that sale
}

// randomGate is a gate of sales with enough units, whose calls end by chance. It remembers who has an order.
type randomGate struct {
	mu       sync.Mutex
	chances  []chance
	calls    int
	underWay map[int64]int  // by sale
	orders   map[int64]bool // by order id
	sent     map[int64]int  // by order id
	wrong    []string
}

func (g *randomGate) Admit(_ context.Context, batches []gate.Batch) ([]gate.BatchResult, error) {
	g.mu.Lock()
	c := g.chances[g.calls%len(g.chances)]
	g.calls++
	for _, b := range batches {
		if g.underWay[b.Sale.VoucherID]++; g.underWay[b.Sale.VoucherID] > 1 {
			g.wrong = append(g.wrong, "a sale is in two calls at a time")
		}
	}
	g.mu.Unlock()
	time.Sleep(c.takes)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range batches {
		g.underWay[b.Sale.VoucherID]--
		for i, r := range b.Requests {
			if i > 0 && r.OrderID < b.Requests[i-1].OrderID {
				g.wrong = append(g.wrong, "a request overtook another one")
			}
			g.sent[r.OrderID]++
			g.orders[r.OrderID] = g.orders[r.OrderID] || c.ends != 3 && c.ends != 5
		}
	}
	switch c.ends {
	case 2:
		return nil, errReset
	case 3:
		return nil, errRefuses
	case 4:
		return failing(errOfSale, c.of)(batches)
	case 5:
		if len(batches) > 1 {
			return nil, errApart
		}
		return failing(errApart, batches[0].Sale.VoucherID)(batches)
	}
	return accepting(batches)
}

// Whatever happens to calls, everybody gets an answer, and it is true: who is accepted has an order, who is refused has
// none, and a request is sent once, and once more at most if it is repeated. Nothing is left behind.
func TestEverybodyGetsATrueAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Int64Range(1, 6).Draw(rt, "sales")
		g := &randomGate{underWay: map[int64]int{}, orders: map[int64]bool{}, sent: map[int64]int{}}
		g.chances = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) chance {
			return chance{
				takes: time.Duration(rapid.IntRange(0, 9).Draw(t, "takes")) * time.Millisecond,
				ends:  rapid.IntRange(0, 5).Draw(t, "ends"), of: rapid.Int64Range(1, n).Draw(t, "of"),
			}
		}), 5, 20).Draw(rt, "calls")
		seeds := rapid.SliceOfN(rapid.Uint16(), 5, 60).Draw(rt, "callers")
		synctest.Test(t, func(t *testing.T) {
			a := newTestAdmission(t, g.Admit)
			var callers sync.WaitGroup
			for i, seed := range seeds {
				id := int64(i + 1)
				time.Sleep(time.Duration(seed%4) * time.Millisecond)
				callers.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+seed/4%40)*time.Millisecond)
					defer cancel()
					s := a.sale(order.SaleRef{VoucherID: 1 + int64(seed/256)%n})
					_, err := s.join(ctx, gate.Request{UserID: id, OrderID: id}, order.Mark{}, time.Now())
					g.mu.Lock()
					defer g.mu.Unlock()
					unknown, refused := errors.Is(err, order.ErrUnknownOutcome), errors.Is(err, order.ErrUnavailable)
					if err == nil && !g.orders[id] || refused && (g.orders[id] || unknown) ||
						err != nil && !unknown && !refused || g.sent[id] > 3 {
						g.wrong = append(g.wrong, fmt.Sprintf("%v; has an order: %t", err, g.orders[id]))
					}
				})
				synctest.Wait()
			}
			callers.Wait()
			a.running.Wait() // calls may outlive their callers
			found, _ := a.batchers.Load(0)
			q := &found.(*batcher).queue
			if len(q.ring) != 0 || q.workers != 0 || len(q.calls) != 0 || q.callTime != 0 {
				g.wrong = append(g.wrong, fmt.Sprintf("left: %+v", q))
			}
		})
		for _, wrong := range g.wrong {
			rt.Error(wrong)
		}
	})
}
