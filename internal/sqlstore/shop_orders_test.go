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

// Pages of a shop, and of a state in all shops, are those of all orders without the others, whichever of the sales
// they are of.
func TestMergedOrdersArePagedByID(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		all, other := l.shopsOrders(t, 7, 1200)
		for _, size := range []int{1, 3, 50, 1000} {
			for _, f := range []order.Filter{
				{ShopID: shop},
				{ShopID: shop, Status: order.Unpaid},
				{ShopID: shop, Status: order.Failed},
				{Status: order.Unpaid},
				{Status: order.Failed},
				{Status: order.Refunding},
			} {
				f.FirstID = all[len(all)-2].ID
				var want, got []int64
				for _, o := range all {
					if o.ID >= f.FirstID && (f.Status == order.Queued || o.Status == f.Status) &&
						(f.ShopID == 0 || o.VoucherID != other) {
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
					t.Errorf("%+v, %d a page: orders (-want +got):\n%s", f, size, diff)
				}
			}
		}
	})
}

// A page reads at most a thousand index entries and rows, wherever it is in some thousand orders.
func TestPagesOfMergedOrdersReadFew(t *testing.T) {
	const vouchers, page = 30, 50
	eachDialect(t, func(t *testing.T, l ledger) {
		if l.Dialect == "sqlite" {
			return // it does not count what it reads
		}
		all, other := l.shopsOrders(t, vouchers, 6000)
		ofShop := slices.DeleteFunc(slices.Clone(all), func(o order.Order) bool { return o.VoucherID == other })
		const first = math.MaxInt64
		unpaid, rare := order.Filter{ShopID: shop, Status: order.Unpaid}, order.Filter{Status: order.Refunding}
		for name, c := range map[string]struct {
			before int64
			f      order.Filter
			want   int
		}{
			"first":            {first, order.Filter{ShopID: shop}, page},
			"in the middle":    {ofShop[len(ofShop)/2].ID, order.Filter{ShopID: shop}, page},
			"last":             {ofShop[len(ofShop)-page/2].ID, order.Filter{ShopID: shop}, page/2 - 1},
			"of a usual state": {first, unpaid, page},
			"of a rare state":  {first, order.Filter{ShopID: shop, Status: order.Refunding}, 0},
			"of all shops":     {all[len(all)/2].ID, order.Filter{Status: order.Failed}, page},
			"of none":          {first, rare, 0},
			"of a sale":        {first, order.Filter{VoucherID: other, Status: order.Refunding}, 0},
		} {
			read := l.entriesRead(t, "")
			found, err := l.Find(t.Context(), c.f, c.before, page)
			if n := read(); err != nil || len(found) != c.want || n > 1000 {
				t.Errorf("%s page has %d orders, want %d: %d index entries, %v", name, len(found), c.want, n, err)
			}
		}
	})
}

// shopsOrders records n orders of vouchers of shop 7, and of another voucher, and returns all, newest first, and the
// other voucher. They alternate between the vouchers, or come in runs. Every ninth order has failed.
func (l ledger) shopsOrders(t *testing.T, vouchers, n int) (newest []order.Order, other int64) {
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
			newest = append(newest, order.Order{ID: cs[i].OrderID, VoucherID: v, Status: order.Unpaid})
		}
		l.Record(t, cs)
		recorded += run
	}
	for i := 0; i < len(newest); i += 9 {
		newest[i].Status = order.Failed
		l.Force(t, order.Failed, newest[i].ID)
	}
	slices.Reverse(newest)
	return newest, ids[0]
}
