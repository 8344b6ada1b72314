package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/admission"
	"seckill/internal/order/catalog"
	"seckill/internal/order/gate"
	"seckill/internal/order/ordertest"
	"seckill/internal/order/reason"
	"seckill/internal/voucher"
)

// fakeGate answers for the admission script, with one outcome for all requests.
type fakeGate struct {
	mu      sync.Mutex
	outcome gate.Result
	view    order.SaleView
	err     error
	calls   int
}

func (g *fakeGate) Admit(_ context.Context, b gate.Batch) (gate.BatchResult, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls++
	if g.err != nil {
		return gate.BatchResult{}, g.err
	}
	v := gate.BatchResult{View: g.view}
	for range b.Requests {
		v.Results = append(v.Results, g.outcome)
	}
	return v, nil
}

type purchaseParts struct {
	purchases *Purchases
	gate      *fakeGate
	rows      *ordertest.FakeOrders
	holders   ordertest.FakeHolders
	sales     *ordertest.FakeSales
	catalog   *catalog.Catalog
	notifier  *Notifier
	stores    *ordertest.FakeStores // for repairs
}

func newPurchases(t *testing.T, options PurchaseOptions, vs ...voucher.Voucher) *purchaseParts {
	t.Helper()
	p := &purchaseParts{
		gate: &fakeGate{}, rows: &ordertest.FakeOrders{Rows: map[int64]order.Order{}}, holders: ordertest.FakeHolders{},
		sales: &ordertest.FakeSales{
			Kept: vs, Faults: ordertest.Faults{Before: map[string]int{}, After: map[string]int{}},
		}, stores: ordertest.NewFakeStores(0),
	}
	p.notifier = NewNotifier(p.rows, ordertest.Quiet())
	catalog := catalog.New(p.sales)
	t.Cleanup(catalog.Close)
	p.catalog = catalog
	stores := admission.Stores{Gate: ordertest.EachSale(p.gate.Admit), Holders: p.sales.Holders, Rows: p.rows}
	admission := admission.New(stores, catalog, p.stores, ordertest.NopObserver{}, 100, ordertest.Quiet())
	t.Cleanup(admission.Close)
	lookup := NewLookup(LookupStores{Rows: p.rows, Holdings: p.holders, NewSales: p.sales.SalesAbove}, catalog)
	p.purchases = NewPurchases(admission, lookup, p.rows, &ordertest.FakeIDs{Last: 99}, p.notifier, options)
	return p
}

// buy buys units of the voucher as the catalog has it, as HTTP does.
func (p *purchaseParts) buy(
	ctx context.Context, userID, voucherID int64, q order.Quantity, wait time.Duration,
) (order.Order, error) {
	v, err := p.catalog.Find(ctx, voucherID)
	if err != nil {
		return order.Order{}, err
	}
	return p.purchases.Buy(ctx, userID, v, q, wait)
}

func TestBuyAnswersEachOutcome(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code   gate.Outcome
		want   error
		repair bool
	}{
		"accepted":   {code: gate.Accepted},
		"no sale":    {code: gate.NoSale, want: gate.ErrPaused, repair: true},
		"lost tail":  {code: gate.LostTail, want: gate.ErrPaused, repair: true},
		"unreadable": {code: gate.Unreadable, want: order.ErrUnknownOutcome},
		"doubtful":   {code: gate.Doubtful, want: order.ErrUnknownOutcome},
		"rebuilding": {code: gate.Rebuilding, want: gate.ErrPaused, repair: true},
		"off shelf":  {code: gate.OffShelf, want: voucher.ErrOffShelf},
		"paused":     {code: gate.Paused, want: gate.ErrPaused},
		"early":      {code: gate.NotStarted, want: gate.ErrNotStarted},
		"late":       {code: gate.Ended, want: gate.ErrEnded},
		"sold out":   {code: gate.SoldOut, want: gate.ErrSoldOut},
		"backlog":    {code: gate.Backlogged, want: order.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
			p.gate.outcome = gate.Result{Outcome: tc.code}
			o, err := p.buy(t.Context(), 1, ordertest.VoucherA, order.OneUnit, 0)
			if !errors.Is(err, tc.want) {
				t.Fatalf("error = %v, want %v", err, tc.want)
			}
			if tc.want == nil && (o.ID != 100 || o.Status != order.Queued) {
				t.Errorf("order = %+v", o)
			}
			if mended := len(p.stores.Repairs) > 0; mended != tc.repair {
				t.Errorf("mended = %v, want %v", mended, tc.repair)
			}
		})
	}
}

