package order_test

import (
	"math"
	"testing"

	"seckill/internal/order"
)

// A subject is read as it was written, has its kind and its id, and fits its columns; nothing else is one.
func TestSubjects(t *testing.T) {
	t.Parallel()
	const longest = 48 // VARCHAR(48) in the ledger
	for s, want := range map[order.Subject]struct {
		kind order.SubjectKind
		text string
	}{
		order.SubjectOfOrder(660000000123456789):                           {order.SubjectOrder, "660000000123456789"},
		order.SubjectOfPlace(order.PlaceID{VoucherID: 7, Position: 12}):    {order.SubjectPlace, "7-12"},
		order.SubjectOfSale(7):                                             {order.SubjectSale, "7"},
		order.Turn{ID: order.PlaceID{VoucherID: 7, Position: 1}}.Subject(): {order.SubjectPlace, "7-1"},
		order.Turn{ID: order.PlaceID{VoucherID: 8}, Kind: order.TurnReleased}.Subject(): {
			order.SubjectSale, "8",
		},
		order.SubjectOfPlace(order.PlaceID{VoucherID: math.MaxInt64, Position: math.MaxInt64}): {
			order.SubjectPlace, "9223372036854775807-9223372036854775807",
		},
	} {
		got, ok := order.ParseSubject(string(s))
		if !ok || got != s || s.Kind() != want.kind || s.ID() != want.text || len(s) > longest {
			t.Errorf("%s: %s %t, kind %s, id %s", s, got, ok, s.Kind(), s.ID())
		}
	}
	for _, text := range []string{
		"", "order", "order-", "order-0", "order--1", "order-01", "order-1-1", "order-x", "order-9223372036854775808",
		"place-7", "place-7-", "place-7-0", "place-7-12-1", "sale-0", "sale-7-1", "buyer-7", "-7", "7", " order-1",
	} {
		if got, ok := order.ParseSubject(text); ok || got != "" {
			t.Errorf("%q is the subject %q", text, got)
		}
	}
}
