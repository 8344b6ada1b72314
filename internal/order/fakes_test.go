package order

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"seckill/internal/voucher"
)

// errAway is an infrastructure fault.
var errAway = errors.New("store is away")

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// faults makes the next calls of a named step fail, before or after it took effect.
type faults struct {
	mu     sync.Mutex
	before map[string]int // so many calls fail without effect
	after  map[string]int // so many calls take effect and lose their answer
}

func (f *faults) call(step string, effect func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.before[step] > 0 {
		f.before[step]--
		return fmt.Errorf("%s: %w", step, errAway)
	}
	if err := effect(); err != nil {
		return err
	}
	if f.after[step] > 0 {
		f.after[step]--
		return fmt.Errorf("%s, answer lost: %w", step, errAway)
	}
	return nil
}

// fakeStores is a stream, a ledger and places in memory, with faults.
type fakeStores struct {
	faults
	fresh   []Entry // not delivered yet
	pending []Entry // delivered to this consumer, in order
	settled []string
	buried  []string
	left    bool
	owns    int           // looks through the own entries, from the first on
	changed chan struct{} // gets a value, if nobody is behind, after each settlement

	rows     map[int64]Order
	stock    map[int64]int64
	epoch    int64
	collided map[CollisionKey]int64
	refuses  map[int64]bool // order ids that the ledger rejects for good
	stuck    map[int64]bool // order ids whose places Redis refuses to correct
	inserts  int
	commits  int
	clash    int // so many settlements contradict themselves

	operation int64          // the sale's last one in the ledger
	unsettled map[int64]bool // orders that a pending one concerns
	applied   int64          // the last one in Redis

	places     map[BuyerKey]int64
	given      int             // units given back to Redis
	rebuilding map[int64]int64 // what Correct tells
	mended     []mendCall
	told       map[int64]Status
	nextID     int64
	followed   []int64
	onFollow   func() // what the operations of the voucher do
}

func newFakeStores(stock int64, claims ...Claim) *fakeStores {
	f := &fakeStores{
		faults:  faults{before: map[string]int{}, after: map[string]int{}},
		changed: make(chan struct{}, 1), rows: map[int64]Order{}, stock: map[int64]int64{voucherA: stock}, epoch: 1,
		collided: map[CollisionKey]int64{}, refuses: map[int64]bool{}, places: map[BuyerKey]int64{}, told: map[int64]Status{}, nextID: 900,
	}
	for i, c := range claims {
		f.fresh = append(f.fresh, Entry{Key: fmt.Sprintf("%03d-0", i+1), Claim: c})
		f.places[c.Buyer()] = c.OrderID
	}
	return f
}