// A request for more units than the sale allows is refused before any store is asked. For a hidden sale the refusal
// does not say that the sale exists.
func TestBuySeveralUnits(t *testing.T) {
	t.Parallel()
	several := ordertest.VoucherAt(9, 0)
	several.PerUser = 3
	hidden := several
	hidden.VisibleFrom = time.Now().Add(time.Hour)
	for name, tc := range map[string]struct {
		voucher voucher.Voucher
		units   int64
		want    string
	}{
		"as many as allowed": {several, 3, ""},
		"one more":           {several, 4, "quantity is 4 (allowed: a whole number from 1 to 3)"},
		"two, not one":       {ordertest.VoucherAt(9, 0), 2, "quantity is 2 (allowed: a whole number from 1 to 1)"},
		"too many, hidden":   {hidden, 4, voucher.ErrNotFound.Error()},
	} {
		p := newPurchases(t, PurchaseOptions{}, tc.voucher)
		p.gate.outcome = gate.Result{Outcome: gate.Accepted}
		o, err := p.buy(t.Context(), 1, ordertest.VoucherA, order.QuantityOf(tc.units), 0)
		if got := fmt.Sprint(err); tc.want != "" && got != tc.want ||
			tc.want == "" && (err != nil || o.Quantity.Units() != tc.units) {
			t.Errorf("%s: %+v, %v; want %q", name, o, err, tc.want)
		}
	}
	p := newPurchases(t, PurchaseOptions{}, several)
	p.gate.outcome = gate.Result{Outcome: gate.NotEnough, Left: 2}
	_, err := p.buy(t.Context(), 1, ordertest.VoucherA, order.QuantityOf(3), 0)
	if lacking, is := errors.AsType[*gate.NotEnoughError](err); !is || lacking.Left != 2 {
		t.Errorf("with two left: %v", err)
	}
}

// Before its time a hidden sale is refused like one that does not exist, but a user who has an order of it is told of
// the order.
func TestBuyOfAHiddenSale(t *testing.T) {
	t.Parallel()
	hidden := ordertest.VoucherAt(1, 0)
	hidden.VisibleFrom = time.Now().Add(time.Hour)
	shown := []gate.Outcome{ // in a sale that has begun, for a user with an order, or perhaps with one
		gate.Accepted, gate.AlreadyBought, gate.SoldOut, gate.NotEnough, gate.Barred, gate.Doubtful, gate.Unreadable,
	}
	for _, code := range gate.Outcomes() {
		p := newPurchases(t, PurchaseOptions{}, hidden)
		p.gate.outcome = gate.Result{Outcome: code}
		_, err := p.buy(t.Context(), 1, ordertest.VoucherA, order.OneUnit, 0)
		if errors.Is(err, voucher.ErrNotFound) == slices.Contains(shown, code) {
			t.Errorf("%v: error = %v", code, err)
		}
	}
	for _, calledOff := range []time.Time{{}, time.Now()} {
		over, sale := hidden, *hidden.Sale
		sale.Retired, sale.CalledOff, over.Sale = true, calledOff, &sale
		p := newPurchases(t, PurchaseOptions{}, over)
		if _, err := p.buy(t.Context(), 1, ordertest.VoucherA, order.OneUnit, 0); !errors.Is(err, voucher.ErrNotFound) {
			t.Errorf("retired, called off at %v: error = %v", calledOff, err)
		}
	}
	later := hidden
	later.VisibleFrom = time.Now().Add(2 * time.Hour)
	for name, tc := range map[string]struct {
		voucher voucher.Voucher
		err     error
		want    error
	}{
		"Redis is away":                             {hidden, order.ErrUnavailable, voucher.ErrNotFound},
		"Redis does not answer":                     {hidden, ordertest.ErrAway, order.ErrUnknownOutcome},
		"Redis does not answer, visible much later": {later, ordertest.ErrAway, voucher.ErrNotFound},
	} {
		p := newPurchases(t, PurchaseOptions{}, tc.voucher)
		p.gate.err = tc.err
		if _, err := p.buy(t.Context(), 1, ordertest.VoucherA, order.OneUnit, 0); !errors.Is(err, tc.want) ||
			errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s: error = %v, want %v", name, err, tc.want)
		}
	}
}

