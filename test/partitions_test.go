package test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// partitioned starts instances with the given number of partitions.
func partitioned(t *testing.T, instances, partitions int) *box.Site {
	t.Helper()
	_, prefix := testkit.Redis(t)
	addr, dsn := testkit.RedisAddr(t), testkit.MySQL(t)
	s := box.EmptySite(t, addr, prefix, dsn)
	for range instances {
		s.Add(t, addr, dsn, map[string]string{"SECKILL_PARTITIONS": strconv.Itoa(partitions)})
	}
	s.Start(t)
	return s
}

// saleIn creates a sale in a partition once all instances work there, and returns its voucher.
func saleIn(t *testing.T, s *box.Site, partition, stock int) int64 {
	t.Helper()
	return saleWith(t, s, stock, "partition", partition)
}

// saleWith creates a sale with one more field, once all instances accept it.
func saleWith(t *testing.T, s *box.Site, stock int, field string, value any) int64 {
	t.Helper()
	draft := box.SeckillDraft(1, int64(stock), time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	draft[field] = value
	request := box.Request{
		Method: http.MethodPost, URL: s.URL("/voucher/seckill"), Token: box.AdminToken(), Body: draft,
	}
	var created box.Reply
	box.Eventually(t, fmt.Sprintf("a sale with %s %v", field, value), func() (err error) {
		if created, err = s.Client.Do(t.Context(), request); err == nil && created.StatusCode != http.StatusCreated {
			err = fmt.Errorf("%d %s", created.StatusCode, created.Body)
		}
		return err
	})
	id := box.Decode[box.Voucher](t, created).ID
	s.AwaitState(t, id, "on_sale")
	return id
}

// Sales in several partitions sell exactly their units, every order gets its row, and all instances count in each.
func TestSalesInPartitions(t *testing.T) {
	t.Parallel()
	const partitions, units = 3, 20
	s := partitioned(t, 2, partitions)
	for n := range partitions {
		b := s.Buyers(saleIn(t, s, n, units))
		b.BuyAll(t.Context(), 8, box.Users(int64(1000*n+1), units+5))
		s.Redis.Partition = n
		if n := s.Check(t, b, units).Live(); n != units {
			t.Errorf("%d orders have a unit, want %d", n, units)
		}
	}
	listed := box.Decode[[]struct{ Number, Instances int }](t, s.Client.Must(t, http.StatusOK,
		box.Request{Method: http.MethodGet, URL: s.URL("/admin/partition"), Token: box.AdminToken()}))
	for _, p := range listed {
		if p.Instances != 2 {
			t.Errorf("partition %d has %d instances, want 2", p.Number, p.Instances)
		}
	}
	if len(listed) != partitions {
		t.Errorf("%d partitions are listed, want %d", len(listed), partitions)
	}
}

// An operator lists partitions, closes one, cannot remove it while it has a sale, and opens it again; every mistake is
// reported.
func TestPartitionCommand(t *testing.T) {
	t.Parallel()
	s := partitioned(t, 2, 4)
	id := saleIn(t, s, 2, 5)
	const usage, refused = 2, 1
	for _, wrong := range []struct {
		code int
		word string
		args string
	}{
		{usage, "missing (list, close, open or remove)", ""},
		{usage, `there is no subcommand "shut" (list, close, open or remove)`, "shut 1"},
		{usage, `unexpected argument "1"`, "list 1"},
		{usage, "needs the number of one partition", "close"},
		{usage, "needs the number of one partition", "close 1 2"},
		{usage, `"two" is not a partition's number (allowed: 0 to 31)`, "close two"},
		{usage, `"32" is not a partition's number (allowed: 0 to 31)`, "remove 32"},
		{usage, `"-1" is not a partition's number (allowed: 0 to 31)`, "open -1"},
		{refused, "no such partition: 9", "close 9"},
		{refused, "partition 1 is open", "open 1"},
		{refused, "partition 1 is open", "remove 1"},
		{refused, "no sale, and cannot be removed", "remove 0"},
	} {
		expectOutput(t, s, wrong.code, []string{wrong.word},
			append([]string{"partition"}, strings.Fields(wrong.args)...)...)
	}
	expectPartitions(t, s, "PARTITION", "0          open", "3          open")
	for _, n := range []string{"0", "2", "3"} {
		expectOutput(t, s, 0, []string{"close is done"}, "partition", "close", n)
	}
	expectOutput(t, s, refused, []string{"partition 1 is the only one that is open"}, "partition", "close", "1")
	expectOutput(t, s, refused, []string{"partition 2 has 1 sales that are not retired"}, "partition", "remove", "2")
	expectOutput(t, s, 0, []string{"remove is done"}, "partition", "remove", "3")
	expectOutput(t, s, refused, []string{"partition 3 is removed"}, "partition", "open", "3")
	expectPartitions(t, s, "0          closed", "2          closed", "3          removed")
	for _, n := range []int{0, 2, 3} {
		draft := box.SeckillDraft(1, 5, time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
		draft["partition"] = n
		a := s.Client.Must(t, http.StatusBadRequest,
			box.Request{Method: http.MethodPost, URL: s.URL("/voucher/seckill"), Token: box.AdminToken(), Body: draft})
		if !strings.Contains(string(a.Body), "or leave it out") {
			t.Errorf("a sale in partition %d: %s", n, a.Body)
		}
	}
	saleIn(t, s, 1, 5)
	b := s.Buyers(id)
	b.BuyAll(t.Context(), 4, box.Users(1, 8))
	s.Redis.Partition = 2
	s.Check(t, b, 5) // a sale in a closed partition goes on
	expectOutput(t, s, 0, []string{"open is done"}, "partition", "open", "0")
	expectPartitions(t, s, "0          open", "1          open", "2          closed")
}

// expectPartitions expects words in the list of partitions. It retries, because the list fails if a busy machine does
// not answer in time.
func expectPartitions(t *testing.T, s *box.Site, words ...string) {
	t.Helper()
	box.Eventually(t, "the list of partitions", func() error {
		got := box.Command(t, s.Servers[0].Settings, "partition", "list")
		for _, word := range words {
			if got.Code != 0 || !strings.Contains(got.Stdout, word) {
				return fmt.Errorf("exit code %d, want %q:\n%s%s", got.Code, word, got.Stdout, got.Stderr)
			}
		}
		return nil
	})
}
