package life

import (
	"database/sql"
	"slices"

	"pgregory.net/rapid"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/order"
	"seckill/internal/order/waitlist"
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
	m.eventsTellTheOffers(t, v)
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
		// The history also says what happened to late money, with the order still cancelled.
		want := slices.Compact(history[o.id])
		// Being recorded is in the history of those only that an offer made.
		if len(want) == 0 || want[0] != "order.unpaid" {
			want = slices.Concat([]string{"order.unpaid"}, want)
		}
		if want = want[untold:]; !slices.Equal(told[o.id], want) {
			t.Fatalf("order %d: webhooks are told %v, its history is %v", o.id, told[o.id], want)
		}
	}
}

// eventsTellTheOffers checks that webhooks are told once of each offer that was made, and once of what came of it,
// behind that and before the order that it became.
func (m *model) eventsTellTheOffers(t *rapid.T, v view) {
	kinds := map[waitlist.State]dispatch.Type{
		waitlist.Bought: dispatch.OfferAccepted, waitlist.Left: dispatch.OfferDeclined,
		waitlist.Missed: dispatch.OfferMissed, waitlist.Refused: dispatch.OfferEnded,
		waitlist.Over: dispatch.OfferEnded,
	}
	told, lastOf, firstOf := map[int64][]dispatch.Type{}, map[int64]int64{}, map[int64]int64{}
	m.w.each(t, func(rows *sql.Rows) error {
		var id, number int64
		var kind dispatch.Type
		err := rows.Scan(&id, &number, &kind)
		told[id], lastOf[id] = append(told[id], kind), number
		if firstOf[id] == 0 {
			firstOf[id] = number
		}
		return err
	}, `SELECT e.order_id, e.number, e.type FROM (SELECT ? AS id) v JOIN tb_webhook_event e
		ON e.order_id BETWEEN -4294967296 * (v.id + 1) AND -4294967296 * v.id
		OR e.order_id IN (SELECT o.id FROM tb_voucher_order o WHERE o.voucher_id = v.id)
		ORDER BY e.number`)
	for _, p := range v.places {
		key := dispatch.OfferID{VoucherID: m.w.voucher, Position: p.position}.Key()
		var want []dispatch.Type
		if p.offered {
			want = []dispatch.Type{dispatch.OfferMade}
		}
		if p.offered && !p.state.Open() {
			want = append(want, kinds[p.state])
		}
		if !slices.Equal(told[key], want) {
			t.Fatalf("place %+v: webhooks are told %v of its offer, want %v", p, told[key], want)
		}
		if p.state == waitlist.Bought && firstOf[p.order] < lastOf[key] {
			t.Fatalf("place %+v: webhooks are told of its order first", p)
		}
	}
}
