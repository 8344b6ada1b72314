package listing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/kit/bulkhead"
	"seckill/internal/voucher"
)

var errAway = errors.New("away")

// stores are the ledger and Redis. Shop 1 has the vouchers 1 (ordinary) and 2 (on sale). The field takes is the
// duration of each call.
type stores struct {
	mu       sync.Mutex
	vouchers []voucher.Voucher // ascending
	live     voucher.Live      // of every sale
	version  string

	takes                    time.Duration
	ledgerHangs, redisHangs  bool // their calls last until the caller gives up
	ledgerAway, redisAway    bool
	queries, questions, sets int                     // of texts, of ids, of live state
	classes                  map[bulkhead.Class]bool // the callers' classes
}

func (s *stores) call(ctx context.Context, hangs, away *bool, count *int) error {
	s.mu.Lock()
	*count++
	if s.classes == nil {
		s.classes = make(map[bulkhead.Class]bool)
	}
	s.classes[bulkhead.Of(ctx)] = true
	waits, fails := *hangs, *away
	s.mu.Unlock()
	if waits {
		<-ctx.Done()
		return ctx.Err()
	}
	time.Sleep(s.takes)
	if fails {
		return errAway
	}
	return nil
}

// Voucher returns the voucher as it is when the call begins.
func (s *stores) Voucher(ctx context.Context, id int64) (voucher.Voucher, error) {
	s.mu.Lock()
	vouchers := slices.Clone(s.vouchers)
	s.mu.Unlock()
	err := s.call(ctx, &s.ledgerHangs, &s.ledgerAway, &s.queries)
	for _, v := range vouchers {
		if v.ID == id && err == nil {
			return v, nil
		}
	}
	if err == nil {
		err = voucher.ErrNotFound
	}
	return voucher.Voucher{}, err
}

func (s *stores) VouchersOfShop(
	ctx context.Context, shopID, before int64, limit int,
) ([]voucher.Voucher, int64, error) {
	err := s.call(ctx, &s.ledgerHangs, &s.ledgerAway, &s.queries)
	s.mu.Lock()
	defer s.mu.Unlock()
	var vs []voucher.Voucher
	total := 0
	for _, v := range slices.Backward(s.vouchers) {
		if v.ShopID != shopID || err != nil {
			continue
		}
		total++
		if v.ID < before && len(vs) < limit {
			vs = append(vs, v)
		}
	}
	return vs, int64(total), err
}

func (s *stores) VoucherIDs(
	ctx context.Context, above int64,
) (ids, shops []int64, hidden map[int64]time.Time, err error) {
	err = s.call(ctx, &s.ledgerHangs, &s.ledgerAway, &s.questions)
	s.mu.Lock()
	defer s.mu.Unlock()
	hidden = make(map[int64]time.Time)
	for _, v := range s.vouchers {
		if !v.VisibleFrom.IsZero() {
			hidden[v.ID] = v.VisibleFrom
		}
		if v.ID > above && err == nil {
			ids, shops = append(ids, v.ID), append(shops, v.ShopID)
		}
	}
	return ids, shops, hidden, err
}

func (s *stores) ListState(ctx context.Context, vs []voucher.Voucher, shops []int64) (Reading, error) {
	err := s.call(ctx, &s.redisHangs, &s.redisAway, &s.sets)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Reading{Now: time.Now().Add(time.Hour), Versions: slices.Repeat([]string{s.version}, len(shops))}
	r.Live = slices.Repeat([]voucher.Live{s.live}, len(vs))
	return r, err
}

func (s *stores) ReplaceListVersion(ctx context.Context, _ int64) error {
	var n int
	if err := s.call(ctx, &s.redisHangs, &s.redisAway, &n); err != nil {
		return err
	}
	s.set(func() { s.version += "+" })
	return nil
}

// set changes the contents of the stores.
func (s *stores) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *stores) add(id, shop int64) {
	s.set(func() {
		s.vouchers = append(s.vouchers, voucher.Voucher{ID: id, ShopID: shop, Status: voucher.OnShelf})
	})
}

// inBubble runs f with listings over stores that answer within a millisecond.
func inBubble(t *testing.T, f func(t *testing.T, l *Listings, s *stores)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stores{live: voucher.Live{State: voucher.StateOnSale, Stock: 5}, takes: time.Millisecond}
		s.vouchers = []voucher.Voucher{
			{ID: 1, ShopID: 1, Title: "one", Status: voucher.OnShelf},
			{
				ID: 2, ShopID: 1, Title: "two", Status: voucher.OnShelf, Kind: voucher.Seckill,
				Sale: &voucher.Sale{Stock: 9},
			},
		}
		l := New(s, s, DefaultMemory, slog.New(slog.DiscardHandler))
		defer l.Close()
		f(t, l, s)
	})
}

