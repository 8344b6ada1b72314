package recorder

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/kit/periodic"
	"seckill/internal/kit/retry"
	"seckill/internal/order"
)

// Queue is one partition's stream as one consumer of its group sees it.
type Queue interface {
	// Own returns the orders of up to n entries that were delivered to this consumer and are not acknowledged, after
	// the entry with the given key ("" for the first). Own, Next and Orphans return all orders of a packed entry.
	Own(ctx context.Context, after string, n int) ([]order.Entry, error)
	// Next returns the orders of up to n new entries, waiting at most wait for the first; none is no error. If the
	// group does not exist, it creates the group at the stream's beginning.
	Next(ctx context.Context, n int, wait time.Duration) ([]order.Entry, error)
	// Orphans takes over the orders of up to n entries of consumers without a heartbeat, and removes dead consumers
	// that have none left. It also takes over delivered entries that belong to no consumer.
	Orphans(ctx context.Context, n int) ([]order.Entry, error)
	// Acknowledge acknowledges and deletes entries, both or neither, and returns how many were still pending in this
	// group.
	Acknowledge(ctx context.Context, keys []string) (int, error)
	// MoveToDeadLetters moves an entry that cannot be decoded to the dead letters and acknowledges it, in one step.
	MoveToDeadLetters(ctx context.Context, e order.Entry) error
}

// Ledger records orders: MySQL, or SQLite in the embedded mode. Errors are ErrConflict, ErrRejected, ErrContended, or a
// fault of the infrastructure, after which the batch may even have been written.
type Ledger interface {
	// Insert records all claims as unpaid orders and lowers their sales' stock, in one transaction. It returns
	// ErrConflict when a row exists, stock is too low, or an epoch is not the sale's.
	Insert(ctx context.Context, claims []order.Claim) error
	// Settle locks the sales' rows, reads what the ledger holds of the claims, calls decide with that, and writes the
	// decisions, in one transaction. Without claims, it shows whether the ledger commits at all.
	Settle(ctx context.Context, claims []order.Claim, decide func(order.LedgerView) []order.Decision) error
}

// HolderCorrector corrects holders in Redis after the ledger decided otherwise. It applies each correction only while
// the order that it names makes its user a holder, so repeating it is harmless. It returns, by sale, the epoch of a
// rebuild under way in a sale that got a unit back: the rebuild may have counted that unit as taken. Errors:
// ErrRejected if a retry cannot help; ErrOutdated if Redis has applied operations since a correction was decided. In
// that case it did nothing: decide again.
type HolderCorrector func(ctx context.Context, corrections []order.Correction) (rebuilding map[int64]int64, err error)

// SaleFlusher brings one sale in Redis up to the ledger (package outbox): it returns once Redis has applied every
// operation of the sale that was committed before the call.
type SaleFlusher func(ctx context.Context, sale int64) error

// Callers are this instance's callers who wait for orders: service.Notifier.
type Callers interface {
	order.StatusNotifier
	// Awaited returns once a caller waits for an order's row (at once if one does already), or when ctx ends.
	Awaited(ctx context.Context)
}

// Observer counts what is recorded, for metrics. Its methods must not block.
type Observer interface {
	// Recorded counts a committed batch with this many orders and failed rows.
	Recorded(orders, failed int, took time.Duration)
	// RecordRetried counts a batch that failed through a fault of the infrastructure and is retried.
	RecordRetried(err error)
	// Rejected counts an order that the ledger rejects for good, before it becomes a failed row.
	Rejected()
	// DeadLettered counts an entry that cannot be decoded and became a dead letter.
	DeadLettered()
}

const (
	nextWait       = time.Second // how long a read waits for new entries
	heartbeatEvery = time.Second // others take over after several are missing
	// silentAfter is how long the ledger may give no answer before the heartbeat stops, so that others take over.
	silentAfter = 10 * time.Second
	orphanEvery = time.Second // how often entries of dead consumers are looked for
	// gatherTime is the time from one read to the next while no caller waits for a row and the last batch was not full.
	gatherTime    = 15 * time.Millisecond
	ownEvery      = time.Minute      // how often own entries that could not be finished are read again
	commitTimeout = 30 * time.Second // one transaction at most; a lock wait ends much earlier
	// blameAfter is for how long the ledger fails with an unknown error before the claims themselves are suspected.
	blameAfter   = time.Minute
	maxConflicts = 5               // tries of a batch that the ledger keeps contradicting, before it is halved
	againAfter   = 5 * time.Second // when own entries are read again after some could not be corrected
	// correctGrace is how long the corrections of a batch are retried before the batch goes on without them.
	correctGrace  = time.Second
	stepTimeout   = 5 * time.Second  // one try to correct one sale, including the flush of its operations
	finishTimeout = 10 * time.Second // for batches in progress when the recorder is stopped
)

