package webhook_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
)

// offerStory returns what endpoints are told of the offers of a sale, in the order in which they are told: "user type
// orderId", and of the orders that came of them "user type offerId".
func (l ledger) offerStory(tb testing.TB, voucherID int64) string {
	tb.Helper()
	rows, err := l.Raw.QueryContext(tb.Context(),
		"SELECT order_id, order_number, type, body FROM tb_webhook_event WHERE number IS NOT NULL ORDER BY number")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // it was read to its end
	var parts []string
	for rows.Next() {
		var e dispatch.Event
		var body string
		if err := rows.Scan(&e.OrderID, &e.OrderNumber, &e.Type, &body); err != nil {
			tb.Fatal(err)
		}
		var p struct {
			Type dispatch.Type
			Data struct {
				OfferID, OrderID, State, AcceptBefore, EndTime string
				Number, VoucherID, UserID                      int64
			}
		}
		if err := json.Unmarshal([]byte(body), &p); err != nil || p.Type != e.Type || p.Data.Number != e.OrderNumber {
			tb.Errorf("event %s of type %s has the body %s, %v", e.ID(), e.Type, body, err)
		}
		if p.Data.VoucherID != voucherID || p.Data.OfferID == "" {
			continue
		}
		other := p.Data.OfferID
		if offer, is := e.Offer(); is {
			other = p.Data.OrderID
			if offer.String() != p.Data.OfferID || p.Data.AcceptBefore == "" ||
				(p.Data.EndTime == "") != (p.Type == dispatch.OfferMade) {
				tb.Errorf("event %s has the body %s", e.ID(), body)
			}
		}
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s %s", p.Data.UserID, p.Type, other)))
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return strings.Join(parts, ", ")
}

// Each offer is told when it is made and once it has ended, in whichever way, before the order that it becomes.
func TestOffersAreEvents(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, cs := l.listed(t, 2)
		l.join(t, v, 11, 12, 13, 14, 15)
		l.endpoint(t, 1)
		l.Transitioned(t, cs[0], order.Cancel)
		l.accepts(t, v, 11, 911)
		l.ApplyAll(t, v) // 911 is an order
		l.Transitioned(t, cs[1], order.Cancel)
		if _, err := l.Leave(t.Context(), v, 12); err != nil { // 13 is next
			t.Fatal(err)
		}
		if _, err := l.Leave(t.Context(), v, 15); err != nil { // who only waits has no offer
			t.Fatal(err)
		}
		l.expireOffers(t, v) // 14 is the last to whom the unit is offered
		l.Over(t, v)
		l.seesTo(t)
		l.numbered(t)
		want := fmt.Sprintf("11 offer.made, 11 offer.accepted 911, 11 order.unpaid %d-1, 12 "+
			"offer.made, 12 offer.declined, 13 offer.made, 13 offer.missed, 14 offer.made, 14 offer.missed", v)
		if got := l.offerStory(t, v); got != want {
			t.Errorf("told is\n%s, want\n%s", got, want)
		}
		l.Conserved(t, v)
	})
}

// An offer whose user has another order by then ends; what costs nothing is paid at once; other shops' endpoints hear
// nothing.
func TestOffersThatEndAreEvents(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.sale(t, 2, 0)
		cs := l.NewOrders(t, v, 2)
		l.join(t, v, 11, 12)
		l.endpoint(t, 2)
		if _, err := l.AskRefund(t.Context(), cs[0].UserID, cs[0].OrderID); err != nil {
			t.Fatal(err)
		}
		l.numbered(t)
		if got := l.offerStory(t, v); got != "" {
			t.Errorf("another shop is told %s", got)
		}
		l.endpoint(t, 0)
		l.accepts(t, v, 11, 911)
		// Redis has refused it.
		if err := l.CompleteOperations(t.Context(), v, ledgertest.Results(l.ReadPending(t, v), false)); err != nil {
			t.Fatal(err)
		}
		l.accepts(t, v, 12, 912)
		l.ApplyAll(t, v)
		l.numbered(t)
		want := fmt.Sprintf("11 offer.ended, 12 offer.made, 12 offer.accepted 912, 12 order.paid %d-2", v)
		if got := l.offerStory(t, v); got != want {
			t.Errorf("told is\n%s, want\n%s", got, want)
		}
	})
}

// An offer that is not committed is not told.
func TestNoEventWithoutItsOffer(t *testing.T) {
	eachOwnSchema(t, func(t *testing.T, l ledger) {
		v, cs := l.listed(t, 1)
		l.join(t, v, 11)
		l.endpoint(t, 1)
		fails := "SIGNAL SQLSTATE '45000'"
		if l.Dialect == "sqlite" {
			fails = "BEGIN SELECT RAISE(ABORT, 'no operation'); END"
		}
		l.Exec(t, "CREATE TRIGGER no_operation BEFORE INSERT ON tb_voucher_operation FOR EACH ROW "+fails)
		if _, err := l.Transition(t.Context(), cs[0].OrderID, 0, order.Cancel, order.Owner); err == nil {
			t.Fatal("the order is cancelled without an operation")
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_webhook_event"); n != 0 {
			t.Errorf("%d events of what was rolled back", n)
		}
		l.Exec(t, "DROP TRIGGER no_operation")
		l.Transitioned(t, cs[0], order.Cancel)
		l.numbered(t)
		if got := l.offerStory(t, v); got != "11 offer.made" {
			t.Errorf("told is %q", got)
		}
	})
}