func TestBuyWhatCannotBeBought(t *testing.T) {
	t.Parallel()
	p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0),
		voucher.Voucher{ID: ordertest.VoucherB, Kind: voucher.Ordinary, Status: voucher.OnShelf},
		voucher.Voucher{
			ID: 33, Kind: voucher.Ordinary, Status: voucher.OnShelf, VisibleFrom: time.Now().Add(time.Hour),
		})
	for id, want := range map[int64]error{
		ordertest.VoucherB: voucher.ErrNotSeckill, 33: voucher.ErrNotFound, 404: voucher.ErrNotFound,
	} {
		if _, err := p.buy(t.Context(), 1, id, order.OneUnit, 0); !errors.Is(err, want) {
			t.Errorf("voucher %d: error = %v, want %v", id, err, want)
		}
	}
	if p.gate.calls != 0 {
		t.Errorf("Redis was called %d times", p.gate.calls)
	}
}

// While the ledger is away, vouchers in the catalog still sell (rule 14).
func TestBuyWhileTheLedgerIsAway(t *testing.T) {
	t.Parallel()
	p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
	p.catalog.SetSales(p.sales.Kept)
	p.sales.Before["voucher"] = 1 << 30
	if _, err := p.buy(t.Context(), 1, ordertest.VoucherA, order.OneUnit, 0); err != nil {
		t.Errorf("a known voucher: %v", err)
	}
	if _, err := p.buy(t.Context(), 1, 404, order.OneUnit, 0); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("an unknown voucher: error = %v, want ErrUnavailable", err)
	}
}

func TestBuyTellsTheWinnerHisOrder(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		row  order.Order
		away bool
		want order.Status
	}{
		"recorded": {
			row: order.Order{ID: 55, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Paid}, want: order.Paid,
		},
		"queued":             {want: order.Queued},
		"the ledger is away": {away: true, want: order.StatusUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
				p.gate.outcome = gate.Result{Outcome: gate.AlreadyBought, OrderID: 55}
				p.rows.Away = tc.away
				if tc.row.ID != 0 {
					p.rows.Put(tc.row)
				}
				_, err := p.buy(t.Context(), 1, ordertest.VoucherA, order.OneUnit, 0)
				var bought *gate.AlreadyBoughtError
				if !errors.As(err, &bought) || bought.OrderID != 55 || bought.Status != tc.want {
					t.Fatalf("error = %v, want order 55, %s", err, tc.want)
				}
			})
		})
	}
}

// After a sale has left Redis, the ledger answers.
func TestBuyAfterRetirement(t *testing.T) {
	t.Parallel()
	off := ordertest.VoucherAt(1, 0)
	off.Sale.Retired, off.Sale.CalledOff = true, off.Sale.End
	_, err := newPurchases(t, PurchaseOptions{}, off).buy(t.Context(), 2, ordertest.VoucherA, order.OneUnit, 0)
	if !errors.Is(err, voucher.ErrCalledOff) {
		t.Errorf("of a sale that was called off: error = %v, want ErrCalledOff", err)
	}
	v := ordertest.VoucherAt(1, 0)
	v.Sale.Retired = true
	p := newPurchases(t, PurchaseOptions{}, v)
	p.rows.Put(order.Order{ID: 55, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Redeemed})
	var bought *gate.AlreadyBoughtError
	if _, err := p.buy(t.Context(), 1, ordertest.VoucherA, order.OneUnit, 0); !errors.As(err, &bought) ||
		bought.OrderID != 55 || bought.Status != order.Redeemed {
		t.Errorf("the winner: error = %v", err)
	}
	if _, err := p.buy(t.Context(), 2, ordertest.VoucherA, order.OneUnit, 0); !errors.Is(err, gate.ErrEnded) {
		t.Errorf("another user: error = %v, want ErrEnded", err)
	}
	p.rows.Away = true
	if _, err := p.buy(t.Context(), 2, ordertest.VoucherA, order.OneUnit, 0); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("with the ledger away: error = %v, want ErrUnavailable", err)
	}
}

