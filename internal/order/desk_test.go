package order

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"seckill/internal/voucher"
)

// fakeGate answers the admission script, one outcome for all.
type fakeGate struct {
	mu      sync.Mutex
	outcome Outcome
	view    SaleView
	calls   int
}

func (g *fakeGate) Admit(_ context.Context, b Batch) (Verdict, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls++
	v := Verdict{View: g.view}
	for range b.Applicants {
		v.Outcomes = append(v.Outcomes, g.outcome)
	}
	return v, nil
}

// fakeRows is the ledger's read side.
type fakeRows struct {
	mu   sync.Mutex
	rows map[int64]Order
	away bool
}

func (f *fakeRows) OrdersByID(_ context.Context, ids []int64) (map[int64]Order, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return nil, errAway
	}
	got := map[int64]Order{}
	for _, id := range ids {
		if o, has := f.rows[id]; has {
			got[id] = o
		}
	}
	return got, nil
}

func (f *fakeRows) OrdersOf(_ context.Context, filter Filter, before int64, limit int) (orders []Order, total int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := before - 1; id > 0 && id > before-100; id-- {
		if o, has := f.rows[id]; has && filter.Passes(o) {
			if total++; len(orders) < limit {
				orders = append(orders, o)
			}
		}
	}
	return orders, total, nil
}

func (f *fakeRows) LiveOrder(_ context.Context, key BuyerKey) (Order, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return Order{}, errAway
	}
	for _, o := range f.rows {
		if o.Status.Live() && o.UserID == key.UserID && o.VoucherID == key.VoucherID {
			return o, nil
		}
	}
	return Order{}, ErrNotFound
}

func (f *fakeRows) Recorded(_ context.Context, ids []int64) (map[int64]Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return nil, errAway
	}
	got := map[int64]Status{}
	for _, id := range ids {
		if o, has := f.rows[id]; has {
			got[id] = o.Status
		}
	}
	return got, nil
}

func (f *fakeRows) put(o Order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows[o.ID] = o
}

// fakeHeld is the places in Redis.
type fakeHeld map[BuyerKey]int64

func (f fakeHeld) HeldBy(_ context.Context, userID int64, sales []SaleRef) ([]int64, error) {
	ids := make([]int64, len(sales))
	for i, s := range sales {
		ids[i] = f[BuyerKey{s.VoucherID, userID}]
	}
	return ids, nil
}

type deskParts struct {
	desk  *Desk
	gate  *fakeGate
	rows  *fakeRows
	held  fakeHeld
	sales *fakeSales
	room  *Waitroom
	asked *fakeStores // as the mender
}

func newDesk(t *testing.T, options DeskOptions, vs ...voucher.Voucher) *deskParts {
	t.Helper()
	p := &deskParts{
		gate: &fakeGate{}, rows: &fakeRows{rows: map[int64]Order{}}, held: fakeHeld{},
		sales: &fakeSales{kept: vs, faults: faults{before: map[string]int{}, after: map[string]int{}}}, asked: newFakeStores(0),
	}
	p.room = NewWaitroom(p.rows, quiet())
	catalog := NewCatalog(p.sales)
	t.Cleanup(catalog.Close)
	admission := NewAdmission(AdmissionStores{Gate: p.gate, Winners: p.sales, Rows: p.rows}, catalog, NewDiary(), p.asked, deaf{}, 100, quiet())
	t.Cleanup(admission.Close)
	p.desk = NewDesk(admission, NewLookup(p.rows, p.held, p.sales, catalog), p.rows, &fakeIDs{last: 99}, p.room, options)
	return p
}

func TestBuyAnswersEachOutcome(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code OutcomeCode
		want error
		mend bool
	}{
		"accepted":   {code: Accepted},
		"no sale":    {code: NoSale, want: ErrPaused, mend: true},
		"lost tail":  {code: LostTail, want: ErrPaused, mend: true},
		"unreadable": {code: Unreadable, want: ErrUnknownOutcome},
		"doubtful":   {code: Doubtful, want: ErrUnknownOutcome},
		"rebuilding": {code: Rebuilding, want: ErrPaused, mend: true},
		"off shelf":  {code: NotOnShelf, want: voucher.ErrOffShelf},
		"paused":     {code: Paused, want: ErrPaused},
		"early":      {code: NotStarted, want: ErrNotStarted},
		"late":       {code: Ended, want: ErrEnded},
		"sold out":   {code: SoldOut, want: ErrSoldOut},
		"backlog":    {code: Backlogged, want: ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newDesk(t, DeskOptions{}, at(1, 0))
			p.gate.outcome = Outcome{Code: tc.code}
			o, err := p.desk.Buy(t.Context(), 1, voucherA, 0)
			if !errors.Is(err, tc.want) {
				t.Fatalf("error = %v, want %v", err, tc.want)
			}
			if tc.want == nil && (o.ID != 100 || o.Status != Queued) {
				t.Errorf("order = %+v", o)
			}
			if mended := len(p.asked.mended) > 0; mended != tc.mend {
				t.Errorf("mended = %v, want %v", mended, tc.mend)
			}
		})
	}
}

