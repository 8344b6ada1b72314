package life

import (
	"database/sql"
	"slices"

	"pgregory.net/rapid"

	"seckill/internal/order"
)

// eventsTellTheHistory checks that each step of each order's history was sent to webhooks once, in sequence, with the
// order's own numbers. A free order is paid when it is recorded, so its first event is number 2, paid.
func (m *model) eventsTellTheHistory(t *rapid.T, v view, steps map[int64][]step) {
	for {
		n, err := m.w.stores.events.NumberEvents(m.w.ctx, 1000)
		m.w.must(t, err)
		if n == 0 {
			break
		}
	}
	m.eventsTellTheTurns(t, v)
	told, untold := map[int64][]string{}, 0
	if m.w.price == 0 {
		untold = 1
	}
	m.w.each(t, func(rows *sql.Rows) error {
		var id, number int64
		var kind string
		err := rows.Scan(&id, &number, &kind)
		if told[id] = append(told[id], kind); number != int64(untold+len(told[id])) {
			t.Fatalf("webhooks are told event %d of order %d as its %dth", number, id, untold+len(told[id]))
		}
		return err
	}, "SELECT o.id, e.subject_number, e.type FROM tb_voucher_order o JOIN tb_webhook_event e "+
		"ON e.subject = CONCAT('order-', o.id) WHERE o.voucher_id = ? ORDER BY e.number")
	for _, o := range v.orders {
		want := []string{"order.unpaid"}
		for _, s := range steps[o.id][min(1, len(steps[o.id])):] {
			want = append(want, s.kind)
		}
		if want = want[untold:]; !slices.Equal(withoutReturns(told[o.id]), withoutReturns(want)) {
			t.Fatalf("order %d: webhooks are told %v, its history is %v", o.id, told[o.id], want)
		}
	}
}

// withoutReturns leaves out events that money has gone back. Not each has a line in the history: a provider's answer
// may only say which refund it was.
func withoutReturns(kinds []string) []string {
	return slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return kind == "payment.returned" })
}

// eventsTellTheTurns checks that webhooks are told each turn of a place once, with the place's own numbers.
func (m *model) eventsTellTheTurns(t *rapid.T, v view) {
	told := map[order.Subject]int64{}
	m.w.each(t, func(rows *sql.Rows) error {
		var s order.Subject
		var number int64
		err := rows.Scan(&s, &number)
		if told[s]++; number != told[s] {
			t.Fatalf("webhooks are told event %d of %s as its %dth", number, s, told[s])
		}
		return err
	}, `SELECT e.subject, e.subject_number FROM (SELECT ? AS id) v JOIN tb_webhook_event e
		ON e.subject LIKE CONCAT('place-', v.id, '-%') ORDER BY e.number`)
	for _, p := range v.places {
		if n := told[order.SubjectOfPlace(order.PlaceID{VoucherID: m.w.voucher, Position: p.position})]; n != p.turns {
			t.Fatalf("place %+v: webhooks are told %d turns", p, n)
		}
	}
}
