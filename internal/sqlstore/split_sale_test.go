package sqlstore_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// split creates a sale of so many shares, with the units level, each at epoch 1.
func (l ledger) split(tb testing.TB, shares int, units int64) int64 {
	tb.Helper()
	v := draft()
	v.Kind = voucher.Seckill
	v.Sale = &voucher.Sale{Stock: units, Issued: units, Begin: recordedAt, End: recordedAt.Add(time.Hour), Shares: make([]voucher.Share, shares)}
	for i, n := range voucher.Level(make([]int64, shares), units) {
		v.Sale.Shares[i] = voucher.Share{Stock: n, Issued: n}
	}
	if err := l.CreateVoucher(tb.Context(), &v, admin); err != nil {
		tb.Fatal(err)
	}
	for i := range shares {
		if epoch, err := l.RaiseEpoch(tb.Context(), order.SaleID{VoucherID: v.ID, Share: i}, 0); err != nil || epoch != 1 {
			tb.Fatalf("RaiseEpoch = %d, %v; want 1", epoch, err)
		}
	}
	return v.ID
}

// claimsOf makes claims of a share.
func claimsOf(id order.SaleID, first int64, n int) []order.Claim {
	cs := claims(id.VoucherID, first, n)
	for i := range cs {
		cs[i].Share = id.Share
	}
	return cs
}

// stocks returns the stock of each share, after the sums were compared with it.
func (l ledger) stocks(tb testing.TB, voucherID int64) []int64 {
	tb.Helper()
	sale := l.sale(tb, voucherID)
	var stocks []int64
	var stock, issued int64
	for _, share := range sale.Shares {
		stocks = append(stocks, share.Stock)
		stock, issued = stock+share.Stock, issued+share.Issued
	}
	if stock != sale.Stock || issued != sale.Issued {
		tb.Errorf("stock %d of %d, and shares with %d of %d", sale.Stock, sale.Issued, stock, issued)
	}
	l.conserved(tb, voucherID)
	return stocks
}

// Each share of a split sale has a row, a stock, an epoch and orders of its own; its voucher has the sums.
func TestSplitSale(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		other, v := l.seckill(t, 5), l.split(t, 3, 10)
		zero, two := order.SaleID{VoucherID: v}, order.SaleID{VoucherID: v, Share: 2}
		if diff := cmp.Diff([]int64{4, 3, 3}, l.stocks(t, v)); diff != "" {
			t.Fatalf("created (-want +got):\n%s", diff)
		}
		mine, theirs := claimsOf(zero, 1, 3), claimsOf(two, 11, 2)
		insert(t, l, slices.Concat(theirs, claims(other, 1, 1), mine)) // of several sales in one transaction
		if diff := cmp.Diff([]int64{1, 3, 1}, l.stocks(t, v)); diff != "" {
			t.Errorf("recorded (-want +got):\n%s", diff)
		}
		if got := l.order(t, theirs[0].OrderID); got.Sale() != two {
			t.Errorf("recorded for %s: %+v", two, got)
		}
		kept, err := l.SalesToKeep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, k := range kept {
			ids = append(ids, order.SaleOf(k).String())
		}
		want := []string{strconv.FormatInt(other, 10), zero.String(), zero.String() + ".1", two.String()}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("sales to keep (-want +got):\n%s", diff)
		}
		l.checkShare(t, zero, mine, 4)
		l.checkShare(t, two, theirs, 3)
	})
}

// checkShare compares what a rebuild and the audit read of a share with its orders.
func (l ledger) checkShare(t *testing.T, id order.SaleID, cs []order.Claim, issued int64) {
	t.Helper()
	totals, err := l.LedgerTotals(t.Context(), id, 0)
	if err != nil || totals.Live != int64(len(cs)) || totals.Issued != issued || totals.Stock != issued-totals.Live {
		t.Errorf("totals of %s: %+v, %v", id, totals, err)
	}
	snap, err := l.Snapshot(t.Context(), id, 1)
	if err != nil {
		t.Fatal(err)
	}
	live := make(map[int64]order.Held)
	for _, c := range cs {
		live[c.UserID] = c.Held()
	}
	if diff := cmp.Diff(live, snap.Live); diff != "" {
		t.Errorf("snapshot of %s (-want +got):\n%s", id, diff)
	}
	if order.SaleOf(snap.Voucher).SaleID != id || snap.Voucher.Sale.Stock != totals.Stock {
		t.Errorf("snapshot of %s has %+v", id, snap.Voucher.Sale)
	}
}