// shownOf returns the contents of a list in short.
func shownOf(s Snapshot, err error) string {
	if err != nil {
		return err.Error()
	}
	text := ""
	for _, v := range s.Vouchers {
		text += fmt.Sprintf("%d:%s", v.ID, v.Title)
		if v.Live != nil {
			text += fmt.Sprintf("(%s %d)", v.Live.State, v.Live.Stock)
		}
		text += " "
	}
	if s.Stale {
		text += "stale"
	}
	return text
}

const fresh = "2:two(on_sale 5) 1:one "

func (s *stores) list(t *testing.T, l *Listings) (text string, took time.Duration) {
	t.Helper()
	start := time.Now()
	text = shownOf(l.List(t.Context(), 1, math.MaxInt64))
	return text, time.Since(start)
}

// want checks what the list of shop 1 shows, and how long the call takes.
func (s *stores) want(t *testing.T, l *Listings, want string, atMost time.Duration) {
	t.Helper()
	if got, took := s.list(t, l); got != want || took > atMost {
		t.Errorf("the list shows %q after %v, want %q within %v", got, took, want, atMost)
	}
}

// A crowd that asks for ten seconds costs five calls to Redis a second, and two queries for the texts: at the beginning
// and after ten seconds.
func TestACrowdCostsFiveCallsASecond(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *Listings, s *stores) {
		var crowd sync.WaitGroup
		for range 20 {
			crowd.Go(func() {
				for range 5000 {
					if got := shownOf(l.List(t.Context(), 1, math.MaxInt64)); got != fresh {
						t.Errorf("the list shows %q", got)
					}
					time.Sleep(2 * time.Millisecond)
				}
			})
		}
		crowd.Wait()
		// Callers who come during the first query share a second one.
		if s.sets > 55 || s.sets < 40 || s.queries > 4 || s.questions > 2 {
			t.Errorf("read Redis %d times, texts from the ledger %d times, ids %d times",
				s.sets, s.queries, s.questions)
		}
	})
}

// Nothing is read while nobody asks, and the first answer after that is not old.
func TestNobodyAsks(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *Listings, s *stores) {
		s.want(t, l, fresh, 20*time.Millisecond)
		before := s.sets + s.queries
		time.Sleep(time.Hour)
		if now := s.sets + s.queries; now != before {
			t.Errorf("the stores were read %d times while nobody asked", now-before)
		}
		s.set(func() { s.live.Stock = 4 })
		s.want(t, l, "2:two(on_sale 4) 1:one ", 20*time.Millisecond)
	})
}

// While a store hangs the last answer is given, at once except to the first callers, and marked after a second.
func TestAStoreHangs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hang   func(*stores, bool)
		marked time.Duration // when the answer begins to be marked
	}{
		"Redis":      {func(s *stores, hangs bool) { s.redisHangs = hangs }, staleAfter},
		"the ledger": {func(s *stores, hangs bool) { s.ledgerHangs = hangs }, textsTTL + staleAfter},
		"both":       {func(s *stores, hangs bool) { s.redisHangs, s.ledgerHangs = hangs, hangs }, staleAfter},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, l *Listings, s *stores) {
				s.want(t, l, fresh, 20*time.Millisecond)
				time.Sleep(renewEvery)
				s.want(t, l, fresh, 20*time.Millisecond) // the texts are read once more, as their version was unknown
				s.set(func() { tc.hang(s, true) })
				start, slow := time.Now(), 0
				for time.Since(start) < 30*time.Second {
					got, took := s.list(t, l)
					want := fresh
					if time.Since(start) > tc.marked+renewEvery {
						want += "stale"
					}
					if got != want && time.Since(start) > tc.marked+renewEvery || took > 2*renewPatience {
						t.Fatalf("after %v the list shows %q, want %q; it took %v", time.Since(start), got, want, took)
					}
					if took > 20*time.Millisecond {
						slow++
					}
					time.Sleep(time.Millisecond)
				}
				if slow > 50 {
					t.Errorf("%d callers waited", slow)
				}
				s.set(func() { tc.hang(s, false) })
				time.Sleep(readTimeout + renewEvery)
				s.want(t, l, fresh, 20*time.Millisecond)
			})
		})
	}
}

