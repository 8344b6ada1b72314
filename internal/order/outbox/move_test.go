package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/catalog"
	"seckill/internal/order/ordertest"
	"seckill/internal/voucher"
)

// fakeMoves is a ledger and a Redis with two shares, of which the outbox sees the operations of one each.
type fakeMoves struct {
	ordertest.Faults
	pending map[int][]order.Operation
	last    [2]int64
	redis   [2]int64 // units
	steps   []string
}

func (f *fakeMoves) RequestMove(_ context.Context, from order.SaleID, to int, units int64) error {
	return f.Call("request", func() error {
		f.last[from.Share]++
		f.pending[from.Share] = append(f.pending[from.Share], order.Operation{
			VoucherID: from.VoucherID, Share: from.Share, Number: f.last[from.Share], Kind: order.Move, Delta: -units, Peer: to,
		})
		return nil
	})
}

func (f *fakeMoves) Pending(_ context.Context, sale order.SaleID, _ int) (ops []order.Operation, last int64, err error) {
	err = f.Call("pending", func() error {
		ops, last = slices.Clone(f.pending[sale.Share]), f.last[sale.Share]
		return nil
	})
	return ops, last, err
}

func (f *fakeMoves) Apply(_ context.Context, sale order.SaleRef, ops []order.Operation) (done order.ApplyResult, err error) {
	err = f.Call("apply", func() error {
		done = order.ApplyResult{Epoch: 1, Applied: f.last[sale.Share]}
		for _, op := range ops {
			step := fmt.Sprintf("%+d in share %d", op.Delta, sale.Share)
			taken := op.Delta > 0 || f.redis[sale.Share]+op.Delta >= 0 || slices.Contains(f.steps, step)
			if taken && !slices.Contains(f.steps, step) { // each once
				f.steps = append(f.steps, step)
				f.redis[sale.Share] += op.Delta
			}
			done.Results = append(done.Results, order.OperationResult{Number: op.Number, Taken: taken})
		}
		return nil
	})
	return done, err
}

func (f *fakeMoves) CompleteOperations(_ context.Context, sale order.SaleID, results []order.OperationResult) error {
	return f.Call("settled", func() error {
		for _, op := range f.pending[sale.Share] {
			i := slices.IndexFunc(results, func(r order.OperationResult) bool { return r.Number == op.Number })
			if op.Delta < 0 && results[i].Taken {
				f.last[op.Peer]++
				f.pending[op.Peer] = append(f.pending[op.Peer], order.Operation{
					VoucherID: op.VoucherID, Share: op.Peer, Number: f.last[op.Peer], Kind: order.Move, Delta: -op.Delta, Peer: sale.Share,
				})
			}
		}
		f.pending[sale.Share] = nil
		return nil
	})
}

func (f *fakeMoves) SalesWithPending(context.Context, int) (sales []order.SaleID, err error) {
	for share, ops := range f.pending {
		if len(ops) > 0 {
			sales = append(sales, order.SaleID{VoucherID: ordertest.VoucherA, Share: share})
		}
	}
	return sales, nil
}

// Whatever fails, before or after it took effect: units are taken first, given once, and arrive by the sweep if not by the caller.
func TestMove(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"none", "request", "pending", "apply", "settled"} {
		for _, when := range []string{"before", "after"} {
			for name, units := range map[string]int64{"enough": 3, "too few": 1} {
				t.Run(fault+" fails "+when+" with "+name, func(t *testing.T) {
					t.Parallel()
					f := &fakeMoves{Faults: ordertest.Faults{Before: map[string]int{}, After: map[string]int{}}, pending: map[int][]order.Operation{}, redis: [2]int64{units, 0}}
					v := twoShares()
					catalog := catalog.New(&ordertest.FakeSales{Kept: []voucher.Voucher{v}, Faults: ordertest.Faults{Before: map[string]int{}, After: map[string]int{}}})
					t.Cleanup(catalog.Close)
					stores := ordertest.NewFakeStores(0)
					o := New(Stores{Ledger: f, Moves: f, Redis: f}, catalog, stores, stores, &ordertest.CountingObserver{}, ordertest.Quiet())
					if when == "before" {
						f.Before[fault] = 1
					} else {
						f.After[fault] = 1
					}
					sales := order.SalesOf(v)
					err := o.Move(t.Context(), sales[0], sales[1], 2)
					if failed := fault != "none"; failed != errors.Is(err, order.ErrUnavailable) {
						t.Errorf("error = %v", err)
					}
					o.sweep(t.Context())
					o.sweep(t.Context())
					want := []string{"-2 in share 0", "+2 in share 1"}
					if name == "too few" || fault == "request" && when == "before" {
						want = nil
					}
					if diff := cmp.Diff(want, f.steps); diff != "" {
						t.Errorf("applied (-want +got):\n%s", diff)
					}
					if f.redis[0]+f.redis[1] != units {
						t.Errorf("units in Redis: %v", f.redis)
					}
				})
			}
		}
	}
}
