package partition

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// lookTimeout is how long a partition has to say what is in it.
const lookTimeout = 2 * time.Second

// AdminLedger is the ledger of an Admin.
type AdminLedger interface {
	PlaceLedger
	// ChangePartition gives a partition another state, if it has the state from. The last open one is not closed, and
	// one with sales that are not retired is not removed, also if others change partitions or create vouchers at the
	// same time. ErrUnknown, ErrState, ErrNotEmpty.
	ChangePartition(ctx context.Context, number int, from, to State) error
}

// Backlogs says what waits in a partition, and where it is: Redis.
type Backlogs interface {
	Instances
	// WaitingIn returns what is in the partition's streams.
	WaitingIn(ctx context.Context, partition int) (Waiting, error)
}

// Waiting is what is in a partition's streams, and how busy it is.
type Waiting struct {
	Orders      int64 // entries of accepted orders
	Oldest      time.Duration
	DeadLetters int64
	Node        string // host:port of its server in a cluster; else empty

	// At, by the server's clock, so many entries have been added in all, and the server has had so much processor
	// time; with those of another time they say how busy both are. 0 where the server does not show them.
	At        time.Time
	Added     int64
	Processor time.Duration
}

// Contents is a partition and what is in it.
type Contents struct {
	Partition

	Sales     int // that are not retired
	Waiting   Waiting
	Instances int      // that work there
	Missing   []string // that are alive, by name, and do not work there; nil where that is not known
	Away      error    // why Redis does not say so; ErrFormat where what it has is not ours

	names []string // of the instances, as their heartbeats have them
}

// Admin is what operators do with partitions.
type Admin struct {
	ledger AdminLedger
	redis  Backlogs
}

// NewAdmin returns an admin.
func NewAdmin(ledger AdminLedger, redis Backlogs) *Admin { return &Admin{ledger: ledger, redis: redis} }

// List returns all partitions with what is in them, removed ones too. One whose Redis does not answer has Away.
func (a *Admin) List(ctx context.Context) ([]Contents, error) {
	all, err := a.ledger.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	sales, err := a.ledger.SalesIn(ctx)
	if err != nil {
		return nil, err
	}
	listed := make([]Contents, len(all))
	var looking sync.WaitGroup
	for i, p := range all {
		listed[i] = Contents{Partition: p, Sales: sales[p.Number]}
		if p.State != Removed {
			looking.Go(func() { a.look(ctx, &listed[i]) })
		}
	}
	looking.Wait()
	markMissing(listed)
	return listed, nil
}

// markMissing says of each partition which of the instances that are alive, as partition 0 says, do not work there.
func markMissing(listed []Contents) {
	for i := range listed {
		if c := &listed[i]; c.State != Removed && c.Away == nil && listed[0].Away == nil {
			for _, name := range missing(listed[0].names, c.names) {
				c.Missing = append(c.Missing, InstanceName(name))
			}
		}
	}
}

func (a *Admin) look(ctx context.Context, c *Contents) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if c.Waiting, c.Away = a.redis.WaitingIn(ctx, c.Number); c.Away == nil {
		c.names, c.Away = a.redis.InstancesIn(ctx, c.Number)
	}
	c.Instances = len(c.names)
}

// Close has no new sale placed in the partition; those in it go on. ErrUnknown, or ErrState unless it is open and
// another one is.
func (a *Admin) Close(ctx context.Context, number int) error {
	return a.ledger.ChangePartition(ctx, number, Open, Closed)
}

// Open takes Close back. ErrUnknown, or ErrState unless it is closed.
func (a *Admin) Open(ctx context.Context, number int) error {
	return a.ledger.ChangePartition(ctx, number, Closed, Open)
}

// Remove ends a partition for good: its number is never used again. It must be closed and empty: ErrState,
// ErrNotEmpty with what is in it, or ErrUnknown. Partition 0 stays: it also has what belongs to no sale.
func (a *Admin) Remove(ctx context.Context, number int) error {
	if number == 0 {
		return fmt.Errorf("%w: partition 0 also has what belongs to no sale, and stays", ErrState)
	}
	all, err := a.ledger.Partitions(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(p Partition) bool { return p.Number == number })
	if i < 0 || all[i].State != Closed { // the ledger says why; an open one need not be asked what is in it
		return a.ledger.ChangePartition(ctx, number, Closed, Removed)
	}
	sales, err := a.ledger.SalesIn(ctx)
	if err != nil {
		return err
	}
	w, err := a.redis.WaitingIn(ctx, number)
	if err != nil {
		return fmt.Errorf("what is in partition %d is not known: %w", number, err)
	}
	if n := sales[number]; n > 0 || w.Orders > 0 || w.DeadLetters > 0 {
		return fmt.Errorf("%w: partition %d has %d sales that are not retired, %d entries of orders that wait for "+
			"their rows, %d dead letters",
			ErrNotEmpty, number, n, w.Orders, w.DeadLetters)
	}
	return a.ledger.ChangePartition(ctx, number, Closed, Removed)
}
