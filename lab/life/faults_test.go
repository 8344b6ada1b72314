package life

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/operation"
	"seckill/internal/order/payment"
	"seckill/internal/redisstore"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// fault is what happens to a call to a store.
type fault int

const (
	notSent    fault = iota // the call does not arrive
	answerLost              // it takes effect, but its answer does not arrive
	diesBefore              // the process dies before the call
	diesAfter               // the call takes effect, and the process dies before the answer arrives
	faultKinds              // their number
)

func (f fault) String() string {
	return [...]string{"not sent", "answer lost", "dies before", "dies after"}[f]
}

var (
	errInjected = errors.New("injected fault")
	errDead     = errors.New("the process is dead")
)

// faults decides what happens to the calls of one process.
type faults struct {
	mu    sync.Mutex
	plans map[string]fault // by the call's name; for its next call
	dead  bool
}

func newFaults() *faults { return &faults{plans: map[string]fault{}} }

func (f *faults) plan(name string, kind fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plans[name] = kind
}

func (f *faults) kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
}

func (f *faults) isDead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// clear drops plans that have not taken effect.
func (f *faults) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.plans)
}

// call makes the call, with the fault that is planned for it. A call that began before its process died still
// completes: it was already sent.
func (f *faults) call(name string, do func() error) error {
	f.mu.Lock()
	kind, planned := f.plans[name]
	delete(f.plans, name)
	if f.dead || planned && kind == diesBefore {
		f.dead = true
		f.mu.Unlock()
		return errDead
	}
	f.mu.Unlock()
	switch {
	case !planned:
		return do()
	case kind == notSent:
		return fmt.Errorf("%w: %w", order.ErrUnavailable, errInjected)
	default:
		_ = do() // its answer is lost
		if kind == diesAfter {
			f.kill()
			return errDead
		}
		return errInjected
	}
}

// calls returns the calls for which faults can be planned.
func calls() []string {
	return []string{
		"admit", "insert", "settle", "acknowledge", "correct", "apply", "complete operations", "transition", "receive",
		"refunded", "ask refund", "open payment", "change stock", "change voucher", "expire due", "do", "lapse", "join",
		"accept", "leave", "staff", "call off", "unwind", "send back", "turn", "begin", "set holders", "publish",
		"snapshot", "refused", "stuck", "progress",
	}
}

// ledger is the ledger as one process reaches it.
type ledger struct {
	ledgertest.Whole
	faults *faults
	asked  func(orderID, userID int64) // is called with each order of one unit that the ledger is asked for
}

func (l ledger) Insert(ctx context.Context, claims []order.Claim) error {
	return l.faults.call("insert", func() error { return l.Whole.Insert(ctx, claims) })
}

func (l ledger) Settle(
	ctx context.Context, claims []order.Claim, decide func(order.LedgerView) []order.Decision,
) error {
	return l.faults.call("settle", func() error { return l.Whole.Settle(ctx, claims, decide) })
}

func (l ledger) CompleteOperations(ctx context.Context, sale int64, results []operation.Result) error {
	return l.faults.call("complete operations", func() error { return l.Whole.CompleteOperations(ctx, sale, results) })
}

func (l ledger) Transition(
	ctx context.Context, orderID, owner int64, a order.Action, by order.Actor,
) (o order.Order, err error) {
	err = l.faults.call("transition", func() error {
		o, err = l.Whole.Transition(ctx, orderID, owner, a, by)
		return err
	})
	return o, err
}

func (l ledger) OpenPayment(
	ctx context.Context, owner, orderID int64, id string, providers []string,
) (p payment.Beginning, err error) {
	err = l.faults.call("open payment", func() error {
		p, err = l.Whole.OpenPayment(ctx, owner, orderID, id, providers)
		return err
	})
	return p, err
}

func (l ledger) Receive(ctx context.Context, n payment.Notice) (p payment.Payment, o order.Order, err error) {
	err = l.faults.call("receive", func() error {
		p, o, err = l.Whole.Receive(ctx, n)
		return err
	})
	return p, o, err
}

func (l ledger) AskRefund(ctx context.Context, owner, orderID int64) (o order.Order, err error) {
	err = l.faults.call("ask refund", func() error {
		o, err = l.Whole.AskRefund(ctx, owner, orderID)
		return err
	})
	return o, err
}

