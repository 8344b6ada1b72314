package partition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"seckill/internal/kit/invalid"
	"seckill/internal/voucher"
)

// placeTimeout is the most time that reading the instances of the partitions may take. All are read at the same time.
const placeTimeout = time.Second

// SaleCounter returns, by partition, how many sales are not retired.
type SaleCounter func(ctx context.Context) (map[int]int, error)

// InstanceLister returns the names of the instances that have recently sent a reporter's heartbeat in the partition.
type InstanceLister func(ctx context.Context, partition int) ([]string, error)

// Placer chooses the partition of a new sale: among the open ones in which all live instances work, the one with the
// fewest sales that are not retired. While no sale ends, that is round robin, whichever instances choose.
//
// Every instance of any version works in partition 0, so its heartbeats there say which are alive. An instance that
// knows another partition sends its reporter's heartbeats there too; one that does not know it yet, or is of a version
// without partitions, does not. While partition 0 does not answer, it gets the new sales itself if it is open, because
// every version works there.
type Placer struct {
	partitions Lister
	salesIn    SaleCounter
	instances  InstanceLister
}

// NewPlacer returns a placer.
func NewPlacer(partitions Lister, salesIn SaleCounter, instances InstanceLister) *Placer {
	return &Placer{partitions: partitions, salesIn: salesIn, instances: instances}
}

// Place is voucher.Parts.Place.
func (p *Placer) Place(ctx context.Context, wanted *int64) (int, error) {
	all, err := p.partitions(ctx)
	if err != nil {
		return 0, err
	}
	open := openOnes(all)
	if wanted != nil {
		return p.wanted(ctx, all, open, *wanted)
	}
	if len(open) > 1 {
		sales, err := p.salesIn(ctx)
		if err != nil {
			return 0, err
		}
		slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(sales[a], sales[b]) })
	}
	return p.first(ctx, open)
}

// first returns the first given partition in which all live instances work, or an error that says why there is none.
func (p *Placer) first(ctx context.Context, open []int) (int, error) {
	err := fmt.Errorf("%w: all partitions are closed", voucher.ErrNoPartition)
	working := p.working(ctx, open)
	for _, n := range open {
		if err = everywhere(n, working); err == nil {
			return n, nil
		}
	}
	return 0, err
}

// wanted returns the partition that an admin has chosen, or why it gets no new sale.
func (p *Placer) wanted(ctx context.Context, all []Partition, open []int, wanted int64) (int, error) {
	if i := slices.Index(open, int(wanted)); wanted >= 0 && wanted < Max && i >= 0 {
		return open[i], everywhere(open[i], p.working(ctx, open[i:i+1]))
	}
	reason, allowed := invalid.OutOfRange, oneOfOrOmit
	if i := slices.IndexFunc(all, func(q Partition) bool { return int64(q.Number) == wanted }); i >= 0 {
		reason = partitionClosed
		if all[i].State == Removed {
			reason = partitionRemoved
		}
	}
	if len(open) == 0 {
		allowed = invalid.Omit
	}
	names := strings.Fields(strings.Trim(fmt.Sprint(open), "[]"))
	return 0, invalid.Join(invalid.New("partition", reason, allowed, invalid.Data{"value": wanted, "values": names}))
}

func openOnes(all []Partition) (open []int) {
	for _, q := range all {
		if q.State == Open {
			open = append(open, q.Number)
		}
	}
	return open
}

// instances are the names of the instances that work in a partition; err says why they are unknown.
type instances struct {
	names []string
	err   error
}

// working returns the instances that work in each partition, and in partition 0, where all live ones work. If partition
// 0 is the only one, it returns nil and asks nobody.
func (p *Placer) working(ctx context.Context, partitions []int) map[int]instances {
	if slices.Equal(partitions, []int{0}) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, placeTimeout)
	defer cancel()
	var (
		asking sync.WaitGroup
		mu     sync.Mutex
	)
	answers := make(map[int]instances, len(partitions)+1)
	for _, n := range slices.Compact(slices.Sorted(slices.Values(append([]int{0}, partitions...)))) {
		asking.Go(func() {
			names, err := p.instances(ctx, n)
			mu.Lock()
			defer mu.Unlock()
			answers[n] = instances{names, err}
		})
	}
	asking.Wait()
	return answers
}

// everywhere returns nil if all live instances work in the partition.
func everywhere(n int, working map[int]instances) error {
	if n == 0 {
		return nil
	}
	alive, here := working[0], working[n]
	switch {
	case alive.err != nil:
		return fmt.Errorf("%w: reading which instances are alive: %w", voucher.ErrNoPartition, alive.err)
	case errors.Is(here.err, ErrFormat):
		return fmt.Errorf("%w: %w", voucher.ErrOtherData, here.err)
	case here.err != nil:
		return fmt.Errorf("%w: reading which instances work in partition %d: %w", voucher.ErrNoPartition, n, here.err)
	case len(alive.names) == 0:
		return fmt.Errorf("%w: no instance works in partition %d", voucher.ErrNoPartition, n)
	}
	if names := missing(alive.names, here.names); len(names) > 0 {
		return fmt.Errorf("%w: instance %s does not work in partition %d yet", voucher.ErrNoPartition, names[0], n)
	}
	return nil
}
