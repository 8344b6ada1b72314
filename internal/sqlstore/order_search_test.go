package sqlstore_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
)

// Orders of a time and an order of a code are found by the primary key: what is read does not grow with the orders.
func TestOrdersAreFoundByTheirIDs(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.Seckill(t, 1000)
		claims := ledgertest.Claims(v, 1, 1000)
		l.Record(t, claims)
		first, last := claims[500].OrderID, claims[503].OrderID
		for name, c := range map[string]struct {
			filter order.Filter
			before int64
			want   []int64
		}{
			"of a time":        {order.Filter{FirstID: first}, last, []int64{last - 1, last - 2, first}},
			"one":              {order.Filter{OrderID: first}, math.MaxInt64, []int64{first}},
			"one of another":   {order.Filter{OrderID: first, ShopID: 4711}, math.MaxInt64, nil},
			"one out of time":  {order.Filter{OrderID: first, FirstID: last}, math.MaxInt64, nil},
			"of a user's time": {order.Filter{FirstID: first, UserID: claims[501].UserID}, last, []int64{first + 1}},
		} {
			read := l.readsFew(t, 20)
			found, err := l.Find(t.Context(), c.filter, c.before, 50)
			read(name)
			var ids []int64
			for _, o := range found {
				ids = append(ids, o.ID)
			}
			if diff := cmp.Diff(c.want, ids); diff != "" || err != nil {
				t.Errorf("%s: %v, orders (-want +got):\n%s", name, err, diff)
			}
		}
	})
}

// readsFew begins to count what the store reads, and returns what fails the test if that is more than most entries. For
// SQLite, which does not count, the plan may have no scan.
func (l ledger) readsFew(t *testing.T, most int) func(name string) {
	t.Helper()
	if l.Dialect != "sqlite" {
		read := l.entriesRead(t, "")
		return func(name string) {
			if n := read(); n > most {
				t.Errorf("%s: %d entries are read", name, n)
			}
		}
	}
	return func(name string) {
		plan := l.plan(t, "SELECT * FROM tb_voucher_order WHERE id >= 1 AND id < 9 ORDER BY id DESC LIMIT 5", nil)
		if strings.Contains(plan, "SCAN") || strings.Contains(plan, "B-TREE") {
			t.Errorf("%s is read by\n%s", name, plan)
		}
	}
}
