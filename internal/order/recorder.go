package order

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"seckill/internal/voucher"
)

// Queue is one partition's stream as one consumer of its group sees it.
type Queue interface {
	// Own returns up to n entries that were delivered to this consumer and not settled, behind the entry with the key
	// after ("" for the first).
	Own(ctx context.Context, after string, n int) ([]Entry, error)
	// Next returns up to n new entries, waiting at most wait for the first; none is no error. A group that does not
	// exist is created at the stream's beginning.
	Next(ctx context.Context, n int, wait time.Duration) ([]Entry, error)
	// Orphans takes over up to n entries of consumers that have stopped beating, and removes the dead ones that have
	// none left. Entries that were delivered and belong to nobody are taken over, too.
	Orphans(ctx context.Context, n int) ([]Entry, error)
	// Settle acknowledges and deletes entries, both or neither, and returns how many were still this group's.
	Settle(ctx context.Context, keys []string) (int, error)
	// Bury moves an entry that cannot be decoded to the dead letters and settles it, in one step.
	Bury(ctx context.Context, e Entry) error
}

// Membership is a consumer's place in the group.
type Membership interface {
	// Beat says that the consumer lives; without it for some seconds its entries are taken over.
	Beat(ctx context.Context) error
	// Leave removes the consumer if nothing is pending for it, atomically.
	Leave(ctx context.Context) error
}

// Ledger records orders: MySQL, or SQLite in the embedded mode. Errors are ErrConflict, ErrRejected, or anything
// else, which is the infrastructure's fault and says nothing about the batch, not even that it was not written.
type Ledger interface {
	// Insert records all claims as unpaid orders and lowers their sales' stock, in one transaction. It returns
	// ErrConflict when a row exists, stock is too low, or an epoch is not the sale's.
	Insert(ctx context.Context, claims []Claim) error
	// Settle locks the sales' rows, reads what the ledger holds of the claims, lets decide say what becomes of each,
	// and writes that, in one transaction. An error of decide is returned and rolls back.
	Settle(ctx context.Context, claims []Claim, decide func(LedgerView) ([]Decision, error)) error
}

// Places corrects buyers' places in Redis after the ledger decided otherwise.
type Places interface {
	// Correct applies returns, each only while the user's place is held by the order it names, so that repeating is
	// harmless. It also tells, by voucher id, the epoch of a rebuild under way to whose sale a unit was given back: the
	// rebuild may have counted the unit as taken before. ErrRejected says that repeating cannot help, ErrOutdated that a
	// return was decided before operations that Redis has applied since, and did nothing: it has to be decided again.
	Correct(ctx context.Context, returns []Return) (rebuilding map[int64]int64, err error)
}

// IDs gives out order ids.
type IDs interface {
	// Next returns an id that was never given out before.
	Next(ctx context.Context) (int64, error)
}

// Audience is told when orders have their row: Waitroom.
type Audience interface {
	// Told says what became of orders. It must not block.
	Told(outcomes map[int64]Status)
}

const (
	nextWait     = time.Second      // how long a read waits for new entries
	beatEvery    = time.Second      // heartbeat of a consumer; the others wait for several of them
	orphanEvery  = time.Second      // how often entries of dead consumers are looked for
	ownEvery     = time.Minute      // how often own entries are looked through that could not be settled
	commitTime   = 30 * time.Second // one transaction at most; a lock wait ends much earlier
	maxConflicts = 5                // tries of a batch that the ledger contradicts again and again, before it is halved
	redisTime    = 5 * time.Second  // one call to Redis at most, blocking included
	followGrace  = 5 * time.Second  // how long the entries of a batch wait for one sale to follow its operations
	finishTime   = 10 * time.Second // what is in hand when the recorder is stopped gets as long
)

// RecorderStores are the stores of a Recorder.
type RecorderStores struct {
	Queue      Queue
	Membership Membership
	Ledger     Ledger
	Places     Places
	Outbox     voucher.Follower
}