// Long before the begin of a sale, Redis is not asked each time once it has answered that there is no holder.
func TestBuyTooEarlyIsAnsweredFromCache(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, tc := range map[string]struct {
		view  order.SaleView
		calls int
	}{
		"an hour early": {
			view: order.SaleView{Mode: order.SaleOpen, Begin: now.Add(time.Hour), Now: now}, calls: 1,
		},
		"within the margin": {
			view: order.SaleView{Mode: order.SaleOpen, Begin: now.Add(time.Second / 2), Now: now}, calls: 3,
		},
		"there is a holder": {
			view: order.SaleView{Mode: order.SaleOpen, Begin: now.Add(time.Hour), Now: now, Buyers: 1}, calls: 3,
		},
		"paused": {view: order.SaleView{Mode: order.SalePaused, Begin: now.Add(time.Hour), Now: now}, calls: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
			p.gate.outcome, p.gate.view = gate.Result{Outcome: gate.NotStarted}, tc.view
			for range 3 {
				if _, err := p.buy(t.Context(), 1, ordertest.VoucherA, order.OneUnit,
					0); !errors.Is(err, gate.ErrNotStarted) {
					t.Fatalf("error = %v", err)
				}
			}
			if p.gate.calls != tc.calls {
				t.Errorf("Redis was called %d times, want %d", p.gate.calls, tc.calls)
			}
		})
	}
}

// With a Redis that keeps nothing, no answer names an order before it has its row.
func TestBuyWaitsForItsRow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dear := ordertest.VoucherAt(1, 0)
		dear.PayValue = 1000
		p := newPurchases(t, PurchaseOptions{WaitForRow: true}, dear)
		type result struct {
			o   order.Order
			err error
		}
		got := make(chan result, 1)
		go func() {
			o, err := p.buy(t.Context(), 1, ordertest.VoucherA, order.OneUnit, 0)
			got <- result{o, err}
		}()
		synctest.Wait()
		if ids := p.notifier.ids(p.notifier.unrecorded); len(ids) != 1 || len(got) != 0 {
			t.Fatalf("%d orders wait for their rows, %d were answered before", len(ids), len(got))
		}
		p.notifier.Notify(map[int64]order.Status{100: order.Unpaid})
		if r := <-got; r.err != nil || r.o.Status != order.Unpaid {
			t.Errorf("answer = %+v", r)
		}
		p.holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 3}] = 66
		if _, err := p.purchases.Order(t.Context(), 3, 66, 0); !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("looked up before it was recorded: error = %v, want ErrUnavailable", err)
		}
		if page, err := p.purchases.Orders(t.Context(), order.Filter{UserID: 3}, 0, 10); err != nil ||
			len(page.Orders) != 0 || page.Total != 0 {
			t.Errorf("listed before it was recorded: %+v, %v", page, err)
		}
		start := time.Now()
		if _, err := p.buy(t.Context(), 2, ordertest.VoucherA, order.OneUnit,
			0); !errors.Is(err, order.ErrUnknownOutcome) || time.Since(start) != recordTimeout {
			t.Errorf("not recorded after %v: error = %v, want ErrUnknownOutcome", time.Since(start), err)
		}
	})
}

// A buyer who was accepted is never told that nothing happened, even when the ledger goes away during the wait, nor
// that something free must be paid for.
func TestBuyReadsTheRow(t *testing.T) {
	t.Parallel()
	is := func(s order.Status, why reason.Failure) order.Order {
		return order.Order{ID: 100, UserID: 1, VoucherID: ordertest.VoucherA, Status: s, Reason: why}
	}
	failed, paid := is(order.Failed, reason.NoStock), is(order.Paid, "")
	for name, tc := range map[string]struct {
		told order.Status
		row  order.Order
		away bool
		want order.Order
	}{
		"it failed, and the row says why": {told: order.Failed, row: failed, want: failed},
		"it failed, and the ledger is away": {
			told: order.Failed, row: failed, away: true, want: is(order.Failed, ""),
		},
		"it is free, and paid": {told: order.Unpaid, row: paid, want: paid},
		"it is free, and the ledger is away": {
			told: order.Unpaid, row: paid, away: true, want: is(order.Queued, ""),
		},
		"it is free, and an older recorder wrote it": {
			told: order.Unpaid, row: is(order.Unpaid, ""), want: is(order.Unpaid, ""),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			free := ordertest.VoucherAt(1, 0)
			free.PayValue = 0
			p := newPurchases(t, PurchaseOptions{}, free)
			go func() {
				ordertest.WaitUntil(t, func() bool { return len(p.notifier.ids(p.notifier.unrecorded)) == 1 })
				p.rows.Mu.Lock()
				p.rows.Away = tc.away
				p.rows.Rows[100] = tc.row
				p.rows.Mu.Unlock()
				p.notifier.Notify(map[int64]order.Status{100: tc.told})
			}()
			got, err := p.buy(t.Context(), 1, ordertest.VoucherA, order.OneUnit, time.Hour)
			if err != nil || got != tc.want {
				t.Errorf("order = %+v, %v; want %+v", got, err, tc.want)
			}
		})
	}
}

func TestOrderIsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
	p.rows.Put(order.Order{ID: 55, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Unpaid})
	p.holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 2}] = 66
	for _, tc := range []struct {
		user, id int64
		want     error
		status   order.Status
	}{
		{user: 1, id: 55, status: order.Unpaid},
		{user: 2, id: 66, status: order.Queued},
		{user: 2, id: 55, want: order.ErrNotFound},
		{user: 1, id: 66, want: order.ErrNotFound},
		{user: 1, id: 77, want: order.ErrNotFound},
	} {
		o, err := p.purchases.Order(t.Context(), tc.user, tc.id, 0)
		if !errors.Is(err, tc.want) || tc.want == nil && o.Status != tc.status {
			t.Errorf("order %d for user %d: %+v, %v", tc.id, tc.user, o, err)
		}
	}
}

// A caller who waits for an order that another instance records is notified too.
func TestOrderWaitsForAnotherInstance(t *testing.T) {
	t.Parallel()
	p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
	p.holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 2}] = 66
	ctx, stop := context.WithCancel(t.Context())
	polling := make(chan error)
	go func() { polling <- p.notifier.Run(ctx) }()
	go func() {
		ordertest.WaitUntil(t, func() bool { return len(p.notifier.ids(p.notifier.unrecorded)) == 1 })
		p.rows.Put(order.Order{ID: 66, UserID: 2, VoucherID: ordertest.VoucherA, Status: order.Unpaid})
	}()
	o, err := p.purchases.Order(t.Context(), 2, 66, 10*time.Second)
	if err != nil || o.Status != order.Unpaid {
		t.Errorf("order = %+v, %v", o, err)
	}
	if left := p.notifier.ids(p.notifier.unrecorded); len(left) != 0 {
		t.Errorf("still waiting: %v", left)
	}
	stop()
	if err := <-polling; err != nil {
		t.Error(err)
	}
}

// When the process stops, a waiting caller gets the last known state: the order is queued.
func TestStoppingEndsTheWaiting(t *testing.T) {
	t.Parallel()
	p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
	p.holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 2}] = 66
	go func() {
		ordertest.WaitUntil(t, func() bool { return len(p.notifier.ids(p.notifier.unrecorded)) == 1 })
		p.notifier.Close()
	}()
	if o, err := p.purchases.Order(t.Context(), 2, 66, time.Hour); err != nil || o.Status != order.Queued {
		t.Errorf("order = %+v, %v", o, err)
	}
	if o, err := p.buy(t.Context(), 1, ordertest.VoucherA, order.OneUnit, time.Hour); err != nil ||
		o.Status != order.Queued {
		t.Errorf("bought %+v, %v", o, err)
	}
}

func TestOrdersHoldQueuedOnesOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // on a clock of its own: else a busy machine looks like a hung store
		p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
		p.rows.Put(order.Order{ID: 55, UserID: 1, VoucherID: ordertest.VoucherB, Status: order.Paid})
		p.rows.Put(order.Order{ID: 54, UserID: 1, VoucherID: ordertest.VoucherB, Status: order.Cancelled})
		p.holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 1}] = 66
		ids := func(orders []order.Order) (ids []int64) {
			for _, o := range orders {
				ids = append(ids, o.ID)
			}
			return ids
		}
		page, err := p.purchases.Orders(t.Context(), order.Filter{UserID: 1}, 100, 2)
		orders, total := page.Orders, page.Total
		if err != nil || total != 3 || len(orders) != 2 || orders[0].ID != 66 ||
			orders[0].Status != order.Queued || orders[1].ID != 55 {
			t.Errorf("first page %v of %d, %v", ids(orders), total, err)
		}
		p.rows.Put(order.Order{ID: 66, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Unpaid})
		page, err = p.purchases.Orders(t.Context(), order.Filter{UserID: 1}, 100, 5)
		orders, total = page.Orders, page.Total
		if err != nil || total != 3 || len(orders) != 3 || orders[0].Status != order.Unpaid {
			t.Errorf("after the order was recorded: %v of %d, %v", ids(orders), total, err)
		}
	})
}

