package installation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"seckill/internal/order/payment"
	"seckill/internal/testkit/ledgertest"
)

// A provider's refusals for one reason are one row, with their number and the last of them.
func TestRefusedNotices(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		one := payment.RefusedNotice{Provider: "bank", Refusal: payment.RefusedTime, Count: 3, Detail: "six minutes"}
		money := payment.RefusedNotice{
			Provider: "bank", Refusal: payment.RefusedUnknownPayment, Count: 1, Detail: "none", PaymentID: "pay_1",
			Amount: 5,
		}
		none := payment.RefusedNotice{Refusal: payment.RefusedProvider, Count: 1, Detail: `"x"`}
		for _, rows := range [][]payment.RefusedNotice{{one, none}, {money}, {one}, {none}} {
			if err := l.AddRefusedNotices(t.Context(), rows); err != nil {
				t.Fatal(err)
			}
			one.Detail = "seven minutes"
		}
		got, err := l.RefusedNotices(t.Context())
		one.Detail, one.Count, none.Count = "six minutes", 6, 2
		sorted := cmpopts.SortSlices(func(a, b payment.RefusedNotice) bool { return a.Refusal < b.Refusal })
		if diff := cmp.Diff([]payment.RefusedNotice{one, money, none}, got, sorted,
			cmpopts.IgnoreFields(payment.RefusedNotice{}, "At")); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		for i, n := range got {
			if n.At.IsZero() || i > 0 && n.At.After(got[i-1].At) {
				t.Errorf("%d: %v", i, n.At)
			}
		}
	})
}
