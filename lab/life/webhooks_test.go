package life

import (
	"database/sql"
	"math"
	"slices"

	"pgregory.net/rapid"

	"seckill/internal/feature/webhook/dispatch"
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
	const ofVoucher = " WHERE order_id IN (SELECT id FROM tb_voucher_order WHERE voucher_id = ?)"
	told, untold := map[int64][]string{}, 0
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
	}, "SELECT order_id, order_number, type FROM tb_webhook_event"+ofVoucher+" ORDER BY number")
	for _, o := range v.orders {
		want := []string{"order.unpaid"}
		for _, s := range steps[o.id][min(1, len(steps[o.id])):] {
			want = append(want, s.kind)
		}
		if want = want[untold:]; !slices.Equal(told[o.id], want) {
			t.Fatalf("order %d: webhooks are told %v, its history is %v", o.id, told[o.id], want)
		}
	}
}

// eventsTellTheTurns checks that webhooks are told each turn of a place once, with the place's own numbers.
func (m *model) eventsTellTheTurns(t *rapid.T, v view) {
	told := map[int64]int64{}
	m.w.each(t, func(rows *sql.Rows) error {
		var id, number int64
		err := rows.Scan(&id, &number)
		if told[id]++; -id&math.MaxUint32 != 0 && number != told[id] {
			t.Fatalf("event %d of place %d comes as its %dth", number, id, told[id])
		}
		return err
	}, `SELECT e.order_id, e.order_number FROM (SELECT ? AS id) v JOIN tb_webhook_event e
		ON e.order_id BETWEEN -4294967296 * (v.id + 1) + 1 AND -4294967296 * v.id ORDER BY e.number`)
	for _, p := range v.places {
		if n := told[dispatch.PlaceID{VoucherID: m.w.voucher, Position: p.position}.Key()]; n != p.turns {
			t.Fatalf("place %+v: webhooks are told %d turns", p, n)
		}
	}
}