func TestBuyWhatCannotBeBought(t *testing.T) {
	t.Parallel()
	ordinary := voucher.Voucher{ID: voucherB, Kind: voucher.Ordinary, Status: voucher.OnShelf, Sale: nil}
	p := newDesk(t, DeskOptions{}, at(1, 0))
	catalog := p.desk.admission.catalog
	catalog.cache.Set(voucherB, found{voucher: ordinary})
	for id, want := range map[int64]error{voucherB: voucher.ErrNotSeckill, 404: voucher.ErrNotFound} {
		if _, err := p.desk.Buy(t.Context(), 1, id, 0); !errors.Is(err, want) {
			t.Errorf("voucher %d: error = %v, want %v", id, err, want)
		}
	}
	if p.gate.calls != 0 {
		t.Errorf("Redis was asked %d times", p.gate.calls)
	}
}

// With the ledger away, what the catalog remembers still sells (rule 14).
func TestBuyWhileTheLedgerIsAway(t *testing.T) {
	t.Parallel()
	p := newDesk(t, DeskOptions{}, at(1, 0))
	p.desk.admission.catalog.keep(p.sales.kept)
	p.sales.before["voucher"] = 1 << 30
	if _, err := p.desk.Buy(t.Context(), 1, voucherA, 0); err != nil {
		t.Errorf("a known voucher: %v", err)
	}
	if _, err := p.desk.Buy(t.Context(), 1, 404, 0); !errors.Is(err, ErrUnavailable) {
		t.Errorf("an unknown voucher: error = %v, want ErrUnavailable", err)
	}
}

func TestBuyTellsTheWinnerHisOrder(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		row  Order
		away bool
		want Status
	}{
		"recorded":           {row: Order{ID: 55, UserID: 1, VoucherID: voucherA, Status: Paid}, want: Paid},
		"queued":             {want: Queued},
		"the ledger is away": {away: true, want: StatusUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newDesk(t, DeskOptions{}, at(1, 0))
			p.gate.outcome = Outcome{Code: AlreadyBought, OrderID: 55}
			p.rows.away = tc.away
			if tc.row.ID != 0 {
				p.rows.put(tc.row)
			}
			_, err := p.desk.Buy(t.Context(), 1, voucherA, 0)
			var bought *AlreadyBoughtError
			if !errors.As(err, &bought) || bought.OrderID != 55 || bought.Status != tc.want {
				t.Fatalf("error = %v, want order 55, %s", err, tc.want)
			}
		})
	}
}

// After a sale has left Redis, the ledger answers.
func TestBuyAfterRetirement(t *testing.T) {
	t.Parallel()
	v := at(1, 0)
	v.Sale.Retired = true
	p := newDesk(t, DeskOptions{}, v)
	p.rows.put(Order{ID: 55, UserID: 1, VoucherID: voucherA, Status: Redeemed})
	var bought *AlreadyBoughtError
	if _, err := p.desk.Buy(t.Context(), 1, voucherA, 0); !errors.As(err, &bought) || bought.OrderID != 55 || bought.Status != Redeemed {
		t.Errorf("the winner: error = %v", err)
	}
	if _, err := p.desk.Buy(t.Context(), 2, voucherA, 0); !errors.Is(err, ErrEnded) {
		t.Errorf("anybody else: error = %v, want ErrEnded", err)
	}
	p.rows.away = true
	if _, err := p.desk.Buy(t.Context(), 2, voucherA, 0); !errors.Is(err, ErrUnavailable) {
		t.Errorf("with the ledger away: error = %v, want ErrUnavailable", err)
	}
}

