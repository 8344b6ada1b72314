package sqlstore_test

import (
	"testing"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/reason"
	"seckill/internal/testkit/ledgertest"
)

// A feature takes locked orders a step by the core's table, with an actor and a reason each, which hooks and histories
// have. Another state, or a step that moves units, changes nothing.
func TestFeaturesAdvanceOrders(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 20)
		cs := l.NewOrders(t, v, 3)
		for _, c := range cs[:2] {
			l.Receives(t, l.Pays(t, c))
		}
		s := l.spies(t)
		ids := []int64{cs[0].OrderID, cs[1].OrderID, cs[2].OrderID, 4711}
		advance := func(a order.Action, from, to int) (after []order.Order, err error) {
			err = l.DB().WriteRetry(t.Context(), func(tx *gorm.DB) error {
				locked, err := l.Features.Lock(tx, ids)
				if err != nil || len(locked) != 3 {
					t.Errorf("%d orders locked, %v", len(locked), err)
				}
				steps := []order.Step{
					{Order: locked[ids[0]], By: order.ByService, Why: reason.NotRedeemed},
					{Order: locked[ids[1]], By: order.ByService},
					{Order: locked[ids[2]], By: order.ByService},
				}[from:to]
				after, err = l.Features.Advance(tx, a, ledgertest.RecordedAt, steps)
				return err
			})
			return after, err
		}
		if _, err := advance(order.Lapse, 0, 3); !ledgertest.InState(err, order.Unpaid) {
			t.Errorf("an unpaid one among them: %v", err)
		}
		if _, err := advance(order.Cancel, 2, 3); err == nil {
			t.Error("a feature gives a unit back")
		}
		s.saw(l, map[int64][]string{})
		after, err := advance(order.Lapse, 0, 2)
		if err != nil || len(after) != 2 || after[0] != l.ReadOrder(t, ids[0]) || after[1] != l.ReadOrder(t, ids[1]) ||
			after[1].Status != order.Lapsed || !after[1].LapsedAt.Equal(ledgertest.RecordedAt) {
			t.Errorf("after: %+v, %v", after, err)
		}
		s.saw(l, map[int64][]string{
			ids[0]: {"lapse: lapsed by service NOT_REDEEMED_IN_TIME"}, ids[1]: {"lapse: lapsed by service"},
		})
		err = l.DB().WriteRetry(t.Context(), func(tx *gorm.DB) error {
			return l.Features.Note(tx, []order.Line{{OrderID: ids[1], Event: order.Event{
				Status: order.Lapsed, At: ledgertest.RecordedAt, By: order.ByService, Why: reason.Released,
			}}})
		})
		const want = "paid by payment provider: \nlapsed by service: \nlapsed by service: RELEASED"
		if got := l.ReadHistory(t, ids[1]); err != nil || got != want {
			t.Errorf("history %q, %v", got, err)
		}
	})
}
