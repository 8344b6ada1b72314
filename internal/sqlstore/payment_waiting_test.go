package sqlstore_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order/payment"
)

// Refunds wait for their provider while it is to be asked for them, or about them; those that are through do not.
func TestRefundsWaiting(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		l.RefundsOn(t)
		v := l.Seckill(t, 10)
		waits := func(want map[string]int64) {
			t.Helper()
			got, err := l.RefundsWaiting(t.Context())
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		}
		paid := l.Paid(t, v, 3)
		waits(map[string]int64{})
		ids := make([]string, len(paid))
		for i, c := range paid {
			ids[i] = fmt.Sprintf("pay_%d", c.OrderID)
		}
		l.Exec(t, "UPDATE tb_payment SET provider = ?", "cards")
		l.Exec(t, "UPDATE tb_payment SET provider = ? WHERE id = ?", "bank", ids[0])
		if _, err := l.AskRefund(t.Context(), 1, paid[0].OrderID); err != nil {
			t.Fatal(err)
		}
		for i, id := range ids[1:] {
			if _, _, err := l.asksPart(t, id, fmt.Sprint("k", i), 300); err != nil {
				t.Fatal(err)
			}
		}
		waits(map[string]int64{"bank": 1, "cards": 2})
		l.sends(t, ids[1], ids[1]+"-1", payment.RefundPending)
		waits(map[string]int64{"bank": 1, "cards": 2})
		l.sends(t, ids[2], ids[2]+"-1", payment.RefundDone)
		waits(map[string]int64{"bank": 1, "cards": 1})
	})
}