// Long before the begin Redis need not be asked each time, once it said that nobody has a place.
func TestBuyTooEarlyIsAnsweredFromMemory(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, tc := range map[string]struct {
		view  SaleView
		calls int
	}{
		"an hour early":        {view: SaleView{Mode: SaleOpen, Begin: now.Add(time.Hour), Now: now}, calls: 1},
		"within the margin":    {view: SaleView{Mode: SaleOpen, Begin: now.Add(clockMargin / 2), Now: now}, calls: 3},
		"somebody has a place": {view: SaleView{Mode: SaleOpen, Begin: now.Add(time.Hour), Now: now, Buyers: 1}, calls: 3},
		"paused":               {view: SaleView{Mode: SalePaused, Begin: now.Add(time.Hour), Now: now}, calls: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newDesk(t, DeskOptions{}, at(1, 0))
			p.gate.outcome, p.gate.view = Outcome{Code: NotStarted}, tc.view
			for range 3 {
				if _, err := p.desk.Buy(t.Context(), 1, voucherA, 0); !errors.Is(err, ErrNotStarted) {
					t.Fatalf("error = %v", err)
				}
			}
			if p.gate.calls != tc.calls {
				t.Errorf("Redis was asked %d times, want %d", p.gate.calls, tc.calls)
			}
		})
	}
}

// Where Redis keeps nothing, no answer names an order before its row is there.
func TestBuyWaitsForItsRow(t *testing.T) {
	t.Parallel()
	p := newDesk(t, DeskOptions{WaitForRow: true}, at(1, 0))
	type result struct {
		o   Order
		err error
	}
	got := make(chan result, 1)
	go func() {
		o, err := p.desk.Buy(t.Context(), 1, voucherA, 0)
		got <- result{o, err}
	}()
	waitUntil(t, func() bool { return len(p.room.ids(p.room.queue)) == 1 })
	select {
	case r := <-got:
		t.Fatalf("answered %+v before the row was there", r)
	case <-time.After(20 * time.Millisecond):
	}
	p.room.Told(map[int64]Status{100: Unpaid})
	if r := <-got; r.err != nil || r.o.Status != Unpaid {
		t.Errorf("answer = %+v", r)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	p.held[BuyerKey{voucherA, 3}] = 66
	if _, err := p.desk.Order(short, 3, 66, 0); !errors.Is(err, ErrUnavailable) {
		t.Errorf("looked up before it was recorded: error = %v, want ErrUnavailable", err)
	}
	if orders, total, err := p.desk.Orders(t.Context(), Filter{UserID: 3}, 0, 10); err != nil || len(orders) != 0 || total != 0 {
		t.Errorf("listed before it was recorded: %v of %d, %v", orders, total, err)
	}
	if _, err := p.desk.Buy(short, 2, voucherA, 0); !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("not recorded in time: error = %v, want ErrUnknownOutcome", err)
	}
}

// A buyer who was accepted is never told that nothing happened, also when the ledger goes away while he waits.
func TestBuyWaitsForAnOrderThatFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		away bool
		want Order
	}{
		"the row says why":   {want: Order{ID: 100, UserID: 1, VoucherID: voucherA, Status: Failed, Reason: NoStock}},
		"the ledger is away": {away: true, want: Order{ID: 100, UserID: 1, VoucherID: voucherA, Status: Failed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newDesk(t, DeskOptions{}, at(1, 0))
			go func() {
				waitUntil(t, func() bool { return len(p.room.ids(p.room.queue)) == 1 })
				p.rows.mu.Lock()
				p.rows.away = tc.away
				p.rows.rows[100] = Order{ID: 100, UserID: 1, VoucherID: voucherA, Status: Failed, Reason: NoStock}
				p.rows.mu.Unlock()
				p.room.Told(map[int64]Status{100: Failed})
			}()
			got, err := p.desk.Buy(t.Context(), 1, voucherA, time.Hour)
			if err != nil || got != tc.want {
				t.Errorf("order = %+v, %v; want %+v", got, err, tc.want)
			}
		})
	}
}

func TestOrderIsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	p := newDesk(t, DeskOptions{}, at(1, 0))
	p.rows.put(Order{ID: 55, UserID: 1, VoucherID: voucherA, Status: Unpaid})
	p.held[BuyerKey{voucherA, 2}] = 66
	for _, tc := range []struct {
		user, id int64
		want     error
		status   Status
	}{
		{user: 1, id: 55, status: Unpaid},
		{user: 2, id: 66, status: Queued},
		{user: 2, id: 55, want: ErrNotFound},
		{user: 1, id: 66, want: ErrNotFound},
		{user: 1, id: 77, want: ErrNotFound},
	} {
		o, err := p.desk.Order(t.Context(), tc.user, tc.id, 0)
		if !errors.Is(err, tc.want) || tc.want == nil && o.Status != tc.status {
			t.Errorf("order %d for user %d: %+v, %v", tc.id, tc.user, o, err)
		}
	}
}

