package voucher

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/invalid"
)

var errAway = errors.New("away")

// author makes the changes in these tests.
var author = Author{AdminID: 7, Request: "r-1"}

// fakeLedger stores vouchers in memory.
type fakeLedger struct {
	vouchers []Voucher
	by       Author // author of the last voucher
	fails    error
}

func (f *fakeLedger) CreateVoucher(_ context.Context, v *Voucher, by Author) error {
	if f.fails != nil {
		return f.fails
	}
	v.ID = int64(len(f.vouchers) + 1)
	f.vouchers, f.by = append(f.vouchers, *v), by
	return nil
}

func (f *fakeLedger) Voucher(_ context.Context, id int64) (Voucher, error) {
	if id < 1 || id > int64(len(f.vouchers)) {
		return Voucher{}, ErrNotFound
	}
	return f.vouchers[id-1], f.fails
}

func (f *fakeLedger) Vouchers(_ context.Context, q Search) ([]Voucher, int64, error) {
	var vs []Voucher
	for _, v := range slices.Backward(f.vouchers) {
		if v.ID < q.Before && (q.ShopID == 0 || v.ShopID == q.ShopID) && len(vs) < q.Limit {
			vs = append(vs, v)
		}
	}
	return vs, 0, f.fails
}

// fakeSales is Redis; it opens every sale unless it is away.
type fakeSales struct {
	live   map[int64]Live
	opened []int64
	// changed are the vouchers whose lists were notified.
	changed []int64
	away    bool
}

func (f *fakeSales) Live(_ context.Context, vs []Voucher) ([]Live, time.Time, error) {
	if f.away {
		return nil, time.Time{}, errAway
	}
	live := make([]Live, len(vs))
	for i, v := range vs {
		live[i] = Live{State: StatePreparing}
		if l, ok := f.live[v.ID]; ok {
			live[i] = l
		}
	}
	return live, now.Add(time.Minute), nil
}

func (f *fakeSales) Changed(_ context.Context, v Voucher) { f.changed = append(f.changed, v.ID) }

func (f *fakeSales) Open(_ context.Context, id int64) error {
	if f.away {
		return errAway
	}
	f.opened = append(f.opened, id)
	return nil
}

func newTestService(ledger *fakeLedger, sales *fakeSales) *Service {
	return NewService(Parts{
		Ledger: ledger, Live: sales.Live, Open: sales.Open, Changed: sales.Changed,
		Now: func() time.Time { return now },
	})
}

func TestCreateSeckillOpensTheSale(t *testing.T) {
	t.Parallel()
	ledger, sales := &fakeLedger{}, &fakeSales{live: map[int64]Live{1: {State: StateNotStarted, Stock: 5000}}}
	got, err := newTestService(ledger, sales).CreateSeckill(t.Context(), author, goodDraft(), goodSale())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{1}, sales.opened); diff != "" {
		t.Errorf("opened (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{1}, sales.changed); diff != "" {
		t.Errorf("lists that were notified (-want +got):\n%s", diff)
	}
	if ledger.by != author {
		t.Errorf("created by %+v", ledger.by)
	}
	if got.ID != 1 || got.Kind != Seckill || got.Sale.Issued != 5000 ||
		*got.Live != (Live{State: StateNotStarted, Stock: 5000}) {
		t.Errorf("created %+v, live %+v", got.Voucher, got.Live)
	}
}

// If the ledger has committed, the voucher is created although Redis is away.
func TestCreateSeckillWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	got, err := newTestService(&fakeLedger{}, &fakeSales{away: true}).CreateSeckill(t.Context(), author,
		goodDraft(), goodSale())
	if err != nil || *got.Live != (Live{State: StatePreparing, Stock: 5000, Stale: true}) {
		t.Errorf("created with live state %+v, %v; want preparing with the ledger's stock", got.Live, err)
	}
}