// A list that nobody has read for minutes, and that another instance has changed meanwhile, is marked from the first
// answer on if the ledger hangs. Its numbers are as old as Redis's last answer.
func TestAStoreHangsAfterNobodyAsked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hang    func(*stores)
		numbers time.Duration // the least age of the numbers
	}{
		"the ledger": {func(s *stores) { s.ledgerHangs = true }, 0},
		"both":       {func(s *stores) { s.redisHangs, s.ledgerHangs = true, true }, 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, l *Listings, s *stores) {
				s.want(t, l, fresh, 20*time.Millisecond)
				time.Sleep(renewEvery)
				s.want(t, l, fresh, 20*time.Millisecond)
				s.set(func() { s.version += "+" })
				time.Sleep(3 * time.Minute)
				s.set(func() { tc.hang(s) })
				for range 3 {
					shown, err := l.List(t.Context(), 1, math.MaxInt64)
					if got := shownOf(shown, err); got != fresh+"stale" || shown.Age < 3*time.Minute ||
						shown.NumbersAge < tc.numbers || tc.numbers == 0 && shown.NumbersAge > time.Second {
						t.Errorf("%q of %v ago, its numbers of %v ago", got, shown.Age, shown.NumbersAge)
					}
				}
				time.Sleep(readTimeout) // so that no call is under way at the end
			})
		})
	}
}

// If nothing was read yet, a caller waits for less than a second, and later ones not at all.
func TestNothingIsKnown(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *Listings, s *stores) {
		s.ledgerHangs = true
		for i := range 5 {
			start := time.Now()
			_, listErr := l.List(t.Context(), 1, math.MaxInt64)
			if took := time.Since(start); !errors.Is(listErr, ErrUnavailable) || took > time.Second ||
				i > 0 && i < 3 && took > 0 {
				t.Errorf("list %d: %v after %v", i, listErr, took)
			}
		}
		time.Sleep(readTimeout)
		if _, err := l.Voucher(t.Context(), 2); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a voucher: %v", err)
		}
		time.Sleep(2 * readTimeout)
		s.set(func() { s.ledgerHangs = false })
		s.want(t, l, fresh, time.Second)
	})
}

// The ledger's texts are shown even if Redis was never read.
func TestRedisWasNeverRead(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*stores){
		"away": func(s *stores) { s.redisAway = true }, "hangs": func(s *stores) { s.redisHangs = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, l *Listings, s *stores) {
				fail(s)
				s.want(t, l, "2:two(preparing 9) 1:one stale", loadPatience)
				s.set(func() { s.redisAway, s.redisHangs = false, false })
				time.Sleep(liveTimeout + renewEvery)
				s.want(t, l, fresh, 20*time.Millisecond)
			})
		})
	}
}

// A change shows from the next call on where it was made, and within renewEvery elsewhere; within ten seconds if the
// version is not replaced.
func TestAChangeShows(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tell   func(t *testing.T, l *Listings, s *stores)
		within time.Duration
	}{
		"here": {func(t *testing.T, l *Listings, s *stores) { l.Changed(t.Context(), s.vouchers[0]) }, 0},
		"here without Redis": {func(t *testing.T, l *Listings, s *stores) {
			s.set(func() { s.redisAway = true })
			l.Changed(t.Context(), s.vouchers[0])
			s.set(func() { s.redisAway = false })
		}, 0},
		"elsewhere": {
			func(_ *testing.T, _ *Listings, s *stores) { s.set(func() { s.version = "new" }) }, renewEvery,
		},
		"no version is replaced": {func(*testing.T, *Listings, *stores) {}, textsTTL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, l *Listings, s *stores) {
				for range 3 {
					s.want(t, l, fresh, 20*time.Millisecond)
					if _, err := l.Voucher(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
					time.Sleep(renewEvery)
				}
				s.want(t, l, fresh, 20*time.Millisecond)
				s.set(func() { s.vouchers[0].Title = "uno" })
				tc.tell(t, l, s)
				time.Sleep(tc.within)
				s.want(t, l, "2:two(on_sale 5) 1:uno ", 20*time.Millisecond)
				if v, err := l.Voucher(t.Context(), 1); err != nil || v.Vouchers[0].Title != "uno" {
					t.Errorf("the voucher alone: %+v, %v", v, err)
				}
			})
		})
	}
}