// A claim is settled against its own share: another one has units left, and is at another epoch.
func TestSettleOfAShare(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.split(t, 2, 3)
		zero, one := order.SaleID{VoucherID: v}, order.SaleID{VoucherID: v, Share: 1}
		if _, err := l.RaiseEpoch(t.Context(), zero, 0); err != nil {
			t.Fatal(err)
		}
		cs := slices.Concat(claimsOf(zero, 1, 1), claimsOf(one, 11, 1))
		err := l.Settle(t.Context(), cs, func(view order.LedgerView) []order.Decision {
			want := map[order.SaleID]order.LedgerSale{zero: {Stock: 2, Epoch: 2}, one: {Stock: 1, Epoch: 1}}
			if diff := cmp.Diff(want, view.Sales); diff != "" {
				t.Errorf("view (-want +got):\n%s", diff)
			}
			return []order.Decision{
				{Claim: cs[0], Verb: order.Fail, RowID: cs[0].OrderID, Reason: order.NoStock},
				{Claim: cs[1], Verb: order.Insert, RowID: cs[1].OrderID},
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int64{2, 0}, l.stocks(t, v)); diff != "" {
			t.Errorf("settled (-want +got):\n%s", diff)
		}
		for i, id := range []order.SaleID{zero, one} {
			if got := l.order(t, cs[i].OrderID); got.Sale() != id {
				t.Errorf("settled for %s: %+v", id, got)
			}
		}
	})
}