// PerUser limits the units that a user may have, of a sale and of an ordinary voucher.
func TestPerUser(t *testing.T) {
	t.Parallel()
	for given, want := range map[int64]struct{ ordinary, seckill int64 }{
		0: {0, -1}, 1: {1, 0}, 20: {20, 20}, 21: {-1, -1}, -1: {-1, -1},
	} {
		d := goodDraft()
		d.PerUser = given
		s := newTestService(&fakeLedger{}, &fakeSales{})
		perUser := func(v Shown, err error) int64 {
			if err == nil {
				return v.PerUser
			}
			if refused, is := errors.AsType[*invalid.Error](err); !is || refused.Problems[0].Field != "perUser" {
				t.Errorf("%d: %v", given, err)
			}
			return -1
		}
		if got := perUser(s.CreateOrdinary(t.Context(), author, d)); got != want.ordinary {
			t.Errorf("ordinary with %d: %d, want %d", given, got, want.ordinary)
		}
		if got := perUser(s.CreateSeckill(t.Context(), author, d, goodSale())); got != want.seckill {
			t.Errorf("seckill with %d: %d, want %d", given, got, want.seckill)
		}
	}
}

func TestCreateRefusesWithEveryProblem(t *testing.T) {
	t.Parallel()
	ledger, sales := &fakeLedger{}, &fakeSales{}
	s := newTestService(ledger, sales)
	_, errOrdinary := s.CreateOrdinary(t.Context(), author, Draft{})
	_, errSeckill := s.CreateSeckill(t.Context(), author, Draft{PerUser: 1}, SaleDraft{})
	for _, tc := range []struct {
		err  error
		want int
	}{{errOrdinary, 3}, {errSeckill, 6}} {
		var invalid *invalid.Error
		if !errors.As(tc.err, &invalid) || len(invalid.Problems) != tc.want {
			t.Errorf("error = %v, want %d problems", tc.err, tc.want)
		}
	}
	if len(ledger.vouchers)+len(sales.opened) != 0 {
		t.Errorf("stored %v, opened %v", ledger.vouchers, sales.opened)
	}
}

func TestCreateFailsWithTheLedger(t *testing.T) {
	t.Parallel()
	sales := &fakeSales{}
	s := newTestService(&fakeLedger{fails: errAway}, sales)
	if _, err := s.CreateSeckill(t.Context(), author, goodDraft(), goodSale()); !errors.Is(err, errAway) {
		t.Errorf("error = %v", err)
	}
	if _, err := s.CreateOrdinary(t.Context(), author, goodDraft()); !errors.Is(err, errAway) {
		t.Errorf("error = %v", err)
	}
	if len(sales.opened) != 0 {
		t.Errorf("opened %v although the ledger has no row", sales.opened)
	}
}

func TestVouchersShowWhatIsLive(t *testing.T) {
	t.Parallel()
	sale := func(retired bool) *Sale { return &Sale{Stock: 7, Issued: 9, Retired: retired} }
	vs := []Voucher{{ID: 1, Sale: sale(false)}, {ID: 2}, {ID: 3, Sale: sale(true)}, {ID: 4, Sale: sale(false)}}
	for name, tc := range map[string]struct {
		sales *fakeSales
		want  []*Live
		now   time.Time
	}{
		"Redis answers": {
			sales: &fakeSales{live: map[int64]Live{1: {State: StateOnSale, Stock: 3}}},
			want: []*Live{
				{State: StatePreparing, Stock: 7}, {State: StateEnded, Stock: 7}, nil, {State: StateOnSale, Stock: 3},
			},
			now: now.Add(time.Minute),
		},
		"Redis is away": {
			sales: &fakeSales{away: true},
			want: []*Live{
				{State: StatePreparing, Stock: 7, Stale: true}, {State: StateEnded, Stock: 7}, nil, {
					State: StatePreparing, Stock: 7, Stale: true,
				},
			},
			now: now,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := newTestService(&fakeLedger{vouchers: vs}, tc.sales).All(t.Context(),
				Search{Before: MaxID, Limit: 10})
			if err != nil || !found.Now.Equal(tc.now) {
				t.Fatalf("at %v, %v", found.Now, err)
			}
			var live []*Live
			for _, s := range found.Vouchers {
				live = append(live, s.Live)
			}
			if diff := cmp.Diff(tc.want, live); diff != "" {
				t.Errorf("live (-want +got):\n%s", diff)
			}
		})
	}
}

