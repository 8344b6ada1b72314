package test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"seckill/internal/order/split"
	"seckill/test/box"
)

// A sale split in four over two partitions, most of whose buyers are in share 0. An admin adds units, and takes more than any share has;
// one of three instances is killed for good while it sells. Every unit is sold, once, and nobody has two.
func TestSplitSale(t *testing.T) {
	t.Parallel()
	const stock, taken, added = 1200, 500, 100
	const units = stock - taken + added
	s := partitioned(t, 3, 2)
	id := inBothPartitions(t, s, stock, 4)
	if answer := restock(t, s, id, -stock-1, http.StatusConflict); answer.Code != "INSUFFICIENT_STOCK" || !strings.Contains(string(answer.Data), strconv.Itoa(stock)) {
		t.Errorf("taking more than there is: %s %s", answer.Code, answer.Data)
	}
	restock(t, s, id, added, http.StatusOK) // before some shares have none: what an empty one is given waits until nobody takes it for sold out
	restock(t, s, id, -taken, http.StatusOK)
	if left := shareFigures(t, s, id).Stock; left != units {
		t.Errorf("%d units are left, want %d", left, units)
	}

	b := s.Buyers(id)
	b.Record.After(units/4, func() {
		if err := s.Servers[2].Kill(); err != nil {
			t.Errorf("killing an instance: %v", err)
		}
	})
	b.BuyAll(t.Context(), 32, skewed(id, 4, units+100))
	if e := s.Check(t, b, units); e.Live() != units {
		t.Errorf("%d units are sold, want all %d", e.Live(), units)
	}
	f := shareFigures(t, s, id)
	var issued, held, in, out int64
	for _, share := range f.Shares {
		issued, held, in, out = issued+share.Issued, held+share.Held, in+share.MovedIn, out+share.MovedOut
	}
	if f.Stock != 0 || f.Held != units || f.SaleState != "sold_out" || f.Issued != units || issued != units || held != units {
		t.Errorf("the sale's figures are %+v", f)
	}
	if in != out || f.Shares[0].MovedIn < units/4 {
		t.Errorf("%d units moved in, %d out, %d of them to the share with most buyers", in, out, f.Shares[0].MovedIn)
	}
	// The servers of the tests keep no append-only file: no-go.
	box.Eventually(t, "a check that finds all shares", func() error { // on a busy machine a store may not answer in the time that a check has
		got := box.Command(t, s.Servers[0].Settings, "check", "-voucher", strconv.FormatInt(id, 10))
		if got.Code != 3 || !strings.Contains(got.Stdout, "warning  sale.shares") || !strings.Contains(got.Stdout, "one Redis server has all 4") {
			return fmt.Errorf("exit code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
		}
		return nil
	})
}

// inBothPartitions creates a split sale that has as many shares in each of two partitions. One that was created before all instances
// worked in the second, or while that could not be asked on a busy machine, has none there, and is left alone.
func inBothPartitions(t *testing.T, s *box.Site, stock, shares int) (id int64) {
	t.Helper()
	box.Eventually(t, "a sale with shares in both partitions", func() error {
		id = saleWith(t, s, stock, "shares", shares)
		in := map[int64]int{}
		for _, share := range shareFigures(t, s, id).Shares {
			in[share.Partition]++
		}
		if in[0] != shares/2 || in[1] != shares/2 {
			return fmt.Errorf("shares by partition: %v", in)
		}
		return nil
	})
	return id
}

// skewed is n users, nine in ten of them in share 0.
func skewed(voucherID int64, shares, n int) (users []int64) {
	for user := int64(1); len(users) < n; user++ {
		if split.ShareOf(voucherID, user, shares) == 0 || len(users)%10 == 9 {
			users = append(users, user)
		}
	}
	return users
}

// restock changes the stock, and asks again with the same key while that is not decided or not applied.
func restock(t *testing.T, s *box.Site, id, delta int64, want int) box.Reply {
	t.Helper()
	request := box.Request{
		Method: http.MethodPost, URL: s.URL(fmt.Sprintf("/voucher/%d/stock", id)), Token: box.AdminToken(),
		Body: map[string]any{"delta": delta}, Header: map[string]string{"Idempotency-Key": fmt.Sprint("by", delta)},
	}
	var answer box.Reply
	box.Eventually(t, fmt.Sprintf("changing the stock by %d", delta), func() (err error) {
		if answer, err = s.Client.Do(t.Context(), request); err == nil && answer.StatusCode != want {
			err = fmt.Errorf("%d %s", answer.StatusCode, answer.Body)
		}
		return err
	})
	return answer
}

// shareFigures reads the first figures of a sale's live page.
func shareFigures(t *testing.T, s *box.Site, id int64) (f figures) {
	t.Helper()
	box.Eventually(t, "the figures of the sale", func() error {
		return followFigures(t.Context(), s, id, func(first figures) bool { f = first; return false })
	})
	return f
}