func (l ledger) Refunded(ctx context.Context, id, refund, reference string) (o order.Order, err error) {
	err = l.faults.call("refunded", func() error {
		o, err = l.Whole.Refunded(ctx, id, refund, reference)
		return err
	})
	return o, err
}

func (l ledger) NothingLeft(ctx context.Context, id string) (o order.Order, err error) {
	err = l.faults.call("nothing left", func() error {
		o, err = l.Whole.NothingLeft(ctx, id)
		return err
	})
	return o, err
}

func (l ledger) ExpireDue(ctx context.Context, token int64, n int) (expired []order.Order, err error) {
	err = l.faults.call("expire due", func() error {
		expired, err = l.Whole.ExpireDue(ctx, token, n)
		return err
	})
	return expired, err
}

func (l ledger) ChangeVoucher(
	ctx context.Context, id int64, by voucher.Author, alter func(*voucher.Voucher) error,
) (v voucher.Voucher, err error) {
	err = l.faults.call("change voucher", func() error {
		v, err = l.Whole.ChangeVoucher(ctx, id, by, alter)
		return err
	})
	return v, err
}

func (l ledger) ChangeStock(
	ctx context.Context, id int64, by voucher.Author, delta int64, key string,
) (c voucher.StockChange, err error) {
	err = l.faults.call("change stock", func() error {
		c, err = l.Whole.ChangeStock(ctx, id, by, delta, key)
		return err
	})
	return c, err
}

func (l ledger) Snapshot(ctx context.Context, sale int64, epoch int64) (s order.Snapshot, err error) {
	err = l.faults.call("snapshot", func() error {
		s, err = l.Whole.Snapshot(ctx, sale, epoch)
		return err
	})
	return s, err
}

// redisStore is Redis as one process reaches it.
type redisStore struct {
	*redisstore.Store
	faults *faults
	sent   func(gate.Batch)
}

func (r redisStore) Admit(ctx context.Context, batches []gate.Batch) (results []gate.BatchResult, err error) {
	for _, b := range batches {
		r.sent(b)
	}
	err = r.faults.call("admit", func() error {
		results, err = r.Store.Admit(ctx, batches)
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

func (r redisStore) Apply(
	ctx context.Context, sale order.SaleRef, ops []operation.Operation, last int64,
) (a operation.ApplyResult, err error) {
	err = r.faults.call("apply", func() error {
		a, err = r.Store.Apply(ctx, sale, ops, last)
		return err
	})
	return a, err
}

func (r redisStore) Correct(
	ctx context.Context, corrections []order.Correction,
) (rebuilding map[int64]int64, err error) {
	err = r.faults.call("correct", func() error {
		rebuilding, err = r.Store.Correct(ctx, corrections)
		return err
	})
	return rebuilding, err
}

func (r redisStore) Begin(ctx context.Context, sale order.SaleRef, epoch int64) error {
	return r.faults.call("begin", func() error { return r.Store.Begin(ctx, sale, epoch) })
}

func (r redisStore) SetHolders(
	ctx context.Context, sale order.SaleRef, epoch int64, claims []order.Claim, remove []string,
) error {
	return r.faults.call("set holders", func() error { return r.Store.SetHolders(ctx, sale, epoch, claims, remove) })
}

func (r redisStore) Publish(ctx context.Context, sale order.SaleRef, epoch int64, o order.Opening) error {
	return r.faults.call("publish", func() error { return r.Store.Publish(ctx, sale, epoch, o) })
}

// queue is the stream as one process reads it. It waits very briefly for entries, so that a process can be stopped at
// once.
type queue struct {
	*redisstore.Consumer
	faults *faults
}

func (q queue) Next(ctx context.Context, n int, _ time.Duration) ([]order.Entry, error) {
	if q.faults.isDead() {
		return nil, errDead
	}
	return q.Consumer.Next(ctx, n, 2*time.Millisecond)
}

func (q queue) Own(ctx context.Context, after string, n int) ([]order.Entry, error) {
	if q.faults.isDead() {
		return nil, errDead
	}
	return q.Consumer.Own(ctx, after, n)
}

func (q queue) Orphans(ctx context.Context, n int) ([]order.Entry, error) {
	if q.faults.isDead() {
		return nil, errDead
	}
	return q.Consumer.Orphans(ctx, n)
}

func (q queue) Acknowledge(ctx context.Context, keys []string) (n int, err error) {
	err = q.faults.call("acknowledge", func() error {
		n, err = q.Consumer.Acknowledge(ctx, keys)
		return err
	})
	return n, err
}