// RecorderOptions tune a Recorder.
type RecorderOptions struct {
	Partition int  // the partition whose stream it reads
	Batch     int  // orders in one transaction at most
	Drain     bool // when stopped, record what is in the stream first: for a stream that ends with the process
}

// Recorder moves accepted orders from one partition's stream into the ledger (rules 5 to 8). Every instance runs one;
// they share the work as consumers of one group.
//
//	fetcher    own pending entries, then new ones, then those of dead consumers
//	committer  → one transaction per batch → tell who waits
//	finisher   → correct Redis where the ledger decided otherwise (after its operations, where those say so too)
//	           → XACK + XDEL
//
// The three work at the same time, each on another batch: while one is being committed, the next is read and the one
// before is finished. A batch is handed over when the next hand is free: so three are in hand at most, commits come one
// after the other and in stream order, and a step that does not get on stops those before it.
//
// The recorder may die between any two of these steps: the entry is then delivered again, to it or to another, and
// settles to the same end, because the order's id decides.
type Recorder struct {
	stores   RecorderStores
	options  RecorderOptions
	ids      IDs
	mender   Mender
	audience Audience
	observer Observer
	log      *slog.Logger

	finishTime time.Duration // what is in hand when the recorder is stopped gets as long
}

// NewRecorder returns a recorder; Run starts it.
func NewRecorder(stores RecorderStores, options RecorderOptions, ids IDs, mender Mender, audience Audience, observer Observer, log *slog.Logger) *Recorder {
	return &Recorder{
		stores: stores, options: options, ids: ids, mender: mender, audience: audience, observer: observer, log: log,
		finishTime: finishTime,
	}
}

// Run records until ctx ends, then finishes what it has in hand and leaves the group. It never returns an error: what
// fails is tried again.
func (r *Recorder) Run(ctx context.Context) error {
	beating, stopBeating := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBeating()
	beats := make(chan struct{})
	go func() {
		defer close(beats)
		r.beat(beating)
	}()
	r.record(ctx)
	stopBeating()
	<-beats
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisTime)
	defer cancel()
	if err := r.stores.Membership.Leave(leaving); err != nil {
		r.log.WarnContext(ctx, "leaving the recorders' group failed; the others take over", "error", err)
	}
	return nil
}

// record has batches read, committed and finished until ctx ends and nothing is in hand any more.
func (r *Recorder) record(ctx context.Context) {
	// What is in hand when ctx ends may be finished, all of it within finishTime.
	work, cancel := outlive(ctx, r.finishTime)
	defer cancel()
	read, committed := make(chan *batch), make(chan *batch)
	persistence := persistence{observer: r.observer, log: r.log}
	judge := judge{ledger: r.stores.Ledger, ids: r.ids}
	fetcher := fetcher{queue: r.stores.Queue, options: r.options, log: r.log}
	committer := committer{
		ledger: r.stores.Ledger, judge: judge, persistence: persistence, mender: r.mender, audience: r.audience,
		observer: r.observer, log: r.log, epochs: make(map[int64]int64),
	}
	finisher := finisher{
		stores: r.stores, partition: r.options.Partition, judge: judge, persistence: persistence, mender: r.mender,
		observer: r.observer, log: r.log,
	}
	var hands sync.WaitGroup
	hands.Go(func() { fetcher.run(ctx, work, read) })
	hands.Go(func() { committer.run(work, read, committed) })
	hands.Go(func() { finisher.run(work, committed) })
	hands.Wait()
}

// beat says once a second that this consumer lives, until ctx ends.
func (r *Recorder) beat(ctx context.Context) {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		call, cancel := context.WithTimeout(ctx, redisTime)
		if err := r.stores.Membership.Beat(call); err != nil && ctx.Err() == nil {
			r.log.WarnContext(ctx, "the recorder's heartbeat failed", "error", err)
		}
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