// Queued orders are listed if they pass the filter, and alone if the filter asks for them alone.
func TestOrdersPassTheFilter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // on a clock of its own: else a busy machine looks like a hung store
		p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
		p.rows.Put(order.Order{ID: 55, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Cancelled})
		p.rows.Put(order.Order{ID: 54, UserID: 1, VoucherID: ordertest.VoucherB, Status: order.Paid})
		p.rows.Put(order.Order{ID: 53, UserID: 2, VoucherID: ordertest.VoucherB, Status: order.Paid})
		p.holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 1}] = 66
		for name, tc := range map[string]struct {
			f    order.Filter
			want []int64
		}{
			"all":             {order.Filter{UserID: 1}, []int64{66, 55, 54}},
			"of one voucher":  {order.Filter{UserID: 1, VoucherID: ordertest.VoucherA}, []int64{66, 55}},
			"of another":      {order.Filter{UserID: 1, VoucherID: ordertest.VoucherB}, []int64{54}},
			"in one state":    {order.Filter{UserID: 1, Status: order.Paid}, []int64{54}},
			"those that wait": {order.Filter{UserID: 1, Waiting: true}, []int64{66}},
			"of another user": {order.Filter{UserID: 3}, nil},
		} {
			page, err := p.purchases.Orders(t.Context(), tc.f, 100, 10)
			var got []int64
			for _, o := range page.Orders {
				got = append(got, o.ID)
			}
			if !slices.Equal(got, tc.want) || page.Total != int64(len(tc.want)) || page.Stale || err != nil {
				t.Errorf("%s: %v of %+v, %v; want %v", name, got, page, err, tc.want)
			}
		}
	})
}

// silentRows answer nothing: each call lasts until its caller gives up.
type silentRows struct{ ordertest.FakeOrders }

func (*silentRows) OrdersByID(ctx context.Context, _ []int64) (map[int64]order.Order, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (*silentRows) OrdersOf(ctx context.Context, _ order.Filter, _ int64, _ int) ([]order.Order, int64, error) {
	<-ctx.Done()
	return nil, 0, ctx.Err()
}

func (*silentRows) SalesAbove(ctx context.Context, _ int64) ([]int64, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// While the ledger hangs, certain answers come soon: a winner's order, and a list with that order. An unknown order is
// ErrUnavailable, never ErrNotFound.
func TestTheLedgerHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
		rows := &silentRows{}
		p.purchases.lookup.reader, p.purchases.recorded = newReader(rows), newOwnReads(rows)
		p.purchases.lookup.stores.NewSales = rows.SalesAbove
		p.catalog.SetSales(p.sales.Kept)
		p.gate.outcome = gate.Result{Outcome: gate.AlreadyBought, OrderID: 66}
		p.holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 1}] = 66
		within := func(what string, limit time.Duration, ask func()) {
			start := time.Now()
			ask()
			if took := time.Since(start); took > limit {
				t.Errorf("%s took %v, want at most %v", what, took, limit)
			}
		}
		var callers sync.WaitGroup
		for range 1000 {
			callers.Go(func() {
				within("a repeat", sideTimeout, func() {
					_, err := p.buy(t.Context(), 1, ordertest.VoucherA, order.OneUnit, 0)
					if bought, is := errors.AsType[*gate.AlreadyBoughtError](err); !is || bought.OrderID != 66 ||
						bought.Status != order.StatusUnknown {
						t.Errorf("a repeat: %v", err)
					}
				})
				within("a list", sideTimeout, func() {
					page, err := p.purchases.Orders(t.Context(), order.Filter{UserID: 1}, 0, 10)
					if err != nil || !page.Stale || len(page.Orders) != 1 || page.Orders[0].ID != 66 ||
						page.Orders[0].Status != order.StatusUnknown {
						t.Errorf("a list: %+v, %v", page, err)
					}
				})
				within("an order", lookupTimeout, func() {
					if _, err := p.purchases.Order(t.Context(), 1, 66, 0); !errors.Is(err, order.ErrUnavailable) {
						t.Errorf("an order: %v", err)
					}
				})
				within("nobody's list", sideTimeout, func() {
					if page, err := p.purchases.Orders(t.Context(), order.Filter{UserID: 9}, 0,
						10); !errors.Is(err, order.ErrUnavailable) {
						t.Errorf("nobody's list: %+v, %v", page, err)
					}
				})
			})
		}
		callers.Wait()
		time.Sleep(10 * pollTimeout) // for the queries that were given up
	})
}

