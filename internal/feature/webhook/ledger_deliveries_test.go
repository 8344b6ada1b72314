package webhook_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/testkit/ledgertest"
)

// One event of an endpoint is found by its id, unless it is not for the endpoint.
func TestDeliveryOfOneEvent(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		e := l.endpoint(t, 1)
		l.event(t, 1, "order-5", 1, "order.paid")
		l.event(t, 2, "order-6", 1, "order.paid")
		l.numbered(t)
		l.event(t, 1, "order-5", 2, "order.redeemed") // without a number
		for name, c := range map[string]struct {
			id     string
			before int64
			found  bool
		}{
			"theirs": {"order-5-1", 2, true}, "a lower bound": {"order-5-1", 1, false},
			"another shop's":   {"order-6-1", math.MaxInt64, false},
			"not numbered yet": {"order-5-2", math.MaxInt64, false},
			"none":             {"order-5-3", math.MaxInt64, false},
		} {
			id, err := dispatch.ParseEventID(c.id)
			if err != nil {
				t.Fatal(err)
			}
			got, err := l.Delivery(t.Context(), e.ID, id, c.before)
			if err != nil || (len(got) == 1) != c.found ||
				c.found && (got[0].Event.ID() != c.id || got[0].State != dispatch.Waiting) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
		if _, err := l.Delivery(t.Context(), e.ID+1, dispatch.EventID{}, 1); !errors.Is(err, dispatch.ErrNoEndpoint) {
			t.Errorf("of no endpoint: %v", err)
		}
	})
}

// A page of events of some types looks at 400 events, however rare those are: pages may be empty, and together they
// have all events of the types once, newest first.
func TestDeliveriesLookAtFewEvents(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		const events, n = 1250, 100
		rare := []int64{7, 850, 851} // the last two are where a page ends: it looks at 400
		rows := make([]string, events)
		var all []int64
		for i := range rows {
			number, kind := int64(i+1), "order.paid"
			if slices.Contains(rare, number) {
				kind = "order.redeemed"
			}
			rows[i] = fmt.Sprintf("(%d, 1, 'order-%d', 1, '%s', '{}', '2026-01-02 12:00:00.000')", number, number, kind)
			all = append(all, number)
		}
		l.Exec(t, "INSERT INTO tb_webhook_event (number, shop_id, subject, subject_number, type, body, create_time) "+
			"VALUES "+strings.Join(rows, ", "))
		for name, c := range map[string]struct {
			shop  int64
			types []dispatch.Type
			want  []int64
			pages int
		}{
			"rare":                {1, []dispatch.Type{"order.redeemed"}, rare, 4},
			"rare, of all shops":  {0, []dispatch.Type{"order.redeemed"}, rare, 4},
			"never":               {1, []dispatch.Type{"order.lapsed"}, nil, 4},
			"two types":           {1, []dispatch.Type{"order.redeemed", "order.paid"}, all, 13},
			"all":                 {1, nil, all, 13},
			"another shop's, few": {2, []dispatch.Type{"order.redeemed"}, nil, 1},
		} {
			e, err := l.CreateEndpoint(t.Context(), dispatch.Terms{
				ShopID: c.shop, URL: "https://example.com/hook", Types: c.types,
			}, testSecret, ledgertest.Admin)
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			pages := 0
			for before := int64(math.MaxInt64); before != 0; pages++ {
				found, next, err := l.Deliveries(t.Context(), e.ID, before, n)
				if err != nil || len(found) > n || next >= before {
					t.Fatalf("%s: %d events below %d, and then those below %d, %v", name, len(found), before, next, err)
				}
				for _, d := range found {
					got = append(got, d.Event.Number)
				}
				before = next
			}
			slices.Reverse(got)
			if diff := cmp.Diff(c.want, got); diff != "" || pages != c.pages {
				t.Errorf("%s: %d pages, want %d; events (-want +got):\n%s", name, pages, c.pages, diff)
			}
		}
	})
}
