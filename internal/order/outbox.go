package order

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// OperationLedger is the ledger as the outbox sees it.
type OperationLedger interface {
	// Pending returns up to n pending operations of the sale, in order, and the number of its last operation of all,
	// read at one moment. A voucher without a sale has none.
	Pending(ctx context.Context, voucherID int64, n int) (ops []Operation, last int64, err error)
	// Settled writes what became of operations: what gives is marked as applied; a Restock that took lowers stock and
	// issued; a Revival that took makes the order paid, its payment received, and lowers stock; one that did not makes
	// its payment refunding. Operations that are not pending any more are left alone. It returns ErrConflict when the
	// ledger does not have what Redis gave (too little stock, another live order of the user): that operation is then
	// settled as refused, and Redis holds too little, so the sale has to be rebuilt.
	Settled(ctx context.Context, voucherID int64, results []OperationResult) error
	// SalesWithPending returns up to n vouchers that have pending operations, the oldest first.
	SalesWithPending(ctx context.Context, n int) ([]int64, error)
}

// OperationSales applies operations to sales in Redis.
type OperationSales interface {
	// Apply applies operations, which must be without gaps and in order, each once however often it is sent. Without any
	// it tells how far Redis is. Operations that the sale contains already are answered as they were the first time.
	Apply(ctx context.Context, sale SaleRef, ops []Operation) (Application, error)
}

// OutboxObserver hears what an Outbox does, for metrics. Its methods must not block.
type OutboxObserver interface {
	// Followed: a batch of operations was settled, of which Redis applied and refused so many; or it could not be, with err.
	Followed(applied, refused int, took time.Duration, err error)
	// Behind: so many sales had operations pending when they were last looked for.
	Behind(sales int)
}

const (
	applyBatch    = 250              // operations in one call of scripts/apply.lua
	outboxEvery   = time.Second      // how often sales with pending operations are looked for
	outboxSales   = 1000             // sales looked at in one go
	outboxWorkers = 8                // of them at a time
	outboxTime    = 10 * time.Second // one transaction at most
	noticeQueue   = 1024             // notifications that can wait; more are found by the next look
)

// Outbox brings sales in Redis up to the ledger (rule 1): it reads the pending operations of a voucher in order, has
// Redis apply them, and settles them in the ledger. It may die between any two of these steps, and several instances
// may do the same work: Redis skips what it has, the ledger skips what is no longer pending.
//
// Work for one voucher is shared, as in the line in front of a sale: who asks while a round is under way waits for the
// next one, together with all that ask meanwhile, because his operation may have been committed after the round under
// way had read.
type Outbox struct {
	stores   OutboxStores
	catalog  *Catalog
	mender   Mender
	audience Audience
	observer OutboxObserver
	log      *slog.Logger

	notices chan int64     // voucher ids
	closing chan struct{}  // closed by Close
	serving sync.WaitGroup // goroutines that go rounds

	mu    sync.Mutex
	tours map[int64]*tour // by voucher id: where rounds are under way
}

// OutboxStores are the stores of an Outbox.
type OutboxStores struct {
	Ledger OperationLedger
	Sales  OperationSales
}

// tour is the rounds for one voucher, one after the other until nobody asks.
type tour struct{ next *round } // nil when nobody has asked since the last one began

// round is one pass over what is pending for a voucher.
type round struct {
	done chan struct{} // closed at its end
	err  error         // valid then
}

// NewOutbox returns an outbox. audience is told of orders that a settled operation has revived.
func NewOutbox(stores OutboxStores, catalog *Catalog, mender Mender, audience Audience, observer OutboxObserver, log *slog.Logger) *Outbox {
	return &Outbox{
		stores: stores, catalog: catalog, mender: mender, audience: audience, observer: observer, log: log,
		notices: make(chan int64, noticeQueue), closing: make(chan struct{}), tours: make(map[int64]*tour),
	}
}

// Follow returns nil once every operation of the voucher that was committed before the call is applied and settled. It
// returns ErrUnavailable, wrapped, when ctx ends before or when Redis cannot follow just now; the operations are applied
// later then.
func (o *Outbox) Follow(ctx context.Context, voucherID int64) error {
	r := o.ask(ctx, voucherID)
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return fmt.Errorf("%w: operations of voucher %d are applied later: %w", ErrUnavailable, voucherID, ctx.Err())
	}
}

// Notify has the voucher's pending operations applied soon. It does not wait.
func (o *Outbox) Notify(voucherID int64) {
	select {
	case o.notices <- voucherID:
	default: // the next look finds it
	}
}

// Run applies what it is notified of and, looking once a second, what a crash has left, until ctx ends. It never returns
// an error: what fails is tried again.
func (o *Outbox) Run(ctx context.Context) error {
	var looking sync.WaitGroup
	defer looking.Wait()
	looking.Go(func() {
		for ctx.Err() == nil {
			o.sweep(ctx)
			rest(ctx, outboxEvery)
		}
	})
	for {
		select {
		case <-ctx.Done():
			return nil
		case id := <-o.notices:
			o.ask(ctx, id)
		}
	}
}

// Close has the rounds under way stop before their next batch, and waits for them. No Follow may begin after it.
func (o *Outbox) Close() {
	close(o.closing)
	o.serving.Wait()
}

// sweep follows every sale that has pending operations, the oldest first, and returns when they have been tried.
func (o *Outbox) sweep(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, outboxTime)
	ids, err := o.stores.Ledger.SalesWithPending(call, outboxSales)
	cancel()
	if err != nil {
		if ctx.Err() == nil {
			o.log.WarnContext(ctx, "looking for pending operations failed; trying again", "error", err)
		}
		return
	}
	o.observer.Behind(len(ids))
	var workers errgroup.Group
	workers.SetLimit(outboxWorkers)
	for _, id := range ids {
		workers.Go(func() error {
			if err := o.Follow(ctx, id); err != nil && ctx.Err() == nil {
				o.log.WarnContext(ctx, "Redis does not follow a sale's operations yet; trying again", "voucher", id, "error", err)
			}
			return nil
		})
	}
	_ = workers.Wait() // none returns an error
}

// ask returns the voucher's next round, which begins after this call.
func (o *Outbox) ask(ctx context.Context, voucherID int64) *round {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.tours[voucherID]
	if t == nil {
		t = &tour{}
		o.tours[voucherID] = t
		o.serving.Add(1)
		go o.tour(context.WithoutCancel(ctx), voucherID, t)
	}
	if t.next == nil {
		t.next = &round{done: make(chan struct{})}
	}
	return t.next
}

// tour goes rounds until nobody asks.
func (o *Outbox) tour(ctx context.Context, voucherID int64, t *tour) {
	defer o.serving.Done()
	for {
		o.mu.Lock()
		r := t.next
		if t.next = nil; r == nil {
			delete(o.tours, voucherID)
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
		r.err = o.follow(ctx, voucherID)
		close(r.done)
	}
}
