package order

import (
	"context"
	"log/slog"
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
	// none left.
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
	// rebuild may have counted the unit as taken before. ErrRejected says that repeating cannot help.
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
//	own pending entries, then new ones, then those of dead consumers
//	  → one transaction per batch → tell who waits → correct Redis where the ledger decided otherwise (after its
//	    operations, where those say so too) → XACK + XDEL
//
// It may die between any two of these steps: the entry is then delivered again, to it or to another, and settles to
// the same end, because the order's id decides.
type Recorder struct {
	stores   RecorderStores
	options  RecorderOptions
	ids      IDs
	mender   Mender
	audience Audience
	observer Observer
	log      *slog.Logger

	finishTime time.Duration   // what is in hand when the recorder is stopped gets as long
	epochs     map[int64]int64 // by voucher id: the sale's epoch when it was last seen; a hint, for outdated
}

// NewRecorder returns a recorder; Run starts it.
func NewRecorder(stores RecorderStores, options RecorderOptions, ids IDs, mender Mender, audience Audience, observer Observer, log *slog.Logger) *Recorder {
	return &Recorder{
		stores: stores, options: options, ids: ids, mender: mender, audience: audience, observer: observer, log: log,
		finishTime: finishTime, epochs: make(map[int64]int64),
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
	// What is in hand when ctx ends may be finished, all of it within finishTime.
	work, cancel := outlive(ctx, r.finishTime)
	defer cancel()
	r.loop(ctx, work)
	if r.options.Drain {
		r.drain(work)
	}
	stopBeating()
	<-beats
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisTime)
	defer cancel()
	if err := r.stores.Membership.Leave(leaving); err != nil {
		r.log.WarnContext(ctx, "leaving the recorders' group failed; the others take over", "error", err)
	}
	return nil
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

// loop reads until ctx ends, and records what it read as long as work lasts. Whenever a read may have delivered entries
// whose answer was lost, and once a minute, it looks through its own pending entries first.
func (r *Recorder) loop(ctx, work context.Context) {
	pause := newPause()
	var lookedOwn, lookedOrphans time.Time
	for ctx.Err() == nil {
		var err error
		switch {
		case time.Since(lookedOwn) > ownEvery:
			if err = r.own(ctx, work); err == nil {
				lookedOwn = time.Now()
			}
		case time.Since(lookedOrphans) > orphanEvery:
			if err = r.batch(ctx, work, r.orphans); err == nil {
				lookedOrphans = time.Now()
			}
		default:
			err = r.batch(ctx, work, r.next)
		}
		if err == nil {
			pause.Reset()
			continue
		}
		if ctx.Err() != nil {
			return
		}
		r.log.WarnContext(ctx, "reading accepted orders failed; trying again", "partition", r.options.Partition, "error", err)
		lookedOwn = time.Time{}
		rest(ctx, pause.NextBackOff())
	}
}

func (r *Recorder) next(ctx context.Context) ([]Entry, error) {
	return r.stores.Queue.Next(ctx, r.options.Batch, nextWait)
}

func (r *Recorder) orphans(ctx context.Context) ([]Entry, error) {
	return r.stores.Queue.Orphans(ctx, r.options.Batch)
}

// own goes through everything that was delivered to this consumer and not settled.
func (r *Recorder) own(ctx, work context.Context) error {
	after := ""
	for ctx.Err() == nil {
		var got []Entry
		err := r.batch(ctx, work, func(ctx context.Context) (entries []Entry, err error) {
			got, err = r.stores.Queue.Own(ctx, after, r.options.Batch)
			return got, err
		})
		if err != nil || len(got) == 0 {
			return err
		}
		after = got[len(got)-1].Key
	}
	return ctx.Err()
}

// batch reads entries and settles them. Once read, they are settled even when ctx ends meanwhile.
func (r *Recorder) batch(ctx, work context.Context, read func(context.Context) ([]Entry, error)) error {
	call, cancel := context.WithTimeout(ctx, redisTime)
	entries, err := read(call)
	cancel()
	if err != nil || len(entries) == 0 {
		return err
	}
	r.settle(work, entries)
	return nil
}

// drain records what is in the stream until it is empty or ctx ends.
func (r *Recorder) drain(ctx context.Context) {
	for ctx.Err() == nil {
		entries, err := r.stores.Queue.Next(ctx, r.options.Batch, 0)
		if err != nil {
			r.log.ErrorContext(ctx, "draining the stream failed", "error", err)
			return
		}
		if len(entries) == 0 {
			return
		}
		r.settle(ctx, entries)
	}
}
