package faults

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/internal/checker"
	sharing "seckill/internal/order/split"
	"seckill/test/box"
)

// envStores chooses the stores of TestStores: "all" of them, or the one that takes seconds. envShares lists in how many shares its sales
// are split there, with commas between.
const envStores = "SECKILL_TEST_STORES"

// kind is a kind of stores that the service runs on.
type kind struct {
	name string
	long bool // not in the quick selection
	open func(*run, deployment)
}

func kinds() []kind {
	return []kind{
		{"single", false, (*run).open},
		{"sentinel", true, func(r *run, on deployment) { r.openSentinels(on) }},
		{"cluster", true, (*run).openCluster},
		{"mysql9", true, func(r *run, on deployment) { on.mysql9 = true; r.open(on) }},
		{"galera", true, (*run).openGalera},
	}
}

// TestStores sells on each kind of stores, with one and with four partitions: a sale that is not split, and split ones. Three instances
// sell exactly the units, one to each buyer, units that come back as well, and each accepted order has its row.
func TestStores(t *testing.T) {
	asked, all := kinds(), os.Getenv(envStores) == "all"
	if !all {
		asked = slices.DeleteFunc(asked, func(k kind) bool { return k.long })
	}
	seed, shares := seedOf(t), sharesIn(t)
	for _, on := range asked {
		for _, partitions := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s/partitions=%d", on.name, partitions), func(t *testing.T) {
				r := newRun(t, seed)
				r.partitions = partitions
				on.open(r, deployment{units: 240, settings: map[string]string{"SECKILL_PARTITIONS": strconv.Itoa(partitions)}})
				for _, r.shares = range shares {
					r.put(nil)
					r.sellOut()
				}
			})
		}
	}
}

// sharesIn returns in how many shares sales are split.
func sharesIn(t *testing.T) (all []int) {
	t.Helper()
	text := os.Getenv(envShares)
	if text == "" {
		return []int{1}
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			t.Fatalf("%s is %q, allowed are numbers from 1 with commas between", envShares, text)
		}
		all = append(all, n)
	}
	return all
}

// sellOut sells a sale in two parts. First all buyers have the same share, where the sale is split, and are more than it has units: so
// units move to it. Some of them cancel. Then three times as many users as there are units want what is left, and what has come back.
func (r *run) sellOut() {
	r.Helper()
	r.faultEnded()
	r.buyers.BuyAll(r.Context(), 32, r.newUsersOf(r.rand.IntN(r.shares), int(3*r.units/4)))
	r.awaitSettled()
	moved, err := r.site.Ledger.Moved(r.Context(), r.buyers.Voucher)
	r.must(err)
	if moved == 0 && r.shares > 1 {
		r.Error("no units moved to the share whose buyers came first")
	}
	r.cancelSome(10)
	r.buyers.BuyAll(r.Context(), 64, r.newUsers(int(3*r.units)))
	r.sellRest()
	r.finish()
	r.expectAnswer("refused SOLD_OUT")
	r.Logf("in %d shares, %d units moved first; answers %v", r.shares, moved, r.buyers.Record.Counts())
}

// sellRest has users come until nothing is left: a unit that comes back to a share that has none waits until no instance takes the sale
// for sold out, and by then the crowd has gone.
func (r *run) sellRest() {
	r.Helper()
	box.Eventually(r, "selling what has come back", func() error {
		left, _, err := r.site.Ledger.Sale(r.Context(), r.buyers.Voucher)
		if err != nil || left == 0 {
			return err
		}
		r.buyers.BuyAll(r.Context(), 4, r.newUsers(8))
		return fmt.Errorf("%d units are left", left)
	})
}

// cancelSome cancels orders of n buyers.
func (r *run) cancelSome(n int) {
	r.Helper()
	for user, id := range r.buyers.Record.Winners() {
		if n--; n < 0 {
			return
		}
		a := checker.Answer{Action: checker.Cancel, Outcome: checker.Accepted, User: user, Voucher: r.buyers.Voucher, Order: id, Sent: time.Now()}
		r.site.Client.Must(r, http.StatusOK, box.Request{
			Method: http.MethodPost, URL: r.site.URL(fmt.Sprintf("/order/%d/cancel", id)), Token: box.BuyerToken(user),
		})
		a.Received = time.Now()
		r.buyers.Record.Add(a)
	}
}

// newUsersOf returns n users who have not bought yet, all of one share of the sale.
func (r *run) newUsersOf(share, n int) (users []int64) {
	for range n {
		users = append(users, r.newUserOf(share))
	}
	return users
}

// newUserOf returns a user of the share who has not bought yet.
func (r *run) newUserOf(share int) int64 {
	for {
		if user := r.users.Add(1); sharing.ShareOf(r.buyers.Voucher, user, r.shares) == share {
			return user
		}
	}
}