// Operations are each share's own: what comes back goes to the share of its order, what an admin changes to all of them.
func TestOperationsOfShares(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.split(t, 3, 9)
		id := func(share int) order.SaleID { return order.SaleID{VoucherID: v, Share: share} }
		bought := claimsOf(id(1), 1, 2)
		insert(t, l, bought)
		l.transitioned(t, bought[0], order.Cancel)
		_, err := l.ChangeVoucher(t.Context(), v, admin, func(v *voucher.Voucher) error {
			v.Sale.Paused, v.Sale.End = true, v.Sale.End.Add(time.Hour)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		kinds := func(share int) (kinds []order.OperationKind) {
			ops, last, err := l.Pending(t.Context(), id(share), 10)
			if err != nil || last != int64(len(ops)) {
				t.Errorf("operations of share %d: %v, the last is %d: %v", share, ops, last, err)
			}
			for i, op := range ops {
				if op.Sale() != id(share) || op.Number != int64(i)+1 {
					t.Errorf("share %d has the operation %+v", share, op)
				}
				kinds = append(kinds, op.Kind)
			}
			return kinds
		}
		admins := []order.OperationKind{order.Pausing, order.Rescheduling}
		got := [][]order.OperationKind{kinds(0), kinds(1), kinds(2)}
		if diff := cmp.Diff([][]order.OperationKind{admins, append([]order.OperationKind{order.Cancellation}, admins...), admins}, got); diff != "" {
			t.Errorf("pending (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int64{3, 2, 3}, l.stocks(t, v)); diff != "" {
			t.Errorf("cancelled (-want +got):\n%s", diff)
		}
		kept, err := l.SalesToKeep(t.Context())
		if err != nil || len(kept) != 3 {
			t.Fatalf("%d sales to keep, %v", len(kept), err)
		}
		for _, k := range kept {
			if !k.Sale.Paused || !k.Sale.End.Equal(recordedAt.Add(2*time.Hour)) {
				t.Errorf("share %d is not paused, or ends at %v", k.Sale.Share, k.Sale.End)
			}
		}
		all, err := l.SalesWithPending(t.Context(), 10)
		if diff := cmp.Diff([]order.SaleID{id(0), id(1), id(2)}, all); err != nil || diff != "" {
			t.Errorf("%v, with pending operations (-want +got):\n%s", err, diff)
		}
		l.complete(t, id(1))
		if all, err = l.SalesWithPending(t.Context(), 10); err != nil || !slices.Equal(all, []order.SaleID{id(0), id(2)}) {
			t.Errorf("once share 1 has applied its own, %v have pending ones: %v", all, err)
		}
		// A rebuild of one absorbs its own.
		if _, err := l.Snapshot(t.Context(), id(0), 1); err != nil {
			t.Fatal(err)
		}
		if all, err = l.SalesWithPending(t.Context(), 10); err != nil || !slices.Equal(all, []order.SaleID{id(2)}) {
			t.Errorf("once share 0 was rebuilt, %v have pending ones: %v", all, err)
		}
	})
}

// complete completes what is pending of a share, as if Redis had applied it.
func (l ledger) complete(tb testing.TB, id order.SaleID) {
	tb.Helper()
	ops, _, err := l.Pending(tb.Context(), id, 1000)
	if err != nil {
		tb.Fatal(err)
	}
	if err := l.CompleteOperations(tb.Context(), id, results(ops, true)); err != nil {
		tb.Fatal(err)
	}
}

// New stock levels the shares. It is there once each of them has applied its part, and once, however often it is asked for.
func TestRestockOfShares(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.split(t, 3, 9)
		insert(t, l, claimsOf(order.SaleID{VoucherID: v, Share: 1}, 1, 3))
		for range 2 {
			if c := l.restock(t, v, 7, "a"); c.Delta != 7 || c.State != voucher.StockPending {
				t.Errorf("answered %+v", c)
			}
		}
		if diff := cmp.Diff([]int64{4, 5, 4}, l.stocks(t, v)); diff != "" {
			t.Errorf("restocked (-want +got):\n%s", diff)
		}
		for share := range 3 {
			if c := l.restock(t, v, 7, "a"); c.State != voucher.StockPending {
				t.Errorf("answered %+v before share %d has applied it", c, share)
			}
			l.complete(t, order.SaleID{VoucherID: v, Share: share})
		}
		if c := l.restock(t, v, 7, "a"); c.State != voucher.StockDone || c.Delta != 7 {
			t.Errorf("answered %+v once all have applied it", c)
		}
		l.restock(t, v, 1, "b") // to share 0, as the first of those with the least
		if diff := cmp.Diff([]int64{5, 5, 4}, l.stocks(t, v)); diff != "" {
			t.Errorf("restocked by one (-want +got):\n%s", diff)
		}
	})
}

