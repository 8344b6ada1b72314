package partition

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// lookTimeout is the most time that Redis may take to describe a partition.
const lookTimeout = 2 * time.Second

// AdminLedger is the ledger of an Admin.
type AdminLedger interface {
	// Partitions is a Lister.
	Partitions(ctx context.Context) ([]Partition, error)
	// SalesIn is a SaleCounter.
	SalesIn(ctx context.Context) (map[int]int, error)
	// ChangePartition changes a partition's state, if that is the state from. Even if others change partitions or
	// create vouchers at the same time, it neither closes the last open partition nor removes one with sales that are
	// not retired. Errors: ErrUnknown, ErrState, ErrNotEmpty.
	ChangePartition(ctx context.Context, number int, from, to State) error
}

// Backlogs counts the waiting entries of a partition, and knows its server: Redis.
type Backlogs interface {
	// InstancesIn is an InstanceLister.
	InstancesIn(ctx context.Context, partition int) ([]string, error)
	// WaitingIn counts the waiting entries in the partition's streams.
	WaitingIn(ctx context.Context, partition int) (Waiting, error)
}

// Waiting counts the waiting entries in a partition's streams, and says how busy its server is.
type Waiting struct {
	Orders      int64 // entries of accepted orders
	Oldest      time.Duration
	DeadLetters int64
	Node        string // host:port of its server in a cluster; else empty

	// At is the server's clock. By then, this many entries were added in all and the server had used this much
	// processor time; two readings give both rates. 0 if the server does not show them.
	At        time.Time
	Added     int64
	Processor time.Duration
}

// Contents is a partition with its sales, waiting entries and instances.
type Contents struct {
	Partition

	Sales     int // sales that are not retired
	Waiting   Waiting
	Instances int      // instances that work there
	Missing   []string // names of live instances that do not work there; nil if unknown
	Away      error    // why Redis did not answer; ErrFormat if the data there is not ours

	names []string // the instances' names in their heartbeats
}

// Admin lists and changes partitions for operators.
type Admin struct {
	ledger AdminLedger
	redis  Backlogs
}

// NewAdmin returns an admin.
func NewAdmin(ledger AdminLedger, redis Backlogs) *Admin { return &Admin{ledger: ledger, redis: redis} }

// List returns all partitions with their contents, removed ones too. If a partition's Redis does not answer, its Away
// is set.
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

// markMissing sets Missing in each partition. The live instances are those of partition 0.
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

// Close stops new sales from being assigned to the partition; the sales in it go on. It returns ErrUnknown, or ErrState
// unless this and another partition are open.
func (a *Admin) Close(ctx context.Context, number int) error {
	return a.ledger.ChangePartition(ctx, number, Open, Closed)
}

// Open reverses Close. It returns ErrUnknown, or ErrState unless the partition is closed.
func (a *Admin) Open(ctx context.Context, number int) error {
	return a.ledger.ChangePartition(ctx, number, Closed, Open)
}

// Remove ends a partition for good: its number is never used again. It returns ErrUnknown, ErrState unless the
// partition is closed, or ErrNotEmpty with its contents. Partition 0 cannot be removed: it also has the data that
// belongs to no sale.
func (a *Admin) Remove(ctx context.Context, number int) error {
	if number == 0 {
		return fmt.Errorf("%w: partition 0 also has data that belongs to no sale, and cannot be removed", ErrState)
	}
	all, err := a.ledger.Partitions(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(p Partition) bool { return p.Number == number })
	if i < 0 || all[i].State != Closed { // the ledger returns the reason
		return a.ledger.ChangePartition(ctx, number, Closed, Removed)
	}
	sales, err := a.ledger.SalesIn(ctx)
	if err != nil {
		return err
	}
	w, err := a.redis.WaitingIn(ctx, number)
	if err != nil {
		return fmt.Errorf("the contents of partition %d are not known: %w", number, err)
	}
	if n := sales[number]; n > 0 || w.Orders > 0 || w.DeadLetters > 0 {
		return fmt.Errorf("%w: partition %d has %d sales that are not retired, %d entries of orders that wait for "+
			"their rows, %d dead letters",
			ErrNotEmpty, number, n, w.Orders, w.DeadLetters)
	}
	return a.ledger.ChangePartition(ctx, number, Closed, Removed)
}
