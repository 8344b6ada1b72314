package faults

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"seckill/internal/checker"
	"seckill/test/box"
)

// envStores chooses the stores of TestStores: "all", or the one that takes seconds.
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

// TestStores sells on each kind of stores, with one and with four partitions. Three instances sell exactly the units,
// one to each buyer, including units that come back, and each accepted order has its row.
func TestStores(t *testing.T) {
	asked, all := kinds(), os.Getenv(envStores) == "all"
	if !all {
		asked = slices.DeleteFunc(asked, func(k kind) bool { return k.long })
	}
	seed := seedOf(t)
	for _, on := range asked {
		for _, partitions := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s/partitions=%d", on.name, partitions), func(t *testing.T) {
				r := newRun(t, seed)
				r.partitions = partitions
				on.open(r, deployment{
					units: 240, settings: map[string]string{"SECKILL_PARTITIONS": strconv.Itoa(partitions)},
				})
				r.sellOut()
			})
		}
	}
}

// sellOut sells a sale in two parts. First fewer users than units buy, and some of them cancel. Then three times as
// many users as units want the rest and the units that came back.
func (r *run) sellOut() {
	r.Helper()
	r.faultEnded()
	r.buyers.BuyAll(r.Context(), 32, r.newUsers(int(3*r.units/4)))
	r.awaitSettled()
	r.cancelSome(10)
	r.buyers.BuyAll(r.Context(), 64, r.newUsers(int(3*r.units)))
	r.sellRest()
	r.finish()
	r.expectAnswer("refused SOLD_OUT")
	r.Logf("answers %v", r.buyers.Record.Counts())
}

// sellRest lets users come until nothing is left: a unit that comes back to a sold-out sale waits until no instance
// remembers the sale as sold out, and by then the crowd has left.
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
		a := checker.Answer{
			Action: checker.Cancel, Outcome: checker.Accepted, User: user, Voucher: r.buyers.Voucher,
			Order: id, Sent: time.Now(),
		}
		r.site.Client.Must(r, http.StatusOK, box.Request{
			Method: http.MethodPost, URL: r.site.URL(fmt.Sprintf("/order/%d/cancel", id)), Token: box.BuyerToken(user),
		})
		a.Received = time.Now()
		r.buyers.Record.Add(a)
	}
}
