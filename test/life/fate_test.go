package life

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"seckill/internal/order"
	"seckill/internal/redisstore"
	"seckill/internal/sqlstore"
	"seckill/internal/voucher"
)

// harm is what can befall a call to a store.
type harm int

const (
	refused  harm = iota // it does not arrive
	lost                 // it is carried out, its answer does not arrive
	killed               // the process dies before it
	orphaned             // it is carried out, and the process dies before it hears
	harms                // how many there are
)

func (h harm) String() string { return [...]string{"refused", "lost", "killed", "orphaned"}[h] }

var (
	errHarmed = errors.New("the call was harmed")
	errDead   = errors.New("the process is dead")
)

// fate decides what befalls the calls of one process.
type fate struct {
	mu    sync.Mutex
	plans map[string]harm // by the call's name; it befalls the next one
	dead  bool
}

func newFate() *fate { return &fate{plans: map[string]harm{}} }

func (f *fate) plan(call string, h harm) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plans[call] = h
}

func (f *fate) kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
}

func (f *fate) isDead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// forgive drops the plans that have not come true.
func (f *fate) forgive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.plans)
}

// befall carries the call out, unless something befalls it. What has begun when the process dies goes on: it is on its
// way already.
func (f *fate) befall(call string, do func() error) error {
	f.mu.Lock()
	h, planned := f.plans[call]
	delete(f.plans, call)
	if f.dead || planned && h == killed {
		f.dead = true
		f.mu.Unlock()
		return errDead
	}
	f.mu.Unlock()
	switch {
	case !planned:
		return do()
	case h == refused:
		return fmt.Errorf("%w: %w", order.ErrUnavailable, errHarmed)
	default:
		_ = do() // nobody hears how it went
		if h == orphaned {
			f.kill()
			return errDead
		}
		return errHarmed
	}
}

// calls are those that something can befall.
func calls() []string {
	return []string{
		"admit", "insert", "settle orders", "acknowledge", "correct", "apply", "settled", "move", "receive", "refunded",
		"ask refund", "open payment", "change stock", "change voucher", "close due", "begin", "seat", "publish", "snapshot",
	}
}

// ledger is the SQL of one process.
type ledger struct {
	*sqlstore.Store
	fate *fate
}

func (l ledger) Insert(ctx context.Context, claims []order.Claim) error {
	return l.fate.befall("insert", func() error { return l.Store.Insert(ctx, claims) })
}

func (l ledger) Settle(ctx context.Context, claims []order.Claim, decide func(order.LedgerView) ([]order.Decision, error)) error {
	return l.fate.befall("settle orders", func() error { return l.Store.Settle(ctx, claims, decide) })
}

func (l ledger) Settled(ctx context.Context, voucherID int64, results []order.OperationResult) error {
	return l.fate.befall("settled", func() error { return l.Store.Settled(ctx, voucherID, results) })
}

func (l ledger) Move(ctx context.Context, orderID, owner int64, a order.Action, by order.Actor, why string) (o order.Order, err error) {
	err = l.fate.befall("move", func() error {
		o, err = l.Store.Move(ctx, orderID, owner, a, by, why)
		return err
	})
	return o, err
}

func (l ledger) OpenPayment(ctx context.Context, owner, orderID int64, id string) (p order.Payment, err error) {
	err = l.fate.befall("open payment", func() error {
		p, err = l.Store.OpenPayment(ctx, owner, orderID, id)
		return err
	})
	return p, err
}

func (l ledger) Receive(ctx context.Context, n order.Notice) (p order.Payment, o order.Order, err error) {
	err = l.fate.befall("receive", func() error {
		p, o, err = l.Store.Receive(ctx, n)
		return err
	})
	return p, o, err
}

func (l ledger) AskRefund(ctx context.Context, owner, orderID int64) (o order.Order, err error) {
	err = l.fate.befall("ask refund", func() error {
		o, err = l.Store.AskRefund(ctx, owner, orderID)
		return err
	})
	return o, err
}

func (l ledger) Refunded(ctx context.Context, id string) (o order.Order, err error) {
	err = l.fate.befall("refunded", func() error {
		o, err = l.Store.Refunded(ctx, id)
		return err
	})
	return o, err
}

