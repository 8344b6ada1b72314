package listing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"seckill/internal/kit/batch"
	"seckill/internal/kit/bulkhead"
	"seckill/internal/voucher"
)

const (
	renewEvery = 200 * time.Millisecond // snapshots are renewed at most this often
	staleAfter = time.Second            // older figures are marked
	textsTTL   = 10 * time.Second       // texts are re-read after this time, whatever the list's version says
	// renewPatience is how long a caller waits for a snapshot to be renewed before they get the previous one.
	renewPatience = 150 * time.Millisecond
	// loadPatience is how long a caller waits when there is no snapshot at all.
	loadPatience = 900 * time.Millisecond
	readTimeout  = 2 * time.Second // one query
	liveTimeout  = time.Second     // one call to Redis; the first load waits for firstLive only
	firstLive    = 400 * time.Millisecond
	maxShared    = 16 // most entries that share one call to Redis
	maxLiveCalls = 2
)

// PartSize is how many vouchers a part of a shop's list has at most. A request without paging gets one part.
const PartSize = 500

// DefaultMemory is roughly how many bytes of vouchers are kept, including renderings.
const DefaultMemory = 64 << 20

// Ledger reads vouchers.
type Ledger interface {
	// Voucher returns one voucher with its sale, or voucher.ErrNotFound.
	Voucher(ctx context.Context, id int64) (voucher.Voucher, error)
	// VouchersOfShop returns the shop's vouchers that are on the shelf and have an id below before, newest first, at
	// most limit, and how many vouchers the shop has on the shelf in all.
	VouchersOfShop(ctx context.Context, shopID, before int64, limit int) ([]voucher.Voucher, int64, error)
	// VoucherIDs returns the ids of all vouchers above the given one, ascending, and the shops of these vouchers.
	// hidden has the time of visibility of all vouchers that are still hidden.
	VoucherIDs(ctx context.Context, above int64) (ids, shops []int64, hidden map[int64]time.Time, err error)
}

// Redis returns the state of sales and the versions of lists, which change while vouchers sell.
type Redis interface {
	// ListState returns the live state of the vouchers' sales and the versions of the shops' lists, each in the given
	// order, in one round trip. A version that was never replaced is "".
	ListState(ctx context.Context, vs []voucher.Voucher, shops []int64) (Reading, error)
	// ReplaceListVersion gives the shop's list a new version, different from all earlier ones.
	ReplaceListVersion(ctx context.Context, shopID int64) error
}

// Reading is an answer of Redis.
type Reading struct {
	Live     []voucher.Live
	Versions []string
	Now      time.Time // by Redis's clock
}

// unknownVersion is the version of texts that were read without first reading their list's version.
const unknownVersion = "?"

// Listings show vouchers to the public. It is safe for concurrent use.
type Listings struct {
	ledger  Ledger
	redis   Redis
	index   *Index
	log     *slog.Logger
	calls   *batch.Batcher[question, Reading]
	cache   *otter.Cache[key, *entry]
	clock   atomic.Pointer[clock]
	running batch.Running

	mu      sync.RWMutex
	changed map[int64]time.Time // shop → when this instance last changed one of its vouchers
}

// question is one entry's read from Redis.
type question struct {
	selling []voucher.Voucher
	shop    int64
}

// key names a single voucher, or a part of a shop's list with the ids below before.
type key struct{ shop, before, voucher int64 }

// entry is one part of a list, or one voucher.
type entry struct {
	key   key
	state atomic.Pointer[state] // nil until it was read

	live, texts lane
	mu          sync.Mutex
	failed      error // the error of the last reading of texts; nil if it succeeded
}

// New returns empty listings that keep at most about memory bytes. Close ends their goroutines.
func New(ledger Ledger, redis Redis, memory uint64, log *slog.Logger) *Listings {
	l := &Listings{ledger: ledger, redis: redis, log: log, changed: make(map[int64]time.Time)}
	l.index = newIndex(ledger, &l.running)
	l.calls = batch.New(batch.Options{Size: maxShared, Calls: maxLiveCalls, Running: &l.running}, l.call)
	l.cache = otter.Must(&otter.Options[key, *entry]{MaximumWeight: memory, Weigher: weight})
	return l
}

// Close waits for the calls under way. Make no call after it.
func (l *Listings) Close() {
	l.running.Wait()
	l.cache.StopAllGoroutines()
}

// Index returns the index of all vouchers.
func (l *Listings) Index() *Index { return l.index }

