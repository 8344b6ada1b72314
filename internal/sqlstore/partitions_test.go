package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"seckill/internal/order/partition"
)

func states(t *testing.T, l ledger) (text string) {
	t.Helper()
	all, err := l.Partitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		text += fmt.Sprintf("%d %s, ", p.Number, p.State)
		if p.Since.IsZero() != (p.Number == 0 && p.State == partition.Open) {
			t.Errorf("partition %d is %s since %v", p.Number, p.State, p.Since)
		}
	}
	return text
}

func TestPartitions(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		want := func(text string) {
			t.Helper()
			if got := states(t, l); got != text {
				t.Errorf("partitions are %q, want %q", got, text)
			}
		}
		change := func(n int, from, to partition.State, want error) {
			t.Helper()
			if err := l.ChangePartition(t.Context(), n, from, to, 0); !errors.Is(err, want) {
				t.Errorf("partition %d from %s to %s: %v, want %v", n, from, to, err, want)
			}
		}
		if added, err := l.AddPartitions(t.Context(), 1); err != nil || len(added) > 0 {
			t.Errorf("AddPartitions(1) = %v, %v", added, err)
		}
		want("0 open, ")
		if n := l.number(t, "SELECT COUNT(*) FROM tb_setting"); n != 0 {
			t.Errorf("one partition has %d rows", n)
		}
		if added, err := l.AddPartitions(t.Context(), 3); err != nil || !slices.Equal(added, []int{1, 2}) {
			t.Errorf("AddPartitions(3) = %v, %v", added, err)
		}
		change(2, partition.Open, partition.Closed, nil)
		change(2, partition.Open, partition.Closed, partition.ErrState)
		if err := l.ChangePartition(t.Context(), 2, partition.Closed, partition.Removed, time.Hour); !errors.Is(err, partition.ErrState) {
			t.Errorf("removed before its time: %v", err)
		}
		change(2, partition.Closed, partition.Closed, nil)
		change(2, partition.Closed, partition.Removed, nil)
		change(0, partition.Closed, partition.Open, partition.ErrState)
		change(0, partition.Open, partition.Closed, nil)
		change(9, partition.Open, partition.Closed, partition.ErrUnknown)
		want("0 closed, 1 open, 2 removed, ")
		if added, err := l.AddPartitions(t.Context(), 4); err != nil || !slices.Equal(added, []int{3}) {
			t.Errorf("AddPartitions(4) = %v, %v: a closed one and a removed one stay what they are", added, err)
		}
	})
}

func TestPartitionsAreAddedOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		var (
			mu    sync.Mutex
			added []int
			all   sync.WaitGroup
		)
		for range 6 {
			all.Go(func() {
				some, err := l.AddPartitions(t.Context(), 4)
				if err != nil {
					t.Errorf("AddPartitions: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				added = append(added, some...)
			})
		}
		all.Wait()
		if slices.Sort(added); !slices.Equal(added, []int{1, 2, 3}) {
			t.Errorf("%v were added", added)
		}
	})
}

func TestSpoiltPartition(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.exec(t, "INSERT INTO tb_setting VALUES ('partition_1', 'opne', '2026-06-01 20:00:00')")
		if all, err := l.Partitions(t.Context()); err == nil {
			t.Errorf("partitions are %v, want an error", all)
		}
	})
}