// A change shows to all who ask after it at the same time, also while what was asked before it is still being read: a
// first reading, one of figures, or one of texts.
func TestAChangeShowsToAll(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]time.Duration{ // from the call before to the change
		"nothing is being read": 10 * time.Millisecond, "Redis is being read": 500 * time.Microsecond,
		"the ledger is being read": 1500 * time.Microsecond,
	} {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, for the first time: %t", name, first), func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(t *testing.T, l *Listings, s *stores) {
					var callers sync.WaitGroup
					show := func(want ...string) {
						callers.Go(func() {
							v, err := l.Voucher(t.Context(), 1)
							if got := shownOf(v, err); !slices.Contains(want, got) {
								t.Errorf("shown is %q, want one of %q", got, want)
							}
						})
					}
					if !first {
						show("1:one ")
						callers.Wait()
						s.set(func() { s.version += "+" }) // so that texts are due
						time.Sleep(renewEvery)
					}
					show("1:one ", "1:uno ")
					time.Sleep(before)
					s.set(func() { s.vouchers[0].Title = "uno" })
					l.Changed(t.Context(), s.vouchers[0])
					for range 20 {
						show("1:uno ")
						time.Sleep(200 * time.Microsecond)
					}
					callers.Wait()
				})
			})
		}
	}
}

// While a store fails after a change, it is read no more often than at other times.
func TestFailingStoresAreAskedSeldomAfterAChange(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *Listings, s *stores) {
		s.want(t, l, fresh, 20*time.Millisecond)
		time.Sleep(renewEvery)
		l.Changed(t.Context(), s.vouchers[0])
		s.set(func() { s.redisAway, s.ledgerAway, s.queries, s.sets = true, true, 0, 0 })
		for start := time.Now(); time.Since(start) < 10*renewEvery; {
			if _, err := l.List(t.Context(), 1, math.MaxInt64); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if s.queries > 11 || s.sets > 11 {
			t.Errorf("%d queries and %d calls to Redis in %v", s.queries, s.sets, 10*renewEvery)
		}
	})
}

// Shared calls count as the public's, even if an admin came first; but the query for ids counts as a purchase, because
// purchases may wait for it.
func TestWhoAsksTheStores(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *Listings, s *stores) {
		admin := bulkhead.With(t.Context(), bulkhead.Admin)
		for range 2 {
			if _, err := l.List(admin, 1, math.MaxInt64); err != nil {
				t.Fatal(err)
			}
			time.Sleep(textsTTL)
		}
		if !s.classes[bulkhead.PublicRead] || !s.classes[bulkhead.Purchase] || len(s.classes) != 2 {
			t.Errorf("asked as %v", s.classes)
		}
	})
}

// A list longer than a part is read part by part, from memory.
func TestPartsOfALongList(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *Listings, s *stores) {
		for id := int64(3); id <= 1200; id++ {
			s.add(id, 1)
		}
		for before, want := range map[int64]struct {
			first, last int64
			more        bool
		}{
			math.MaxInt64: {1200, 701, true}, 1200: {1200, 701, true}, 702: {1200, 701, true}, 701: {700, 201, true},
			202: {700, 201, true}, 201: {200, 1, false}, 1: {200, 1, false},
		} {
			got, err := l.List(t.Context(), 1, before)
			if err != nil || got.Vouchers[0].ID != want.first || got.last() != want.last ||
				got.More != want.more || got.Total != 1200 {
				t.Errorf("before %d: %d to %d of %d, more %t, %v; want %+v",
					before, got.Vouchers[0].ID, got.last(), got.Total, got.More, err, want)
			}
		}
		before := s.queries
		if _, err := l.List(t.Context(), 1, 150); err != nil || s.queries != before {
			t.Errorf("%d queries for a part in memory, %v", s.queries-before, err)
		}
	})
}

