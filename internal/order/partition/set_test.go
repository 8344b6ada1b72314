package partition

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
)

// fakeLedger returns the partitions that a test sets.
type fakeLedger struct {
	mu  sync.Mutex
	all []Partition
	err error
}

func (f *fakeLedger) Partitions(context.Context) ([]Partition, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all, f.err
}

func (f *fakeLedger) set(err error, all ...Partition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all, f.err = all, err
}

func newSet(t *testing.T, l *fakeLedger) *Set {
	t.Helper()
	s, err := Load(t.Context(), l.Partitions, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSet(t *testing.T) {
	t.Parallel()
	l := &fakeLedger{all: []Partition{{Number: 0, State: Open}}}
	s := newSet(t, l)
	refresh := func(want ...int) {
		t.Helper()
		if err := s.Refresh(t.Context()); !errors.Is(err, l.err) {
			t.Errorf("Refresh: %v, want %v", err, l.err)
		}
		if got := s.All(); !slices.Equal(got, want) {
			t.Errorf("partitions %v, want %v", got, want)
		}
	}
	refresh(0)
	l.set(nil, Partition{Number: 0, State: Closed}, Partition{Number: 1, State: Removed},
		Partition{Number: 2, State: Open})
	refresh(0, 2)
	l.set(errors.New("away"))
	refresh(0, 2)
	if _, err := Load(t.Context(), l.Partitions, nil); !errors.Is(err, l.err) {
		t.Errorf("Load without a ledger: %v", err)
	}
}

// A job runs for each partition, even one that is added later, and ends when the partition is removed.
func TestEach(t *testing.T) {
	t.Parallel()
	l := &fakeLedger{all: []Partition{{Number: 0, State: Open}}}
	s := newSet(t, l)
	began, ended := make(chan int), make(chan int)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- s.Each(ctx, func(ctx context.Context, n int) error {
			began <- n
			<-ctx.Done()
			ended <- n
			return nil
		})
	}()
	want := func(from chan int, n int) {
		t.Helper()
		if got := <-from; got != n {
			t.Errorf("partition %d, want %d", got, n)
		}
	}
	refresh := func(all ...Partition) {
		t.Helper()
		l.set(nil, all...)
		if err := s.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
	}
	want(began, 0)
	refresh(Partition{Number: 0, State: Open}, Partition{Number: 1, State: Open})
	want(began, 1)
	refresh(Partition{Number: 0, State: Open}, Partition{Number: 1, State: Removed})
	want(ended, 1)
	cancel()
	want(ended, 0)
	if err := <-done; err != nil {
		t.Errorf("Each: %v", err)
	}
}
