package outbox

import (
	"context"
	"fmt"
	"slices"

	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/order/ordertest"
)

// The states of an operation of fakeOperations in the ledger.
const (
	pendingOp = iota
	appliedOp
	refusedOp
	absorbedOp
	voidOp
)

// fakeOperations is one voucher's operations, its stock in the ledger, and its sale in Redis, with faults.
type fakeOperations struct {
	ordertest.Faults

	Ops     []operation.Operation // ops[i] has the number i+1
	States  []int
	Stock   int64 // the stock in the ledger
	Clashes int   // number of takes that the ledger lacks units for although Redis gave them

	Redis    operation.ApplyState // any other than ApplyDone: Redis does not apply operations
	Epoch    int64
	Applied  int64
	Identity int64          // of the last operation applied
	Sale     int64          // units on sale in Redis
	taken    map[int64]bool // whether takes got their units
	Forgot   int64          // Redis has forgotten the results of operations up to this number
	Effects  []int64        // numbers of operations in the order in which they took effect in Redis

	Pendings, Applies int
	Arrived           chan struct{} // gets a value when Pending is called, if set
	Leave             chan struct{} // Pending returns after a value from it, if set
}

// newFakeOperations returns a sale with that stock and no operations.
func newFakeOperations(stock int64) *fakeOperations {
	return &fakeOperations{
		Faults: ordertest.Faults{Before: map[string]int{}, After: map[string]int{}},
		Stock:  stock, Sale: stock, Epoch: 1, taken: map[int64]bool{},
	}
}

// Commit writes an operation as the ledger does: one that gives units raises the ledger's stock at once.
func (f *fakeOperations) Commit(kind operation.Kind, delta, orderID int64) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Ops = append(f.Ops, operation.Operation{
		VoucherID: ordertest.VoucherA, Number: int64(len(f.Ops) + 1), Kind: kind, Delta: delta, OrderID: orderID,
	})
	f.States = append(f.States, pendingOp)
	f.Stock += max(0, delta)
}

func (f *fakeOperations) Pending(
	ctx context.Context, _ int64, n int,
) (ops []operation.Operation, last int64, err error) {
	err = f.Call("pending", func() error {
		f.Pendings++
		for i, op := range f.Ops {
			if f.States[i] == pendingOp && len(ops) < n {
				ops = append(ops, op)
			}
		}
		last = int64(len(f.Ops))
		return nil
	})
	if f.Arrived != nil {
		select {
		case f.Arrived <- struct{}{}:
			<-f.Leave
		case <-ctx.Done():
		}
	}
	return ops, last, err
}

func (f *fakeOperations) Apply(
	_ context.Context, sale order.SaleRef, ops []operation.Operation, last int64,
) (app operation.ApplyResult, err error) {
	err = f.Call("apply", func() error {
		f.Applies++
		if sale.VoucherID != ordertest.VoucherA {
			return fmt.Errorf("no voucher %d", sale.VoucherID)
		}
		app = operation.ApplyResult{State: f.Redis, Epoch: f.Epoch, Applied: f.Applied}
		if f.Redis != operation.ApplyDone {
			return nil
		}
		for i, op := range ops {
			if i > 0 && op.Number != ops[i-1].Number+1 {
				return fmt.Errorf("operation %d follows %d", op.Number, ops[i-1].Number)
			}
		}
		if len(ops) > 0 && ops[0].Number > f.Applied+1 {
			app.State = operation.ApplyGap
			return nil
		}
		if f.Applied > last || slices.ContainsFunc(ops, func(op operation.Operation) bool {
			return op.Number == f.Applied && op.Identity != f.Identity
		}) {
			app.State = operation.ApplyOther
			return nil
		}
		for _, op := range ops {
			if op.Number > f.Applied {
				f.Identity = op.Identity
				f.Applied = op.Number
				f.Effects = append(f.Effects, op.Number)
				if f.taken[op.Number] = !op.Takes() || f.Sale+op.Delta >= 0; f.taken[op.Number] {
					f.Sale += op.Delta
				}
			}
			if op.Number > f.Forgot {
				app.Results = append(app.Results, operation.Result{Number: op.Number, Taken: f.taken[op.Number]})
			}
		}
		app.Applied = f.Applied
		return nil
	})
	return app, err
}

func (f *fakeOperations) CompleteOperations(_ context.Context, _ int64, results []operation.Result) error {
	conflict := false
	err := f.Call("settled", func() error {
		for _, r := range results {
			i := r.Number - 1
			if f.States[i] != pendingOp {
				continue
			}
			f.States[i] = appliedOp
			if f.Ops[i].Takes() {
				switch {
				case !r.Taken:
					f.States[i] = refusedOp
				case f.Clashes > 0:
					f.Clashes--
					f.States[i] = refusedOp
					conflict = true
				default:
					f.Stock += f.Ops[i].Delta
				}
			}
		}
		return nil
	})
	if err == nil && conflict {
		return order.ErrConflict
	}
	return err
}

func (f *fakeOperations) SalesWithPending(context.Context, int) (sales []int64, err error) {
	err = f.Call("sales", func() error {
		if slices.Contains(f.States, pendingOp) {
			sales = []int64{ordertest.VoucherA}
		}
		return nil
	})
	return sales, err
}

// Rebuild does what a rebuild does: it absorbs operations that give, voids those that take, and publishes the ledger's
// stock.
func (f *fakeOperations) Rebuild() {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for i, op := range f.Ops {
		if f.States[i] == pendingOp {
			if f.States[i] = absorbedOp; op.Takes() {
				f.States[i] = voidOp
			}
		}
	}
	f.Redis, f.Applied, f.Sale = operation.ApplyDone, int64(len(f.Ops)), f.Stock
	f.Epoch++
}