// A hidden voucher is refused to the public like an unknown id, and after the same time; from its time on it is shown.
// Purchases and admins see it always. Moving its time takes effect even if the id is known.
func TestHiddenVouchers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *Listings, s *stores) {
		if _, err := l.Voucher(t.Context(), 1); err != nil { // now Redis's clock, an hour ahead, is known
			t.Fatal(err)
		}
		redis := time.Now().Add(time.Hour)
		s.set(func() { s.vouchers[1].VisibleFrom = redis.Add(time.Minute) })
		ask := func(id int64, want error) time.Duration {
			t.Helper()
			began := time.Now()
			if _, err := l.Voucher(t.Context(), id); !errors.Is(err, want) {
				t.Errorf("voucher %d: %v, want %v", id, err, want)
			}
			return time.Since(began)
		}
		time.Sleep(renewEvery)
		hidden := ask(2, voucher.ErrNotFound)
		time.Sleep(renewEvery)
		if unknown := ask(3, voucher.ErrNotFound); hidden < unknown/2 || hidden > 2*unknown {
			t.Errorf("a hidden voucher is refused after %v, an unknown one after %v", hidden, unknown)
		}
		if v, err := l.Index().Voucher(t.Context(), 2); err != nil || v.ID != 2 {
			t.Errorf("for a purchase: %+v, %v", v, err)
		}
		time.Sleep(time.Until(redis.Add(time.Minute - time.Hour)))
		ask(2, nil)
		s.set(func() { s.vouchers[1].VisibleFrom = redis.Add(time.Hour) })
		l.Changed(t.Context(), s.vouchers[1])
		ask(2, voucher.ErrNotFound)
	})
}

// Unknown ids reach the ledger by one query for any number of callers, at most five times a second. A voucher that
// another instance has just created is found.
func TestUnknownIDs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *Listings, s *stores) {
		var callers sync.WaitGroup
		start := time.Now()
		for i := range 2000 {
			callers.Go(func() {
				time.Sleep(time.Duration(i) * 500 * time.Microsecond)
				asked := time.Now()
				if _, err := l.Voucher(t.Context(), int64(1000+i)); !errors.Is(err, voucher.ErrNotFound) ||
					time.Since(asked) > 2*renewEvery+time.Second {
					t.Errorf("id %d: %v after %v", 1000+i, err, time.Since(asked))
				}
				if list, err := l.List(t.Context(), int64(1000+i), math.MaxInt64); err != nil ||
					len(list.Vouchers) > 0 {
					t.Errorf("shop %d: %+v, %v", 1000+i, list, err)
				}
			})
		}
		callers.Wait()
		if most := int(time.Since(start)/renewEvery) + 2; s.questions > most || s.queries+s.sets > 0 {
			t.Errorf("%d queries for ids in %v, and %d other calls", s.questions, time.Since(start), s.queries+s.sets)
		}
		s.add(5000, 77)
		if v, err := l.Voucher(t.Context(), 5000); err != nil || v.Vouchers[0].ID != 5000 {
			t.Errorf("a new voucher: %+v, %v", v, err)
		}
		s.add(4999, 78) // a transaction that began earlier and committed later
		if v, err := l.List(t.Context(), 78, math.MaxInt64); err != nil || len(v.Vouchers) != 1 {
			t.Errorf("a new shop: %+v, %v", v, err)
		}
		if _, err := l.Index().Voucher(t.Context(), 5001); !errors.Is(err, voucher.ErrNotFound) {
			t.Errorf("for a purchase: %v", err)
		}
	})
}

// The memory is bounded; vouchers that were dropped are read again.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stores{takes: time.Microsecond}
		for id := int64(1); id <= 2000; id++ {
			s.add(id, id)
		}
		const memory = 1 << 20
		l := New(s, s, memory, slog.New(slog.DiscardHandler))
		defer l.Close()
		for id := int64(1); id <= 2000; id++ {
			if v, err := l.Voucher(t.Context(), id); err != nil || v.Vouchers[0].ID != id {
				t.Fatalf("voucher %d: %v", id, err)
			}
		}
		l.cache.CleanUp()
		if kept := l.cache.WeightedSize(); kept > memory || kept < memory/2 {
			t.Errorf("%d bytes are in memory, want at most %d", kept, memory)
		}
		if v, err := l.Voucher(t.Context(), 1); err != nil || v.Vouchers[0].ID != 1 {
			t.Errorf("a voucher that was dropped: %v", err)
		}
	})
}

// A rendering is made once per content, and kept while the figures stay the same.
func TestRenderingIsKept(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, l *Listings, s *stores) {
		made := 0
		get := func() any {
			list, err := l.List(t.Context(), 1, math.MaxInt64)
			if err != nil {
				t.Fatal(err)
			}
			return list.Rendered(func(*Content) any { made++; return made })
		}
		s.want(t, l, fresh, 20*time.Millisecond)
		time.Sleep(renewEvery)
		s.want(t, l, fresh, 20*time.Millisecond)
		for range 5 {
			get()
			time.Sleep(renewEvery)
		}
		if made != 1 {
			t.Errorf("rendered %d times", made)
		}
		s.set(func() { s.live.Stock-- })
		if got := get(); got != 2 {
			t.Errorf("after a change of the stock it has rendering %v", got)
		}
	})
}