// weight returns the bytes that an entry keeps: its texts, their rendering, its compressed form, and the overhead.
func weight(_ key, e *entry) uint32 {
	const around = 1024
	total := uint64(around)
	if s := e.state.Load(); s != nil {
		for _, v := range s.texts.vouchers {
			total += around + 3*uint64(len(v.Title)+len(v.SubTitle)+len(v.Rules)+len(v.Picture))
		}
	}
	return uint32(min(total, math.MaxUint32))
}

// Voucher returns one voucher, on or off the shelf, if it is visible to the public by now. Errors: voucher.ErrNotFound,
// ErrUnavailable.
func (l *Listings) Voucher(ctx context.Context, id int64) (Snapshot, error) {
	k := key{voucher: id}
	if e, known := l.cache.GetIfPresent(k); known {
		return l.visible(l.get(ctx, e))
	}
	if err := l.index.wantVisible(ctx, id, l.now); err != nil {
		return Snapshot{}, err
	}
	return l.visible(l.get(ctx, l.entry(k)))
}

// visible refuses a voucher that has become hidden since its id was read.
func (l *Listings) visible(s Snapshot, err error) (Snapshot, error) {
	if err == nil && s.Vouchers[0].Hidden(s.Now) {
		return Snapshot{}, voucher.ErrNotFound
	}
	return s, err
}

// now returns the time by Redis's clock as far as that is known.
func (l *Listings) now() time.Time { return l.clock.Load().at(time.Now()) }

// List returns a part of the shop's list that contains the newest vouchers with an id below before; it may also contain
// newer ones. A shop without vouchers has an empty list. Error: ErrUnavailable.
func (l *Listings) List(ctx context.Context, shopID, before int64) (Snapshot, error) {
	k := key{shop: shopID, before: math.MaxInt64}
	e, known := l.cache.GetIfPresent(k)
	if !known {
		switch err := l.index.wantShop(ctx, shopID); {
		case errors.Is(err, voucher.ErrNotFound):
			return Snapshot{Content: &Content{}, Now: l.clock.Load().at(time.Now())}, nil
		case err != nil:
			return Snapshot{}, err
		}
		e = l.entry(k)
	}
	for {
		s, err := l.get(ctx, e)
		if err != nil || !s.More || before > s.last() {
			return s, err
		}
		e = l.entry(key{shop: shopID, before: s.last()})
	}
}

// last returns the id of the oldest voucher.
func (s Snapshot) last() int64 { return s.Vouchers[len(s.Vouchers)-1].ID }

// Changed makes all instances show the present vouchers of v's shop: this one from the next call on, the others a
// moment later. If that fails, they do within ten seconds.
func (l *Listings) Changed(ctx context.Context, v voucher.Voucher) {
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	if err := l.redis.ReplaceListVersion(ctx, v.ShopID); err != nil {
		l.log.WarnContext(ctx, "a change of a voucher shows some seconds late on other instances",
			"voucher", v.ID, "error", err)
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for shop, at := range l.changed {
		if now.Sub(at) > textsTTL { // all texts are newer, or due anyway
			delete(l.changed, shop)
		}
	}
	l.changed[v.ShopID] = now
}

func (l *Listings) changedAt(shop int64) time.Time {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.changed[shop]
}

// entry returns the entry of a key, and adds it if there is none.
func (l *Listings) entry(k key) *entry {
	e, _ := l.cache.ComputeIfAbsent(k, func() (*entry, bool) { return &entry{key: k}, false })
	return e
}

// get returns an entry's snapshot, renewed if that is due and does not take long.
func (l *Listings) get(ctx context.Context, e *entry) (Snapshot, error) {
	s := e.state.Load()
	if s == nil {
		var err error
		if s, err = l.first(ctx, e); err != nil {
			return Snapshot{}, err
		}
	}
	now, changed := time.Now(), l.changedAt(s.texts.shop)
	if now.Sub(s.liveAt) >= renewEvery || changed.After(s.liveAt) || changed.After(s.texts.readAt) {
		s = l.renew(ctx, e, changed)
		now = time.Now()
	}
	if s == nil { // the voucher existed, and is gone
		return Snapshot{}, voucher.ErrNotFound
	}
	return s.snapshot(now, changed, l.clock.Load()), nil
}

// first waits for an entry's first state.
func (l *Listings) first(ctx context.Context, e *entry) (*state, error) {
	l.share(ctx, &e.texts, time.Time{}, loadPatience, func() { l.readTexts(forAll(ctx), e) })
	if s := e.state.Load(); s != nil {
		return s, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case errors.Is(e.failed, voucher.ErrNotFound):
		return nil, voucher.ErrNotFound
	case e.failed != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, e.failed)
	default:
		return nil, fmt.Errorf("%w: the ledger does not answer", ErrUnavailable)
	}
}