// What takes stock takes it in share 0, whatever others have. Once refused it may be begun again under the same key, and is done once.
func TestTakeStockOfShares(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.split(t, 3, 9)
		zero := order.SaleID{VoucherID: v}
		find := func(key string) (state string) {
			c, found, err := l.FindStockChange(t.Context(), v, -2, key)
			if err != nil || found != (c.Delta == -2) {
				t.Errorf("%q: %+v, %t, %v", key, c, found, err)
			}
			if found {
				state = c.State.String()
			}
			return state
		}
		decide := func(taken bool) {
			t.Helper()
			ops, _, err := l.Pending(t.Context(), zero, 10)
			if err == nil {
				err = l.CompleteOperations(t.Context(), zero, results(ops, taken))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		states := []string{find("a")}
		l.restock(t, v, -2, "a")
		states = append(states, find("a"))
		decide(false)
		states = append(states, find("a"))
		l.restock(t, v, -2, "a")
		again := l.restock(t, v, -2, "a")
		states = append(states, find("a"))
		if again.Number != 2 {
			t.Errorf("begun again as %+v, want operation 2", again)
		}
		decide(true)
		if done := l.restock(t, v, -2, "a"); done.Number != 2 || done.State != voucher.StockDone {
			t.Errorf("asked again once it is done: %+v", done)
		}
		if diff := cmp.Diff([]string{"", "pending", "refused", "pending", "done"}, append(states, find("a"))); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int64{1, 3, 3}, l.stocks(t, v)); diff != "" || l.sale(t, v).Issued != 7 {
			t.Errorf("%d issued, stocks (-want +got):\n%s", l.sale(t, v).Issued, diff)
		}
		if _, _, err := l.FindStockChange(t.Context(), v, -3, "a"); !errors.Is(err, voucher.ErrKeyReused) {
			t.Errorf("another delta: %v", err)
		}
		entries, err := l.Entries(t.Context(), voucher.AuditFilter{VoucherID: v}, voucher.MaxID, 2)
		if err != nil || entries[0].Outcome != voucher.StockDone || entries[1].Outcome != voucher.StockRefused || entries[0].Delta != -2 {
			t.Errorf("audit trail %+v, %v", entries, err)
		}
		// A rebuild of share 0 makes what is pending void.
		l.restock(t, v, -2, "b")
		if _, err := l.Snapshot(t.Context(), zero, 1); err != nil {
			t.Fatal(err)
		}
		if state := find("b"); state != "" {
			t.Errorf("after a rebuild: %s", state)
		}
	})
}

// Shares are retired one by one; the sale is once all are.
func TestRetireShares(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v := l.split(t, 2, 4)
		l.over(t, v)
		for share := range 2 {
			if l.sale(t, v).Retired {
				t.Errorf("retired before share %d", share)
			}
			retired, err := l.Retire(t.Context(), order.SaleID{VoucherID: v, Share: share}, 0)
			if err != nil || !retired {
				t.Errorf("retiring share %d: %t, %v", share, retired, err)
			}
		}
		if !l.sale(t, v).Retired {
			t.Error("not retired once both shares are")
		}
		for _, delta := range []int64{1, -1} {
			if _, err := l.ChangeStock(t.Context(), v, admin, delta, "a"); !errors.Is(err, voucher.ErrRetired) {
				t.Errorf("%+d of a retired sale: %v", delta, err)
			}
		}
	})
}

// Reports and lists have the sums of all shares, and each sale once.
func TestReportsOfShares(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		one, v := l.seckill(t, 5), l.split(t, 3, 10)
		insert(t, l, slices.Concat(claims(one, 1, 1), claimsOf(order.SaleID{VoucherID: v, Share: 0}, 1, 2), claimsOf(order.SaleID{VoucherID: v, Share: 2}, 11, 2)))
		sums, err := l.Sums(t.Context(), v)
		if err != nil || sums.Stock != 6 || sums.Issued != 10 || sums.Unpaid.Orders != 4 {
			t.Errorf("sums %+v, %v", sums, err)
		}
		sales, err := l.SalesPage(t.Context(), "", voucher.MaxID, 10)
		if err != nil || len(sales) != 2 || sales[0].VoucherID != v || sales[0].Sums.Issued != 10 || sales[0].Sums.Sold != 4 || sales[0].Sums.Paid != 0 {
			t.Errorf("sales %+v, %v", sales, err)
		}
		all, err := l.SalesSums(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var issued, sold, n int64
		for _, phase := range all {
			issued, sold, n = issued+phase.Issued, sold+phase.Sold, n+phase.Sales
		}
		if issued != 15 || sold != 5 || n != 2 {
			t.Errorf("all sales: %+v", all)
		}
		if vs, _, err := l.Vouchers(t.Context(), voucher.Search{Before: voucher.MaxID, Limit: 10}); err != nil || len(vs) != 2 || len(vs[0].Sale.Shares) != 3 || vs[1].Sale.Shares != nil {
			t.Errorf("listed %+v, %v", vs, err)
		}
		if in, err := l.SalesIn(t.Context()); err != nil || in[0] != 4 {
			t.Errorf("sales by partition: %v, %v", in, err)
		}
	})
}
