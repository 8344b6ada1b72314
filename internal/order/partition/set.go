package partition

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"seckill/internal/kit/periodic"
)

const (
	// refreshEvery is how often an instance reads from the ledger which partitions exist.
	refreshEvery = 2 * time.Second
	// refreshTimeout is how long the ledger has to answer. While it answers, an instance knows a new partition within
	// refreshEvery plus refreshTimeout.
	refreshTimeout = 3 * time.Second
)

// Lister returns all partitions by number, removed ones too; partition 0 always exists.
type Lister func(ctx context.Context) ([]Partition, error)

// Set is the partitions that this instance works in: those that are not removed. It is safe for concurrent use.
type Set struct {
	list Lister
	log  *slog.Logger

	mu      sync.Mutex
	numbers []int         // ascending; replaced, never changed
	changed chan struct{} // closed when numbers are replaced
}

// Load returns the set as the ledger lists it now. Run keeps it up to date.
func Load(ctx context.Context, list Lister, log *slog.Logger) (*Set, error) {
	s := &Set{list: list, log: log, changed: make(chan struct{})}
	if err := s.Refresh(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Only returns a set that never changes, for tests and for jobs about given partitions.
func Only(numbers ...int) *Set { return &Set{numbers: numbers, changed: make(chan struct{})} }

// All returns the numbers of the partitions, ascending. The caller must not change them.
func (s *Set) All() []int {
	numbers, _ := s.watch()
	return numbers
}

func (s *Set) watch() (numbers []int, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.numbers, s.changed
}

// Run reads which partitions exist every two seconds, until ctx ends. It retries failures.
func (s *Set) Run(ctx context.Context) error {
	failing := false
	return periodic.Every(ctx, refreshEvery, func(ctx context.Context) {
		err := s.Refresh(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			s.log.WarnContext(ctx, "the partitions cannot be read; going on with the known ones",
				"error", err)
		}
		failing = err != nil
	})
}

// Refresh reads from the ledger which partitions exist.
func (s *Set) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	all, err := s.list(ctx)
	if err != nil {
		return fmt.Errorf("reading which partitions exist: %w", err)
	}
	var numbers []int
	for _, p := range all {
		if p.State != Removed {
			numbers = append(numbers, p.Number)
		}
	}
	if s.replace(numbers) {
		s.log.InfoContext(ctx, "this instance now works in different partitions", "partitions", numbers)
	}
	return nil
}

// replace stores the partitions, and reports whether they have changed.
func (s *Set) replace(numbers []int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(s.numbers, numbers) {
		return false
	}
	first := s.numbers == nil
	s.numbers = numbers
	close(s.changed)
	s.changed = make(chan struct{})
	return !first
}

// Each runs the job for each partition, present and future, until ctx ends or the partition is removed, and returns
// when all jobs have ended. The job must retry its own failures: an error that it returns ends this job alone.
func (s *Set) Each(ctx context.Context, job func(ctx context.Context, partition int) error) error {
	var jobs sync.WaitGroup
	defer jobs.Wait()
	stops := map[int]context.CancelFunc{}
	for {
		numbers, changed := s.watch()
		for _, n := range numbers {
			if stops[n] != nil {
				continue
			}
			working, stop := context.WithCancel(ctx)
			stops[n] = stop
			jobs.Go(func() {
				if err := job(working, n); err != nil || working.Err() == nil {
					s.log.ErrorContext(ctx, "a job of a partition has ended", "partition", n, "error", err)
				}
			})
		}
		for n, stop := range stops {
			if !slices.Contains(numbers, n) {
				stop()
				delete(stops, n)
			}
		}
		select {
		case <-ctx.Done():
			for _, stop := range stops {
				stop()
			}
			return nil
		case <-changed:
		}
	}
}