// Stores are the stores of a Recorder.
type Stores struct {
	Queue Queue
	// Heartbeat records that the consumer is alive. After some seconds without one, others take its entries over.
	Heartbeat func(ctx context.Context) error
	// Leave removes the consumer from its group if nothing is pending for it, atomically.
	Leave   func(ctx context.Context) error
	Ledger  Ledger
	Correct HolderCorrector
	Flush   SaleFlusher
}

// Options tune a Recorder.
type Options struct {
	Partition int  // the partition whose stream it reads
	Batch     int  // most orders in one transaction, but for the rest of a packed entry; also most entries read at once
	Drain     bool // when stopped, first record the rest of the stream, because the stream ends with the process
}

// Recorder moves accepted orders from one partition's stream into the ledger (rules 5 to 8). Every instance runs one in
// each of its partitions; the recorders of a partition share the work as consumers of one group.
//
//	fetcher    own pending entries, then new ones, then those of dead consumers
//	committer  → one transaction per batch → notify waiting callers
//	finisher   → correct Redis where the ledger decided otherwise (after flushing the sale's operations, where they
//	           matter) → XACK + XDEL
//
// The three stages work at the same time, each on another batch: while one is committed, the next is read and the one
// before is finished. While no caller waits for a row, reads are gatherTime apart, so that a transaction has more
// orders (ADR 27). A stage hands its batch on when the next stage is free. So at most three batches are in progress,
// commits come one after the other and in stream order, and a stuck stage stops those before it.
//
// The recorder may die between any two steps, as entries are delivered again. A recorder whose ledger does not answer
// stops its heartbeat, so that others take over what it has read: its database may be a dead node of a cluster whose
// other nodes live.
type Recorder struct {
	stores   Stores
	options  Options
	repairs  order.RepairRequester
	callers  Callers
	observer Observer
	log      *slog.Logger

	finishTimeout time.Duration // for batches in progress when the recorder is stopped
}

// New returns a recorder; Run starts it.
func New(
	stores Stores, options Options, repairs order.RepairRequester, callers Callers, observer Observer, log *slog.Logger,
) *Recorder {
	return &Recorder{
		stores: stores, options: options, repairs: repairs, callers: callers, observer: observer, log: log,
		finishTimeout: finishTimeout,
	}
}

// Run records until ctx ends, then finishes the batches in progress and leaves the group. It retries every failure, so
// it never returns an error.
func (r *Recorder) Run(ctx context.Context) error {
	busy := new(busySince)
	heartbeats, stopHeartbeats := context.WithCancel(context.WithoutCancel(ctx))
	defer stopHeartbeats()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		r.heartbeat(heartbeats, busy)
	}()
	r.record(ctx, busy)
	stopHeartbeats()
	<-stopped
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), order.RedisTimeout)
	defer cancel()
	if err := r.stores.Leave(leaving); err != nil {
		r.log.WarnContext(ctx, "leaving the recorders' group failed; the others take over", "error", err)
	}
	return nil
}

// record runs the stages until ctx ends and no batch is in progress.
func (r *Recorder) record(ctx context.Context, busy *busySince) {
	// Batches in progress when ctx ends may be finished, all within finishTimeout.
	work, cancel := retry.WithGrace(ctx, r.finishTimeout)
	defer cancel()
	read, committed := make(chan *batch), make(chan *batch)
	retrier := retrier{observer: r.observer, log: r.log}
	again := new(rereading)
	fetcher := fetcher{queue: r.stores.Queue, callers: r.callers, options: r.options, again: again, log: r.log}
	committer := committer{
		ledger: r.stores.Ledger, retrier: retrier, repairs: r.repairs, notifier: r.callers, observer: r.observer,
		log: r.log, busy: busy, epochs: make(map[int64]int64),
	}
	finisher := finisher{
		stores: r.stores, partition: r.options.Partition, retrier: retrier, repairs: r.repairs, observer: r.observer,
		again: again, log: r.log, rejected: new(rejections),
	}
	var stages sync.WaitGroup
	stages.Go(func() { fetcher.run(ctx, work, read) })
	stages.Go(func() { committer.run(work, read, committed) })
	stages.Go(func() { finisher.run(work, committed) })
	stages.Wait()
}

// heartbeat sends one heartbeat per second until ctx ends, but none while the ledger does not answer.
func (r *Recorder) heartbeat(ctx context.Context, busy *busySince) {
	silent := false
	beat := func(ctx context.Context) {
		was := silent
		if silent = busy.longer(silentAfter); !silent {
			r.beat(ctx)
		} else if !was {
			r.log.WarnContext(ctx, "the ledger does not answer; no more heartbeats, so that others may take over "+
				"what was read", "after", silentAfter)
		}
	}
	beat(ctx)
	_ = periodic.Every(ctx, heartbeatEvery, beat)
}

func (r *Recorder) beat(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, order.RedisTimeout)
	defer cancel()
	if err := r.stores.Heartbeat(call); err != nil && ctx.Err() == nil {
		r.log.WarnContext(ctx, "the recorder's heartbeat failed", "error", err)
	}
}