// All returns vouchers off the shelf too, in pages, with their live state.
func TestAll(t *testing.T) {
	t.Parallel()
	s := newTestService(&fakeLedger{vouchers: []Voucher{
		{ID: 1, ShopID: 1}, {ID: 2, ShopID: 2, Status: OffShelf, Sale: &Sale{}}, {ID: 3, ShopID: 1},
	}},
		&fakeSales{live: map[int64]Live{2: {State: StateOffShelf, Stock: 3}}})
	found, err := s.All(t.Context(), Search{Before: 3, Limit: 5})
	got, at := found.Vouchers, found.Now
	if err != nil || len(got) != 2 || got[0].ID != 2 || got[0].Live.Stock != 3 || got[1].Live != nil ||
		!at.Equal(now.Add(time.Minute)) {
		t.Errorf("%+v at %v, %v", got, at, err)
	}
	if found, err := s.All(t.Context(), Search{ShopID: 1, Before: MaxID, Limit: 1}); err != nil ||
		len(found.Vouchers) != 1 || found.Vouchers[0].ID != 3 {
		t.Errorf("the newest of shop 1: %+v, %v", found, err)
	}
}

// A sale is created in the wanted partition, and one beside it in the same, or in another once that takes no new sales.
func TestCreateInAPartition(t *testing.T) {
	t.Parallel()
	ledger, sales := &fakeLedger{}, &fakeSales{}
	s := newTestService(ledger, sales)
	s.parts.Place = placing{}.Place
	sd := goodSale()
	sd.Partition = new(int64(2))
	got, err := s.CreateSeckill(t.Context(), author, goodDraft(), sd)
	if err != nil || got.Sale.Partition != 2 {
		t.Fatalf("created: %+v, %v", got.Sale, err)
	}
	for closed, want := range map[int]int{0: 2, 2: 1} {
		s.parts.Place = placing{closed: closed}.Place
		shadow := Voucher{Kind: Seckill, Sale: &Sale{Begin: now, End: now.Add(time.Minute + time.Microsecond)}}
		beside, err := s.CreateBeside(t.Context(), author, shadow, got.Sale)
		if err != nil || beside.Sale.Partition != want || !beside.Sale.End.Equal(now.Add(time.Minute)) {
			t.Errorf("a sale beside it, while partition %d is closed: %+v, %v", closed, beside.Sale, err)
		}
	}
}

// placing puts sales into partition 1, or into the wanted one unless that is closed.
type placing struct{ closed int }

func (p placing) Place(_ context.Context, wanted *int64) (int, error) {
	switch {
	case wanted == nil:
		return 1, nil
	case int(*wanted) == p.closed:
		return 0, ErrNoPartition
	}
	return int(*wanted), nil
}

// Only made-up users buy in a rehearsal, and nobody creates a voucher in the shop of rehearsals.
func TestRehearsalAdmits(t *testing.T) {
	t.Parallel()
	shadow := Voucher{ShopID: RehearsalShop}
	if shadow.Admits(1) || shadow.Admits(FirstRehearsalUser-1) || !shadow.Admits(FirstRehearsalUser) {
		t.Error("the wrong users may buy")
	}
	if sale := (Voucher{ShopID: 1}); !sale.Admits(1) {
		t.Error("nobody may buy in a real sale")
	}
	d := goodDraft()
	d.ShopID = RehearsalShop
	if _, err := newTestService(&fakeLedger{}, &fakeSales{}).CreateOrdinary(t.Context(), author, d); err == nil {
		t.Error("anybody may create vouchers in the shop of rehearsals")
	}
}