// One who waits for an order that another instance records is told as well.
func TestOrderWaitsForAnotherInstance(t *testing.T) {
	t.Parallel()
	p := newDesk(t, DeskOptions{}, at(1, 0))
	p.held[BuyerKey{voucherA, 2}] = 66
	ctx, stop := context.WithCancel(t.Context())
	polling := make(chan error)
	go func() { polling <- p.room.Run(ctx) }()
	go func() {
		waitUntil(t, func() bool { return len(p.room.ids(p.room.queue)) == 1 })
		p.rows.put(Order{ID: 66, UserID: 2, VoucherID: voucherA, Status: Unpaid})
	}()
	o, err := p.desk.Order(t.Context(), 2, 66, 10*time.Second)
	if err != nil || o.Status != Unpaid {
		t.Errorf("order = %+v, %v", o, err)
	}
	if left := p.room.ids(p.room.queue); len(left) != 0 {
		t.Errorf("still waiting: %v", left)
	}
	stop()
	if err := <-polling; err != nil {
		t.Error(err)
	}
}

// When the process stops, who waits is answered with what is known: the order is queued.
func TestStoppingEndsTheWaiting(t *testing.T) {
	t.Parallel()
	p := newDesk(t, DeskOptions{}, at(1, 0))
	p.held[BuyerKey{voucherA, 2}] = 66
	go func() {
		waitUntil(t, func() bool { return len(p.room.ids(p.room.queue)) == 1 })
		p.room.Dismiss()
	}()
	if o, err := p.desk.Order(t.Context(), 2, 66, time.Hour); err != nil || o.Status != Queued {
		t.Errorf("order = %+v, %v", o, err)
	}
	if o, err := p.desk.Buy(t.Context(), 1, voucherA, time.Hour); err != nil || o.Status != Queued {
		t.Errorf("bought %+v, %v", o, err)
	}
}

func TestOrdersHoldQueuedOnesOnce(t *testing.T) {
	t.Parallel()
	p := newDesk(t, DeskOptions{}, at(1, 0))
	p.rows.put(Order{ID: 55, UserID: 1, VoucherID: voucherB, Status: Paid})
	p.rows.put(Order{ID: 54, UserID: 1, VoucherID: voucherB, Status: Cancelled})
	p.held[BuyerKey{voucherA, 1}] = 66
	ids := func(orders []Order) (ids []int64) {
		for _, o := range orders {
			ids = append(ids, o.ID)
		}
		return ids
	}
	orders, total, err := p.desk.Orders(t.Context(), Filter{UserID: 1}, 100, 2)
	if err != nil || total != 3 || len(orders) != 2 || orders[0].ID != 66 || orders[0].Status != Queued || orders[1].ID != 55 {
		t.Errorf("first page %v of %d, %v", ids(orders), total, err)
	}
	p.rows.put(Order{ID: 66, UserID: 1, VoucherID: voucherA, Status: Unpaid})
	orders, total, err = p.desk.Orders(t.Context(), Filter{UserID: 1}, 100, 5)
	if err != nil || total != 3 || len(orders) != 3 || orders[0].Status != Unpaid {
		t.Errorf("after it was recorded: %v of %d, %v", ids(orders), total, err)
	}
}

// Queued orders are listed where the filter lets them through, and alone where it asks for them.
func TestOrdersPassTheFilter(t *testing.T) {
	t.Parallel()
	p := newDesk(t, DeskOptions{}, at(1, 0))
	p.rows.put(Order{ID: 55, UserID: 1, VoucherID: voucherA, Status: Cancelled})
	p.rows.put(Order{ID: 54, UserID: 1, VoucherID: voucherB, Status: Paid})
	p.rows.put(Order{ID: 53, UserID: 2, VoucherID: voucherB, Status: Paid})
	p.held[BuyerKey{voucherA, 1}] = 66
	for name, tc := range map[string]struct {
		f    Filter
		want []int64
	}{
		"all his":           {Filter{UserID: 1}, []int64{66, 55, 54}},
		"of one voucher":    {Filter{UserID: 1, VoucherID: voucherA}, []int64{66, 55}},
		"of another":        {Filter{UserID: 1, VoucherID: voucherB}, []int64{54}},
		"in one state":      {Filter{UserID: 1, Status: Paid}, []int64{54}},
		"those that wait":   {Filter{UserID: 1, Waiting: true}, []int64{66}},
		"nobody else's are": {Filter{UserID: 3}, nil},
	} {
		orders, total, err := p.desk.Orders(t.Context(), tc.f, 100, 10)
		var got []int64
		for _, o := range orders {
			got = append(got, o.ID)
		}
		if !slices.Equal(got, tc.want) || total != int64(len(tc.want)) || err != nil {
			t.Errorf("%s: %v of %d, %v; want %v", name, got, total, err, tc.want)
		}
	}
}
