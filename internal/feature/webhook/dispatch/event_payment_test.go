package dispatch_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/order"
	"seckill/internal/order/payment"
)

// attempts returns n payments in a state, with ids that begin with it.
func attempts(n int, s payment.State, p payment.Progress) []payment.Account {
	all := make([]payment.Account, n)
	for i := range all {
		all[i].ID, all[i].State, all[i].Progress = fmt.Sprintf("%s-%d", s, i), s, p
	}
	return all
}

// An event has the payments that may have moved money, the newest ones, and is never longer than a column holds.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	long := attempts(20, payment.Refunding, 0)
	for i := range long {
		for j := range 30 {
			long[i].Refunds = append(long[i].Refunds,
				payment.Refund{ID: fmt.Sprintf("refund-%d", j), Failure: strings.Repeat("很", 80)})
		}
	}
	returned := attempts(1, payment.Open, payment.ProgressCancelled)
	returned[0].Returned = 5
	for name, test := range map[string]struct {
		paid    []payment.Account
		want    int
		first   string
		refunds int
		omitted bool
	}{
		"none":           {},
		"failed":         {paid: attempts(200, payment.Open, payment.ProgressFailed)},
		"ended":          {paid: attempts(200, payment.Open, payment.ProgressCancelled)},
		"money was back": {paid: returned, want: 1, first: "open-0"},
		"the newest":     {paid: attempts(25, payment.Received, 0), want: 20, first: "received-5"},
		"money first": {
			paid: append(attempts(1, payment.Received, 0), attempts(25, payment.Open, 0)...), want: 20,
			first: "received-0",
		},
		"refunds": {paid: long[:1], want: 1, first: "refunding-0", refunds: 20},
		"long":    {paid: long, omitted: true},
	} {
		e, err := dispatch.EventOf(order.Change{Order: order.Order{ID: 5, Status: order.Paid}}, test.paid, "")
		var got struct {
			Data struct {
				ID, Status      string
				PaymentsOmitted bool
				Payments        []struct {
					ID      string
					Refunds []struct{ ID string }
				}
			}
		}
		if err := json.Unmarshal(e.Body, &got); err != nil {
			t.Fatal(err)
		}
		d := got.Data
		if err != nil || len(e.Body) > 60_000 || len(d.Payments) != test.want || d.PaymentsOmitted != test.omitted ||
			d.Status != "paid" {
			t.Errorf("%s: %d bytes, %d payments, %+v, %v", name, len(e.Body), len(d.Payments), d, err)
		}
		if test.want > 0 && (d.Payments[0].ID != test.first || len(d.Payments[0].Refunds) != test.refunds ||
			test.refunds > 0 && d.Payments[0].Refunds[19].ID != "refund-29") {
			t.Errorf("%s: the first payment is %+v", name, d.Payments[0])
		}
	}
}
