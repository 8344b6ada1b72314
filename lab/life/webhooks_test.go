package life

import (
	"database/sql"
	"slices"

	"pgregory.net/rapid"

	"seckill/internal/order"
)

// eventsTellTheHistory checks that each step of each order's history was sent to webhooks once, in sequence, with the
// order's own numbers. A free order is paid when it is recorded, so its first event is number 2, paid.
func (m *model) eventsTellTheHistory(t *rapid.T, v view) {
	for {
		n, err := m.w.stores.events.NumberEvents(m.w.ctx, 1000)
		m.w.must(t, err)
		if n == 0 {
			break
		}
	}
	m.eventsTellTheTurns(t, v)
	const orders = "(SELECT id FROM tb_voucher_order WHERE voucher_id = ?)"
	told, history, untold := map[int64][]string{}, map[int64][]string{}, 0
	if m.w.price == 0 {
		untold = 1
	}
	m.w.each(t, func(rows *sql.Rows) error {
		var id, number int64
		var kind string
		err := rows.Scan(&id, &number, &kind)
		if told[id] = append(told[id], kind); number != int64(untold+len(told[id])) {
			t.Fatalf("event %d of order %d comes as its %dth", number, id, untold+len(told[id]))
		}
		return err
	}, "SELECT o.id, e.subject_number, e.type FROM "+orders+" o JOIN tb_webhook_event e "+
		"ON e.subject = CONCAT('order-', o.id) ORDER BY e.number")
	m.w.each(t, func(rows *sql.Rows) error {
		var id int64
		var status order.Status
		err := rows.Scan(&id, &status)
		history[id] = append(history[id], "order."+status.String())
		return err
	}, "SELECT order_id, status FROM tb_order_event WHERE order_id IN "+orders+" ORDER BY id")
	for _, o := range v.orders {
		// The history also says what happened to late money, with the order still cancelled.
		want := slices.Compact(history[o.id])
		// Being recorded is in the history of those only that came of a waiting list.
		if len(want) == 0 || want[0] != "order.unpaid" {
			want = slices.Concat([]string{"order.unpaid"}, want)
		}
		if want = want[untold:]; !slices.Equal(told[o.id], want) {
			t.Fatalf("order %d: webhooks are told %v, its history is %v", o.id, told[o.id], want)
		}
	}
}

// eventsTellTheTurns checks that webhooks are told each turn of a place once, with the place's own numbers.
func (m *model) eventsTellTheTurns(t *rapid.T, v view) {
	told := map[order.Subject]int64{}
	m.w.each(t, func(rows *sql.Rows) error {
		var s order.Subject
		var number int64
		err := rows.Scan(&s, &number)
		if told[s]++; number != told[s] {
			t.Fatalf("event %d of %s comes as its %dth", number, s, told[s])
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
