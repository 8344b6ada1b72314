package life

import (
	"database/sql"
	"slices"

	"pgregory.net/rapid"

	"seckill/internal/order"
)

// eventsTellTheHistory checks that webhooks are told each step of each order's history once, in its order, with the order's own numbers.
// What costs nothing is paid by being recorded, so that its first event is that it is paid, number 2.
func (m *model) eventsTellTheHistory(t *rapid.T, v view) {
	for {
		n, err := m.w.stores.sql.NumberEvents(m.w.ctx, 1000)
		m.w.must(t, err)
		if n == 0 {
			break
		}
	}
	const ofVoucher = " WHERE order_id IN (SELECT id FROM tb_voucher_order WHERE voucher_id = ?)"
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
	}, "SELECT order_id, order_number, type FROM tb_webhook_event"+ofVoucher+" ORDER BY number")
	m.w.each(t, func(rows *sql.Rows) error {
		var id int64
		var status order.Status
		err := rows.Scan(&id, &status)
		history[id] = append(history[id], "order."+status.String())
		return err
	}, "SELECT order_id, status FROM tb_order_event"+ofVoucher+" ORDER BY id")
	for _, o := range v.orders {
		want := slices.Compact(history[o.id])            // which says of late money, too, what became of it: the order stays cancelled
		if len(want) == 0 || want[0] != "order.unpaid" { // being recorded is in the history of those only that an offer made
			want = slices.Concat([]string{"order.unpaid"}, want)
		}
		if want = want[untold:]; !slices.Equal(told[o.id], want) {
			t.Fatalf("order %d: webhooks are told %v, its history is %v", o.id, told[o.id], want)
		}
	}
}
