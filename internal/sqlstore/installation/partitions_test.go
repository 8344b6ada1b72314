package installation_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"seckill/internal/order/partition"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

func states(t *testing.T, l ledgertest.Ledger) (text string) {
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
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		want := func(text string) {
			t.Helper()
			if got := states(t, l); got != text {
				t.Errorf("partitions are %q, want %q", got, text)
			}
		}
		change := func(n int, from, to partition.State, want error) {
			t.Helper()
			if err := l.ChangePartition(t.Context(), n, from, to); !errors.Is(err, want) {
				t.Errorf("partition %d from %s to %s: %v, want %v", n, from, to, err, want)
			}
		}
		if added, err := l.AddPartitions(t.Context(), 1); err != nil || len(added) > 0 {
			t.Errorf("AddPartitions(1) = %v, %v", added, err)
		}
		want("0 open, ")
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_setting"); n != 0 {
			t.Errorf("one partition has %d rows", n)
		}
		if added, err := l.AddPartitions(t.Context(), 3); err != nil || !slices.Equal(added, []int{1, 2}) {
			t.Errorf("AddPartitions(3) = %v, %v", added, err)
		}
		change(2, partition.Open, partition.Closed, nil)
		change(2, partition.Open, partition.Closed, partition.ErrState)
		change(2, partition.Closed, partition.Removed, nil)
		change(0, partition.Closed, partition.Open, partition.ErrState)
		change(0, partition.Open, partition.Closed, nil)
		change(1, partition.Open, partition.Closed, partition.ErrState) // the last one
		change(9, partition.Open, partition.Closed, partition.ErrUnknown)
		want("0 closed, 1 open, 2 removed, ")
		if added, err := l.AddPartitions(t.Context(), 4); err != nil || !slices.Equal(added, []int{3}) {
			t.Errorf("AddPartitions(4) = %v, %v: a closed one and a removed one stay what they are", added, err)
		}
	})
}

func TestPartitionsAreAddedOnce(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
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
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		l.Exec(t, "INSERT INTO tb_setting VALUES ('partition_1', 'opne', '2026-06-01 20:00:00')")
		if all, err := l.Partitions(t.Context()); err == nil {
			t.Errorf("partitions are %v, want an error", all)
		}
	})
}

// saleIn is a voucher with a sale in the partition.
func saleIn(n int) voucher.Voucher {
	v := ledgertest.Draft()
	v.Kind = voucher.Seckill
	v.Sale = &voucher.Sale{
		Stock: 10, Issued: 10, Begin: ledgertest.RecordedAt, End: ledgertest.RecordedAt.Add(time.Hour), Partition: n,
	}
	return v
}

// A voucher that was placed long ago is not created in a partition that is not open any more, and one with a sale is
// not removed.
func TestVouchersInClosedPartitions(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		if _, err := l.AddPartitions(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		create := func(n int) error {
			v := saleIn(n)
			return l.CreateVoucher(t.Context(), &v, ledgertest.Admin)
		}
		if err := create(1); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 2} {
			if err := l.ChangePartition(t.Context(), n, partition.Open, partition.Closed); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.ChangePartition(t.Context(), 1, partition.Closed, partition.Removed); !errors.Is(err,
			partition.ErrNotEmpty) {
			t.Errorf("removing a partition with a sale: %v", err)
		}
		if err := create(2); !errors.Is(err, voucher.ErrNoPartition) {
			t.Errorf("creating a voucher in a closed partition: %v", err)
		}
		if err := l.ChangePartition(t.Context(), 2, partition.Closed, partition.Removed); err != nil {
			t.Error(err)
		}
		if err := create(0); err != nil {
			t.Errorf("creating a voucher in partition 0: %v", err)
		}
		if _, err := l.AddPartitions(t.Context(), 4); err != nil {
			t.Fatal(err)
		}
		if err := l.ChangePartition(t.Context(), 0, partition.Open, partition.Closed); err != nil {
			t.Fatal(err)
		}
		if err := create(0); !errors.Is(err, voucher.ErrNoPartition) {
			t.Errorf("creating a voucher in partition 0, which is closed: %v", err)
		}
		if err := l.ChangePartition(t.Context(), 0, partition.Closed, partition.Open); err != nil {
			t.Fatal(err)
		}
		if err := create(0); err != nil {
			t.Errorf("creating a voucher in partition 0, which is open again: %v", err)
		}
		for _, n := range []int{2, 7} {
			if err := create(n); !errors.Is(err, voucher.ErrNoPartition) {
				t.Errorf("creating a voucher in partition %d, which there is not: %v", n, err)
			}
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_seckill_voucher"); n != 3 {
			t.Errorf("%d sales, want 3", n)
		}
	})
}

// Several admins and instances at the same time: one partition stays open, and no sale is in one that was removed.
func TestPartitionsChangeAtTheSameTime(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		const n = 4
		if _, err := l.AddPartitions(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for p := range n {
			all.Go(func() {
				err := l.ChangePartition(t.Context(), p, partition.Open, partition.Closed)
				if err == nil && p > 0 {
					err = l.ChangePartition(t.Context(), p, partition.Closed, partition.Removed)
				}
				if err != nil && !errors.Is(err, partition.ErrState) && !errors.Is(err, partition.ErrNotEmpty) {
					t.Errorf("partition %d: %v", p, err)
				}
			})
			all.Go(func() {
				v := saleIn(p)
				if err := l.CreateVoucher(t.Context(), &v, ledgertest.Admin); err != nil &&
					!errors.Is(err, voucher.ErrNoPartition) {
					t.Errorf("a voucher in partition %d: %v", p, err)
				}
			})
		}
		all.Wait()
		now, err := l.Partitions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sales, err := l.SalesIn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		open := 0
		for _, p := range now {
			if p.State == partition.Open {
				open++
			}
			if p.State == partition.Removed && sales[p.Number] > 0 {
				t.Errorf("partition %d is removed and has %d sales", p.Number, sales[p.Number])
			}
		}
		if open != 1 {
			t.Errorf("%d partitions are open, want 1", open)
		}
	})
}