// doubtful are the holders in a Redis that lacks some data.
type doubtful struct {
	ordertest.FakeHolders
	held order.Holding
	err  error
}

func (d *doubtful) Holdings(_ context.Context, _ int64, sales []order.SaleRef) ([]order.Holding, error) {
	return slices.Repeat([]order.Holding{d.held}, len(sales)), d.err
}

// An order is ErrNotFound only if every store in which it may be can be trusted.
func TestNeverNotFoundInDoubt(t *testing.T) {
	t.Parallel()
	sale := ordertest.VoucherAt(3, 7)
	for name, tc := range map[string]struct {
		held     order.Holding
		err      error
		newSales bool // the ledger does not say which are new
		want     error
		listed   bool
	}{
		"whole": {
			held: order.Holding{Whole: true, Mark: order.Mark{Epoch: 3, Sequence: 7}}, want: order.ErrNotFound,
		},
		"missing or being rebuilt": {held: order.Holding{}, want: order.ErrUnavailable},
		"of an older epoch": {
			held: order.Holding{Whole: true, Mark: order.Mark{Epoch: 2, Sequence: 9}}, want: order.ErrUnavailable,
		},
		"without its tail": {
			held: order.Holding{Whole: true, Mark: order.Mark{Epoch: 3, Sequence: 6}}, want: order.ErrUnavailable,
		},
		"Redis is away": {err: errors.New("away"), want: order.ErrUnavailable},
		"new sales are not known": {
			held: order.Holding{Whole: true, Mark: order.Mark{Epoch: 3, Sequence: 7}}, newSales: true,
			want: order.ErrUnavailable,
		},
		"being rebuilt, but held here": {held: order.Holding{OrderID: 66}, listed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPurchases(t, PurchaseOptions{}, sale)
				p.catalog.SetSales([]voucher.Voucher{sale})
				p.purchases.lookup.stores.Holdings = &doubtful{held: tc.held, err: tc.err}
				if tc.newSales {
					p.sales.Before["sales"] = 1 << 30
				}
				o, err := p.purchases.Order(t.Context(), 1, 66, 0)
				if !errors.Is(err, tc.want) || tc.listed != (o.ID == 66 && o.Status == order.Queued) {
					t.Errorf("order %+v, %v; want %v", o, err, tc.want)
				}
				page, err := p.purchases.Orders(t.Context(), order.Filter{UserID: 1}, 0, 10)
				if doubt := !errors.Is(tc.want, order.ErrNotFound); page.Stale != doubt || err != nil ||
					tc.listed != (len(page.Orders) == 1) {
					t.Errorf("list %+v, %v", page, err)
				}
			})
		})
	}
}

// Once an order has another user's row, it is ErrNotFound for certain, however little the other stores can be trusted.
func TestAnotherUsersRowIsNoDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(3, 7))
		p.catalog.SetSales([]voucher.Voucher{ordertest.VoucherAt(3, 7)})
		p.purchases.lookup.stores.Holdings = &doubtful{}
		p.rows.Put(order.Order{ID: 66, UserID: 2, VoucherID: ordertest.VoucherA, Status: order.Unpaid})
		if o, err := p.purchases.Order(t.Context(), 1, 66, 0); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("order %+v, %v; want ErrNotFound", o, err)
		}
	})
}