func (l ledger) CloseDue(ctx context.Context, token int64, n int) (closed []order.Order, err error) {
	err = l.fate.befall("close due", func() error {
		closed, err = l.Store.CloseDue(ctx, token, n)
		return err
	})
	return closed, err
}

func (l ledger) ChangeVoucher(ctx context.Context, id int64, by voucher.Author, alter func(*voucher.Voucher) error) (v voucher.Voucher, err error) {
	err = l.fate.befall("change voucher", func() error {
		v, err = l.Store.ChangeVoucher(ctx, id, by, alter)
		return err
	})
	return v, err
}

func (l ledger) ChangeStock(ctx context.Context, id int64, by voucher.Author, delta int64, key string) (c voucher.StockChange, err error) {
	err = l.fate.befall("change stock", func() error {
		c, err = l.Store.ChangeStock(ctx, id, by, delta, key)
		return err
	})
	return c, err
}

func (l ledger) Snapshot(ctx context.Context, voucherID, epoch int64) (s order.Snapshot, err error) {
	err = l.fate.befall("snapshot", func() error {
		s, err = l.Store.Snapshot(ctx, voucherID, epoch)
		return err
	})
	return s, err
}

// redisSide is the Redis of one process.
type redisSide struct {
	*redisstore.Store
	fate  *fate
	asked func(order.Batch)
}

func (r redisSide) Admit(ctx context.Context, b order.Batch) (v order.Verdict, err error) {
	r.asked(b)
	err = r.fate.befall("admit", func() error {
		v, err = r.Store.Admit(ctx, b)
		return err
	})
	if err != nil {
		return order.Verdict{}, err
	}
	return v, nil
}

func (r redisSide) Apply(ctx context.Context, sale order.SaleRef, ops []order.Operation) (a order.Application, err error) {
	err = r.fate.befall("apply", func() error {
		a, err = r.Store.Apply(ctx, sale, ops)
		return err
	})
	return a, err
}

func (r redisSide) Correct(ctx context.Context, returns []order.Return) (rebuilding map[int64]int64, err error) {
	err = r.fate.befall("correct", func() error {
		rebuilding, err = r.Store.Correct(ctx, returns)
		return err
	})
	return rebuilding, err
}

func (r redisSide) Begin(ctx context.Context, sale order.SaleRef, epoch int64) error {
	return r.fate.befall("begin", func() error { return r.Store.Begin(ctx, sale, epoch) })
}

func (r redisSide) Seat(ctx context.Context, sale order.SaleRef, epoch int64, claims []order.Claim, vacate []int64) error {
	return r.fate.befall("seat", func() error { return r.Store.Seat(ctx, sale, epoch, claims, vacate) })
}

func (r redisSide) Publish(ctx context.Context, sale order.SaleRef, epoch int64, o order.Opening) error {
	return r.fate.befall("publish", func() error { return r.Store.Publish(ctx, sale, epoch, o) })
}

// queue is the stream as one process reads it. It waits for nothing, so that a process can be stopped at once.
type queue struct {
	*redisstore.Consumer
	fate *fate
}

func (q queue) Next(ctx context.Context, n int, _ time.Duration) ([]order.Entry, error) {
	if q.fate.isDead() {
		return nil, errDead
	}
	entries, err := q.Consumer.Next(ctx, n, 2*time.Millisecond)
	return entries, err
}

func (q queue) Own(ctx context.Context, after string, n int) ([]order.Entry, error) {
	if q.fate.isDead() {
		return nil, errDead
	}
	return q.Consumer.Own(ctx, after, n)
}

func (q queue) Orphans(ctx context.Context, n int) ([]order.Entry, error) {
	if q.fate.isDead() {
		return nil, errDead
	}
	return q.Consumer.Orphans(ctx, n)
}

func (q queue) Settle(ctx context.Context, keys []string) (n int, err error) {
	err = q.fate.befall("acknowledge", func() error {
		n, err = q.Consumer.Settle(ctx, keys)
		return err
	})
	return n, err
}
