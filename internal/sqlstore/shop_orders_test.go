package sqlstore_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/testkit/ledgertest"
)

const shop = 7

// A shop's pages are those of all orders without the other shops', whichever of its sales they are of.
func TestShopsOrdersArePagedByID(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		all := l.shopsOrders(t, 7, 1200) // more than fewOrders are unpaid
		for _, size := range []int{1, 3, 50, 1000} {
			for _, status := range []order.Status{order.Queued, order.Unpaid, order.Failed} {
				f := order.Filter{ShopID: shop, Status: status, FirstID: all[len(all)-2].ID}
				var want, got []int64
				for _, o := range all {
					if o.ID >= f.FirstID && (status == order.Queued || o.Status == status) {
						want = append(want, o.ID)
					}
				}
				for before := int64(math.MaxInt64); ; {
					page, err := l.Find(t.Context(), f, before, size)
					if err != nil {
						t.Fatal(err)
					}
					for _, o := range page {
						got = append(got, o.ID)
					}
					if len(page) < size {
						break
					}
					before = page[len(page)-1].ID
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%v, %d a page: orders (-want +got):\n%s", status, size, diff)
				}
			}
		}
	})
}

// A page of a shop's orders reads at most a thousand index entries and rows, wherever it is in some thousand orders.
func TestPagesOfShopsOrdersReadFew(t *testing.T) {
	const vouchers, page = 30, 50
	eachDialect(t, func(t *testing.T, l ledger) {
		if l.Dialect == "sqlite" {
			return // it does not count what it reads
		}
		all := l.shopsOrders(t, vouchers, 6000)
		for name, c := range map[string]struct {
			before int64
			status order.Status
			want   int
		}{
			"first":            {before: math.MaxInt64, want: page},
			"in the middle":    {before: all[len(all)/2].ID, want: page},
			"last":             {before: all[len(all)-page/2].ID, want: page/2 - 1},
			"of a usual state": {before: math.MaxInt64, status: order.Unpaid, want: page},
			"of a rare state":  {before: math.MaxInt64, status: order.Refunding},
		} {
			read := l.entriesRead(t, "")
			found, err := l.Find(t.Context(), order.Filter{ShopID: shop, Status: c.status}, c.before, page)
			if n := read(); err != nil || len(found) != c.want || n > 1000 {
				t.Errorf("%s page has %d orders, want %d: %d index entries, %v", name, len(found), c.want, n, err)
			}
		}
	})
}

// shopsOrders records n orders of vouchers of shop 7, and some of another's, and returns the shop's, newest first. They
// alternate between the vouchers, or come in runs. Every ninth order has failed.
func (l ledger) shopsOrders(t *testing.T, vouchers, n int) (newest []order.Order) {
	t.Helper()
	ids, users := make([]int64, vouchers+1), map[int64]int64{}
	for i := range ids {
		ids[i] = l.Seckill(t, int64(n))
	}
	l.Exec(t, "UPDATE tb_voucher SET shop_id = ? WHERE id <> ?", shop, ids[0])
	for recorded := 0; recorded < n; {
		v, run := ids[rand.N(len(ids))], min(n-recorded, 1+rand.N(10)*rand.N(10))
		cs := ledgertest.Claims(v, users[v]+1, run)
		for i := range cs {
			users[v]++
			cs[i].Sequence = users[v]
			if v != ids[0] {
				newest = append(newest, order.Order{ID: cs[i].OrderID, Status: order.Unpaid})
			}
		}
		l.Record(t, cs)
		recorded += run
	}
	for i := 0; i < len(newest); i += 9 {
		newest[i].Status = order.Failed
		l.Force(t, order.Failed, newest[i].ID)
	}
	slices.Reverse(newest)
	return newest
}