func (f *fakeStores) Own(_ context.Context, after string, n int) (got []Entry, err error) {
	err = f.call("own", func() error {
		if after == "" {
			f.owns++
		}
		for _, e := range f.pending {
			if e.Key > after && len(got) < n {
				got = append(got, e)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return got, nil
}

func (f *fakeStores) Next(ctx context.Context, n int, wait time.Duration) (got []Entry, err error) {
	err = f.call("next", func() error {
		got = slices.Clone(f.fresh[:min(n, len(f.fresh))])
		f.fresh = f.fresh[len(got):]
		f.pending = append(f.pending, got...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(got) == 0 && wait > 0 {
		rest(ctx, time.Millisecond)
	}
	return got, nil
}

func (f *fakeStores) Orphans(context.Context, int) ([]Entry, error) { return nil, nil }

func (f *fakeStores) Settle(_ context.Context, keys []string) (n int, err error) {
	err = f.call("settle", func() error {
		for _, key := range keys {
			before := len(f.pending)
			f.pending = slices.DeleteFunc(f.pending, func(e Entry) bool { return e.Key == key })
			if len(f.pending) < before {
				n++
				f.settled = append(f.settled, key)
			}
		}
		return nil
	})
	select {
	case f.changed <- struct{}{}:
	default:
	}
	return n, err
}

func (f *fakeStores) Bury(_ context.Context, e Entry) error {
	return f.call("bury", func() error {
		f.pending = slices.DeleteFunc(f.pending, func(p Entry) bool { return p.Key == e.Key })
		f.buried = append(f.buried, e.Key)
		return nil
	})
}

func (f *fakeStores) Beat(context.Context) error { return nil }

func (f *fakeStores) Leave(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = true
	return nil
}

func (f *fakeStores) Insert(_ context.Context, claims []Claim) error {
	return f.call("insert", func() error {
		f.inserts++
		need := map[int64]int64{}
		for _, c := range claims {
			_, taken := f.rows[c.OrderID]
			if f.refuses[c.OrderID] && !taken {
				return fmt.Errorf("order %d: %w", c.OrderID, ErrRejected)
			}
			if taken || f.live(c.Buyer()) != 0 || c.Epoch != f.epoch {
				return ErrConflict
			}
			need[c.VoucherID]++
		}
		for v, n := range need {
			if f.stock[v] < n {
				return ErrConflict
			}
		}
		f.commits++
		for _, c := range claims {
			f.rows[c.OrderID] = Order{ID: c.OrderID, UserID: c.UserID, VoucherID: c.VoucherID, Status: Unpaid}
			f.stock[c.VoucherID]--
		}
		return nil
	})
}

func (f *fakeStores) live(key BuyerKey) int64 {
	for _, row := range f.rows {
		if row.Status.Live() && row.UserID == key.UserID && row.VoucherID == key.VoucherID {
			return row.ID
		}
	}
	return 0
}

func (f *fakeStores) Settles(claims []Claim, decide func(LedgerView) ([]Decision, error)) error {
	return f.call("decide", func() error {
		view := LedgerView{Sales: map[int64]LedgerSale{}, Rows: map[int64]Order{}, Live: map[BuyerKey]int64{}, Collided: maps.Clone(f.collided), Pending: f.unsettled}
		for v, stock := range f.stock {
			view.Sales[v] = LedgerSale{Stock: stock, Epoch: f.epoch, Operation: f.operation}
		}
		for _, c := range claims {
			if row, has := f.rows[c.OrderID]; has {
				view.Rows[c.OrderID] = row
			}
			if id := f.live(c.Buyer()); id != 0 {
				view.Live[c.Buyer()] = id
			}
		}
		decisions, err := decide(view)
		if err != nil {
			return err
		}
		for _, d := range decisions {
			if d.Verb == Insert && f.refuses[d.Claim.OrderID] {
				return fmt.Errorf("order %d: %w", d.Claim.OrderID, ErrRejected)
			}
		}
		if f.clash > 0 && len(claims) > 1 {
			f.clash--
			return ErrConflict
		}
		f.commits++
		for _, d := range decisions {
			row := Order{ID: d.RowID, UserID: d.Claim.UserID, VoucherID: d.Claim.VoucherID, Status: Unpaid, Reason: d.Reason}
			switch d.Verb {
			case Keep:
				continue
			case Insert:
				f.stock[row.VoucherID]--
			case Fail:
				row.Status = Failed
				if d.RowID != d.Claim.OrderID {
					f.collided[CollisionKey{d.Claim.OrderID, d.Claim.UserID}] = d.RowID
				}
			}
			f.rows[row.ID] = row
		}
		return nil
	})
}

func (f *fakeStores) Correct(_ context.Context, returns []Return) (map[int64]int64, error) {
	err := f.call("correct", func() error {
		for _, r := range returns {
			if f.stuck[r.OrderID] {
				return fmt.Errorf("place of order %d: %w", r.OrderID, ErrRejected)
			}
			key := BuyerKey{VoucherID: r.Sale.VoucherID, UserID: r.UserID}
			if f.places[key] != r.OrderID {
				continue
			}
			if r.Until != 0 && f.applied > r.Until {
				return fmt.Errorf("place of order %d: %w", r.OrderID, ErrOutdated)
			}
			delete(f.places, key)
			if r.Instead != 0 {
				f.places[key] = r.Instead
			}
			if r.GiveBack {
				f.given++
			}
		}
		return nil
	})
	return f.rebuilding, err
}

func (f *fakeStores) Follow(_ context.Context, voucherID int64) error {
	return f.call("follow", func() error {
		f.followed = append(f.followed, voucherID)
		if f.onFollow != nil {
			f.onFollow()
		}
		return nil
	})
}

// mendCall is one call of Mend.
type mendCall struct{ voucherID, broken int64 }

func (f *fakeStores) Mend(voucherID, broken int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mended = append(f.mended, mendCall{voucherID, broken})
}

func (f *fakeStores) Told(outcomes map[int64]Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.Copy(f.told, outcomes)
}

// fakeLedger gives fakeStores the two methods called Settle apart.
type fakeLedger struct{ *fakeStores }

func (l fakeLedger) Settle(_ context.Context, claims []Claim, decide func(LedgerView) ([]Decision, error)) error {
	return l.Settles(claims, decide)
}

// fakeIDs counts up.
type fakeIDs struct {
	mu   sync.Mutex
	last int64
}

func (f *fakeIDs) Next(context.Context) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	return f.last, nil
}

// deaf observes nothing.
type deaf struct{}

func (deaf) Admitted([]Outcome, time.Duration, error) {}
func (deaf) Recorded(int, int, time.Duration)         {}
func (deaf) RecordRetried(error)                      {}
func (deaf) Buried()                                  {}
func (deaf) Recovered(int, int64)                     {}
func (deaf) Rebuilt(time.Duration, error)             {}
func (deaf) Followed(int, int, time.Duration, error)  {}
func (deaf) Behind(int)                               {}
func (deaf) Closed(int, time.Duration)                {}
func (deaf) Received(PaymentState)                    {}
func (deaf) Repaid(error)                             {}

// fakeSales is the keeper's side of ledger and Redis in memory.
type fakeSales struct {
	faults
	kept     []voucher.Voucher
	redis    map[int64]SaleView
	built    []string // the steps taken
	dropped  bool
	retired  []int64
	changed  bool // the sale changes while it is looked at
	notified []int64
	waiting  []Claim // in the stream
	holders  []Claim
	snapshot Snapshot
	locks    sync.Map // name → *sync.Mutex
	onViews  func()   // what happens before Redis is read
	onStream func()   // what happens before a sale's claims are read

	hearing   HearingState
	onHeard   func() // what happens after a look at the hearing
	looks     int
	testified []Claim
}

func (f *fakeSales) Voucher(_ context.Context, id int64) (v voucher.Voucher, err error) {
	err = f.call("voucher", func() error {
		for _, kept := range f.kept {
			if kept.ID == id {
				if v = kept; kept.Sale != nil {
					sale := *kept.Sale
					v.Sale = &sale
				}
				return nil
			}
		}
		return voucher.ErrNotFound
	})
	return v, err
}

func (f *fakeSales) SalesToKeep(context.Context) (vs []voucher.Voucher, err error) {
	err = f.call("sales", func() error {
		for _, v := range f.kept {
			if v.Sale == nil {
				continue
			}
			sale := *v.Sale
			v.Sale = &sale
			vs = append(vs, v)
		}
		return nil
	})
	return vs, err
}

func (f *fakeSales) RaiseEpoch(_ context.Context, id, above int64) (epoch int64, err error) {
	err = f.call("raise", func() error {
		for i := range f.kept {
			if f.kept[i].ID == id {
				f.kept[i].Sale.Epoch = max(f.kept[i].Sale.Epoch, above) + 1
				f.kept[i].Sale.Sequence = 0
				epoch = f.kept[i].Sale.Epoch
			}
		}
		return nil
	})
	return epoch, err
}

func (f *fakeSales) Snapshot(_ context.Context, _, _ int64) (s Snapshot, err error) {
	err = f.call("snapshot", func() error { s = f.snapshot; s.Voucher = f.kept[0]; return nil })
	return s, err
}

func (f *fakeSales) Retire(_ context.Context, id, last int64) (retired bool, err error) {
	err = f.call("retire", func() error {
		if retired = f.kept[0].Sale.LastOperation == last && !f.changed; retired {
			f.retired = append(f.retired, id)
		}
		return nil
	})
	return retired, err
}

func (f *fakeSales) Notify(id int64) { f.notified = append(f.notified, id) }

func (f *fakeSales) Views(_ context.Context, sales []SaleRef) (views []SaleView, err error) {
	err = f.call("views", func() error {
		if f.onViews != nil {
			f.onViews()
		}
		for _, s := range sales {
			views = append(views, f.redis[s.VoucherID])
		}
		return nil
	})
	return views, err
}

func (f *fakeSales) Waiting(context.Context, SaleRef) iter.Seq2[Claim, error] {
	if f.onStream != nil {
		f.onStream()
	}
	return sequence(f.waiting)
}

func (f *fakeSales) Holders(context.Context, SaleRef) iter.Seq2[Claim, error] {
	return sequence(f.holders)
}

func sequence(claims []Claim) iter.Seq2[Claim, error] {
	return func(yield func(Claim, error) bool) {
		for _, c := range claims {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func (f *fakeSales) Begin(_ context.Context, s SaleRef, epoch int64) error {
	return f.call("begin", func() error {
		view := f.redis[s.VoucherID]
		view.Mode = SaleRebuilding
		f.redis[s.VoucherID] = view
		f.built = append(f.built, fmt.Sprint("begin ", epoch))
		return nil
	})
}

func (f *fakeSales) Seat(context.Context, SaleRef, int64, []Claim, []int64) error {
	return f.call("seat", func() error { f.built = append(f.built, "seat"); return nil })
}

func (f *fakeSales) Requeue(context.Context, SaleRef, int64, []Claim) error {
	return f.call("requeue", func() error { f.built = append(f.built, "requeue"); return nil })
}

func (f *fakeSales) Heard(context.Context, SaleRef, int64) (state HearingState, err error) {
	err = f.call("heard", func() error {
		f.looks++
		state = f.hearing
		if f.onHeard != nil {
			f.onHeard()
		}
		return nil
	})
	return state, err
}

func (f *fakeSales) Testified(context.Context, SaleRef) iter.Seq2[Claim, error] {
	return sequence(f.testified)
}

func (f *fakeSales) Publish(_ context.Context, s SaleRef, epoch int64, o Opening) error {
	return f.call("publish", func() error {
		f.built = append(f.built, fmt.Sprint("publish ", epoch))
		f.redis[s.VoucherID] = SaleView{Mode: o.Mode, Mark: Mark{Epoch: epoch}, Stock: o.Stock, Begin: o.Begin, End: o.End, Now: o.Begin}
		return nil
	})
}

func (f *fakeSales) Drop(context.Context, SaleRef, SaleView) (bool, error) {
	return f.dropped, f.call("drop", func() error { return nil })
}

func (f *fakeSales) Do(ctx context.Context, name string, do func(context.Context) error) error {
	l := f.lock(name)
	l.Lock()
	defer l.Unlock()
	return do(ctx)
}

func (f *fakeSales) TryDo(ctx context.Context, name string, do func(context.Context) error) error {
	l := f.lock(name)
	if !l.TryLock() {
		return ErrBusy
	}
	defer l.Unlock()
	return do(ctx)
}

func (f *fakeSales) lock(name string) *sync.Mutex {
	l, _ := f.locks.LoadOrStore(name, new(sync.Mutex))
	return l.(*sync.Mutex)
}
