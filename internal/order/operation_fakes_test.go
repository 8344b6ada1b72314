package order

import (
	"context"
	"fmt"
	"slices"
	"time"

	"seckill/internal/voucher"
)

// Where an operation of fakeOperations is in the ledger.
const (
	pendingOp = iota
	appliedOp
	refusedOp
	absorbedOp
	voidOp
)

// fakeOperations is one voucher's operations, its stock in the ledger, and its sale in Redis, with faults.
type fakeOperations struct {
	faults
	ops     []Operation // ops[i] has the number i+1
	states  []int
	stock   int64 // the ledger's
	clashes int   // so many takes are missing in the ledger, though Redis gave them

	redis   ApplicationState // other than ApplicationDone: it is not there
	epoch   int64
	applied int64
	sale    int64          // units on sale in Redis
	taken   map[int64]bool // what became of takes
	forgot  int64          // what became of those up to this number is forgotten
	effects []int64        // numbers in the order in which they took effect in Redis

	pendings, applies int
	arrived           chan struct{} // gets a value when Pending is called, if set
	leave             chan struct{} // Pending returns after a value from it, if set
	pendingOf         []int64       // what SalesWithPending says
}

func newFakeOperations(stock int64) *fakeOperations {
	return &fakeOperations{
		faults: faults{before: map[string]int{}, after: map[string]int{}},
		stock:  stock, sale: stock, epoch: 1, taken: map[int64]bool{},
	}
}

// commit writes an operation, as the ledger does: what gives raises its stock at once.
func (f *fakeOperations) commit(kind OperationKind, delta, orderID int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ops = append(f.ops, Operation{VoucherID: voucherA, Number: int64(len(f.ops) + 1), Kind: kind, Delta: delta, OrderID: orderID})
	f.states = append(f.states, pendingOp)
	f.stock += max(0, delta)
}

func (f *fakeOperations) Pending(ctx context.Context, _ int64, n int) (ops []Operation, last int64, err error) {
	err = f.call("pending", func() error {
		f.pendings++
		for i, op := range f.ops {
			if f.states[i] == pendingOp && len(ops) < n {
				ops = append(ops, op)
			}
		}
		last = int64(len(f.ops))
		return nil
	})
	if f.arrived != nil {
		select {
		case f.arrived <- struct{}{}:
			<-f.leave
		case <-ctx.Done():
		}
	}
	return ops, last, err
}

func (f *fakeOperations) Apply(_ context.Context, sale SaleRef, ops []Operation) (app Application, err error) {
	err = f.call("apply", func() error {
		f.applies++
		if sale.VoucherID != voucherA {
			return fmt.Errorf("no voucher %d", sale.VoucherID)
		}
		app = Application{State: f.redis, Epoch: f.epoch, Applied: f.applied}
		if f.redis != ApplicationDone {
			return nil
		}
		for i, op := range ops {
			if i > 0 && op.Number != ops[i-1].Number+1 {
				return fmt.Errorf("operation %d follows %d", op.Number, ops[i-1].Number)
			}
		}
		if len(ops) > 0 && ops[0].Number > f.applied+1 {
			app.State = ApplicationGap
			return nil
		}
		for _, op := range ops {
			if op.Number > f.applied {
				f.applied = op.Number
				f.effects = append(f.effects, op.Number)
				if f.taken[op.Number] = !op.Takes() || f.sale+op.Delta >= 0; f.taken[op.Number] {
					f.sale += op.Delta
				}
			}
			if op.Number > f.forgot {
				app.Results = append(app.Results, OperationResult{Number: op.Number, Taken: f.taken[op.Number]})
			}
		}
		app.Applied = f.applied
		return nil
	})
	return app, err
}

func (f *fakeOperations) Settled(_ context.Context, _ int64, results []OperationResult) error {
	conflict := false
	err := f.call("settled", func() error {
		for _, r := range results {
			i := r.Number - 1
			if f.states[i] != pendingOp {
				continue
			}
			f.states[i] = appliedOp
			if f.ops[i].Takes() {
				switch {
				case !r.Taken:
					f.states[i] = refusedOp
				case f.clashes > 0:
					f.clashes--
					f.states[i] = refusedOp
					conflict = true
				default:
					f.stock += f.ops[i].Delta
				}
			}
		}
		return nil
	})
	if err == nil && conflict {
		return ErrConflict
	}
	return err
}

func (f *fakeOperations) SalesWithPending(context.Context, int) (ids []int64, err error) {
	err = f.call("sales", func() error {
		if slices.Contains(f.states, pendingOp) {
			ids = []int64{voucherA}
		}
		ids = append(ids, f.pendingOf...)
		return nil
	})
	return ids, err
}

// rebuild is what a keeper does: it absorbs what gives, voids what takes, and publishes the ledger's stock.
func (f *fakeOperations) rebuild() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, op := range f.ops {
		if f.states[i] == pendingOp {
			if f.states[i] = absorbedOp; op.Takes() {
				f.states[i] = voidOp
			}
		}
	}
	f.redis, f.applied, f.sale = ApplicationDone, int64(len(f.ops)), f.stock
	f.epoch++
}

// countingObserver counts what an outbox, a closer and a cashier say.
type countingObserver struct {
	faults                                                   // for its lock
	applied, refused, failed, behind, closed, repaid, unpaid int
	received                                                 []PaymentState
}

func (c *countingObserver) count(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func (c *countingObserver) Followed(applied, refused int, _ time.Duration, err error) {
	c.count(func() {
		c.applied += applied
		c.refused += refused
		if err != nil {
			c.failed++
		}
	})
}

func (c *countingObserver) Behind(sales int)              { c.count(func() { c.behind = sales }) }
func (c *countingObserver) Closed(n int, _ time.Duration) { c.count(func() { c.closed += n }) }
func (c *countingObserver) Received(state PaymentState) {
	c.count(func() { c.received = append(c.received, state) })
}

func (c *countingObserver) Repaid(err error) {
	c.count(func() {
		if err != nil {
			c.unpaid++
			return
		}
		c.repaid++
	})
}

// ordinary is a voucher that is bought freely.
func ordinary() voucher.Voucher {
	return voucher.Voucher{ID: voucherB, Kind: voucher.Ordinary, Status: voucher.OnShelf}
}