// forAll returns the context of a job that one caller starts and all wait for: it does not end with that caller, and
// counts as the public's even if an admin started it.
func forAll(ctx context.Context) context.Context {
	return bulkhead.With(context.WithoutCancel(ctx), bulkhead.PublicRead)
}

// renew reads the parts of an entry that are due, waits no longer than a caller may, and returns the state after that.
func (l *Listings) renew(ctx context.Context, e *entry, changed time.Time) *state {
	free := forAll(ctx)
	l.share(ctx, &e.live, changed, renewPatience, func() { l.readLive(free, e) })
	if s := e.state.Load(); s == nil || s.due(time.Now(), changed).IsZero() {
		return s
	}
	l.share(ctx, &e.texts, changed, renewPatience, func() { l.readTexts(free, e) })
	return e.state.Load()
}

// share waits for the lane's job, as long as a caller may. A run that began before the change has read what was before
// it, so the caller waits for the next one too.
func (l *Listings) share(ctx context.Context, shared *lane, changed time.Time, atMost time.Duration, job func()) {
	for range 2 {
		r := shared.start(time.Now(), changed, &l.running, job)
		if r == nil {
			return
		}
		r.wait(ctx, atMost)
		if !changed.After(r.began) {
			return
		}
	}
}

// readLive renews the figures of an entry, unless its texts were read meanwhile: figures are read along with texts.
func (l *Listings) readLive(ctx context.Context, e *entry) {
	before, at := e.state.Load(), time.Now()
	if before == nil {
		return
	}
	r, err := l.ask(ctx, before.texts, liveTimeout)
	if err != nil {
		l.log.DebugContext(ctx, "the figures of vouchers cannot be renewed", "error", err)
		return
	}
	e.state.CompareAndSwap(before, newState(before, before.texts, r, at))
}

// readTexts reads an entry's texts, and figures for them. Without new figures the texts are shown with the last known
// ones, or as preparing.
func (l *Listings) readTexts(ctx context.Context, e *entry) {
	t, err := l.query(ctx, e)
	e.mu.Lock()
	e.failed = err
	e.mu.Unlock()
	if err != nil {
		if errors.Is(err, voucher.ErrNotFound) {
			e.state.Store(nil)
		}
		return
	}
	patience, at := liveTimeout, time.Now()
	if e.state.Load() == nil {
		patience = firstLive
	}
	r, err := l.ask(ctx, t, patience)
	if err != nil {
		e.state.Store(withoutFigures(e.state.Load(), t))
	} else {
		e.state.Store(newState(nil, t, r, at))
	}
	l.cache.Set(e.key, e) // its weight has changed
}

// query reads an entry's texts from the ledger.
func (l *Listings) query(ctx context.Context, e *entry) (*texts, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	t := &texts{version: unknownVersion, readAt: time.Now()}
	if s := e.state.Load(); s != nil {
		t.version = s.version
	}
	if id := e.key.voucher; id != 0 {
		v, err := l.ledger.Voucher(ctx, id)
		t.vouchers, t.shop = []voucher.Voucher{v}, v.ShopID
		return t, err
	}
	vs, total, err := l.ledger.VouchersOfShop(ctx, e.key.shop, e.key.before, PartSize+1)
	t.more = len(vs) > PartSize
	t.vouchers, t.total, t.shop = vs[:min(len(vs), PartSize)], total, e.key.shop
	return t, err
}

// ask reads the figures of vouchers and the version of their shop's list, in a call that others may share.
func (l *Listings) ask(ctx context.Context, t *texts, atMost time.Duration) (Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	return l.calls.Do(ctx, question{selling: voucher.Selling(t.vouchers), shop: t.shop})
}

// call asks Redis for several entries at once.
func (l *Listings) call(ctx context.Context, items []*batch.Item[question, Reading]) error {
	var vs []voucher.Voucher
	shops := make([]int64, len(items))
	for i, it := range items {
		vs, shops[i] = append(vs, it.Request.selling...), it.Request.shop
	}
	ctx, cancel := context.WithTimeout(bulkhead.With(ctx, bulkhead.PublicRead), liveTimeout)
	defer cancel()
	r, err := l.redis.ListState(ctx, vs, shops)
	if err != nil {
		return err
	}
	l.clock.Store(&clock{redis: r.Now, read: time.Now()})
	from := 0
	for i, it := range items {
		n := len(it.Request.selling)
		it.Answer = Reading{Live: r.Live[from : from+n : from+n], Versions: r.Versions[i : i+1], Now: r.Now}
		from += n
	}
	return nil
}