// An order that gets its row while a list is made appears once in it.
func TestAnOrderIsRecordedWhileItIsListed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // on a clock of its own: else a busy machine looks like a hung store
		p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
		late := &lateRow{FakeOrders: p.rows, row: order.Order{
			ID: 66, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Unpaid,
		}}
		p.purchases.lookup.reader, p.purchases.recorded = newReader(late), newOwnReads(late)
		p.holders[order.BuyerKey{VoucherID: ordertest.VoucherA, UserID: 1}] = 66
		page, err := p.purchases.Orders(t.Context(), order.Filter{UserID: 1}, 0, 10)
		if err != nil || len(page.Orders) != 1 || page.Total != 1 || page.Orders[0].Status != order.Unpaid {
			t.Errorf("%+v, %v", page, err)
		}
	})
}

// lateRow is written after the user's rows were read.
type lateRow struct {
	*ordertest.FakeOrders
	row order.Order
}

func (r *lateRow) OrdersByID(ctx context.Context, ids []int64) (map[int64]order.Order, error) {
	r.Put(r.row)
	return r.FakeOrders.OrdersByID(ctx, ids)
}

// countedHoldings count the sales that were read. No entry waits in the stream.
type countedHoldings struct {
	ordertest.FakeHolders
	sales int
}

func (h *countedHoldings) Holdings(ctx context.Context, userID int64, sales []order.SaleRef) ([]order.Holding, error) {
	h.sales += len(sales)
	return h.FakeHolders.Holdings(ctx, userID, sales)
}

func (*countedHoldings) Unrecorded(context.Context, int) (order.Unrecorded, error) {
	return order.Unrecorded{Now: time.Now(), Since: time.Now()}, nil
}

// Reading a buyer's orders costs no more with 3,000 sales that are over or have not begun.
func TestQuestionsDoNotGrowWithSales(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // on a clock of its own: else a busy machine looks like a hung store
		var sales []voucher.Voucher
		for id := range int64(3000) {
			v := ordertest.VoucherAt(1, 0)
			begin := time.Now().Add(-10 * time.Hour)
			if id%2 == 0 {
				begin = time.Now().Add(time.Hour)
			}
			v.ID, v.Sale = 1000+id, &voucher.Sale{Epoch: 1, Begin: begin, End: begin.Add(time.Hour)}
			sales = append(sales, v)
		}
		running := ordertest.VoucherAt(1, 0)
		running.Sale.Begin, running.Sale.End = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		p := newPurchases(t, PurchaseOptions{}, append(sales, running)...)
		p.catalog.SetSales(p.sales.Kept)
		counted := &countedHoldings{FakeHolders: ordertest.FakeHolders{{VoucherID: running.ID, UserID: 1}: 66}}
		p.purchases.lookup.stores.Holdings = counted
		if page, err := p.purchases.Orders(t.Context(), order.Filter{UserID: 1}, 0, 10); err != nil ||
			len(page.Orders) != 1 || page.Stale {
			t.Errorf("%+v, %v", page, err)
		}
		if _, err := p.purchases.Order(t.Context(), 1, 7, 0); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("an unknown order: %v", err)
		}
		if counted.sales != 2 {
			t.Errorf("two calls read %d sales, want one each", counted.sales)
		}
	})
}

// A user whom a sale's guards stop can still learn from Redis of their order and its status (rule 2).
func TestOwnOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcome gate.Result
		want    error
	}{
		"an order":      {gate.Result{Outcome: gate.AlreadyBought, OrderID: 5}, nil},
		"none":          {gate.Result{Outcome: gate.Barred}, gate.ErrBarred},
		"being rebuilt": {gate.Result{Outcome: gate.NoSale}, gate.ErrPaused},
		"no answer":     {gate.Result{Outcome: gate.Unreadable}, order.ErrUnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurchases(t, PurchaseOptions{}, ordertest.VoucherAt(1, 0))
			p.gate.outcome = c.outcome
			p.rows.Rows[5] = order.Order{ID: 5, UserID: 1, VoucherID: ordertest.VoucherA, Status: order.Paid}
			err := p.purchases.OwnOrder(t.Context(), 1, ordertest.VoucherA)
			if bought, is := errors.AsType[*gate.AlreadyBoughtError](err); c.want == nil &&
				(!is || bought.OrderID != 5 || bought.Status != order.Paid) ||
				!errors.Is(err, c.want) && c.want != nil {
				t.Errorf("%v, want %v", err, c.want)
			}
			if p.gate.calls != 1 {
				t.Errorf("Redis was called %d times", p.gate.calls)
			}
		})
	}
}
