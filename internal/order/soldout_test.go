package order

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"seckill/internal/voucher"
)

// soldOutView is what Redis says of a sale that is sold out to the users 2, 4, 6 and so on.
func soldOutView(buyers int64) SaleView {
	now := time.Now()
	return SaleView{
		Mode: SaleOpen, Mark: Mark{Epoch: 3, Sequence: buyers}, Buyers: buyers,
		Begin: now.Add(-time.Hour), End: now.Add(time.Hour), Now: now,
	}
}

func evenUsers(n int64) []int64 {
	users := make([]int64, n)
	for i := range users {
		users[i] = 2 * (int64(i) + 1)
	}
	return users
}

// remembering is a line that has just heard, and loaded the winners of, a sold-out sale.
func remembering(buyers int64) *line {
	l := &line{memory: memory{log: quiet(), serving: new(sync.WaitGroup), pause: newPause()}}
	view := soldOutView(buyers)
	l.last.Store(&sighting{view: view, asked: time.Now(), heard: time.Now()})
	l.memory.winners.Store(&roster{mark: view.Mark, users: evenUsers(buyers)})
	return l
}

func TestRecall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change   func(*sighting)
		user     int64
		recorded Mark
		want     recollection
	}{
		"a stranger":                     {user: 3, want: soldOut},
		"a winner":                       {user: 4, want: askRedis},
		"the last winner":                {user: 20, want: askRedis},
		"beyond the last":                {user: 21, want: soldOut},
		"another epoch":                  {user: 3, change: func(s *sighting) { s.view.Mark.Epoch++ }, want: askRedis},
		"another sequence":               {user: 3, change: func(s *sighting) { s.view.Mark.Sequence-- }, want: askRedis},
		"the ledger knows a later mark":  {user: 3, recorded: Mark{Epoch: 4}, want: askRedis},
		"the ledger knows the same mark": {user: 3, recorded: Mark{Epoch: 3, Sequence: 10}, want: soldOut},
		"a unit is left or waits":        {user: 3, change: func(s *sighting) { s.view.Stock = 1 }, want: askRedis},
		"paused":                         {user: 3, change: func(s *sighting) { s.view.Mode = SalePaused }, want: askRedis},
		"being rebuilt":                  {user: 3, change: func(s *sighting) { s.view.Mode = SaleRebuilding }, want: askRedis},
		"not begun":                      {user: 3, change: func(s *sighting) { s.view.Now = s.view.Begin.Add(-1) }, want: askRedis},
		"ended":                          {user: 3, change: func(s *sighting) { s.view.Now = s.view.End }, want: askRedis},
		"an unreadable place":            {user: 3, change: func(s *sighting) { s.view.Buyers = 11 }, want: askRedis},
		"a place was emptied":            {user: 3, change: func(s *sighting) { s.view.Buyers = 9 }, want: soldOut},
		"half of the time is over": {
			user: 3, change: func(s *sighting) { s.asked = time.Now().Add(-SoldOutMemory * 3 / 4) }, want: renewMemory,
		},
		"the time is over": {user: 3, change: func(s *sighting) { s.asked = time.Now().Add(-SoldOutMemory) }, want: askRedis},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := remembering(10)
			if tc.change != nil {
				tc.change(l.last.Load())
			}
			if got := l.recall(tc.user, tc.recorded); got != tc.want {
				t.Errorf("recall = %d, want %d", got, tc.want)
			}
		})
	}
}

// places is a source of winners that tests hold up and break.
type places struct {
	users []int64
	loads atomic.Int64
	fails atomic.Int64  // so many readings fail
	held  chan struct{} // not nil: readings wait for it, or for their context
}

func (p *places) Holders(ctx context.Context, _ SaleRef) iter.Seq2[Claim, error] {
	return func(yield func(Claim, error) bool) {
		p.loads.Add(1)
		if p.held != nil {
			select {
			case <-p.held:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil || p.fails.Add(-1) >= 0 {
			yield(Claim{}, errAway)
			return
		}
		for _, user := range append(p.users, p.users...) { // one may come twice
			if !yield(Claim{UserID: user}, nil) {
				return
			}
		}
	}
}

// soldOutGate says that all is sold, slowly.
type soldOutGate struct {
	calls  atomic.Int64
	buyers atomic.Int64
	slow   time.Duration
}

func (g *soldOutGate) Admit(_ context.Context, b Batch) (Verdict, error) {
	g.calls.Add(1)
	time.Sleep(g.slow)
	v := Verdict{View: soldOutView(g.buyers.Load()), Outcomes: make([]Outcome, len(b.Applicants))}
	for i := range v.Outcomes {
		v.Outcomes[i].Code = SoldOut
	}
	return v, nil
}

func newSoldOut(t testing.TB, p *places, slow time.Duration) (*Admission, *soldOutGate) {
	t.Helper()
	gate := &soldOutGate{slow: slow}
	gate.buyers.Store(int64(len(p.users)))
	v := at(1, 0)
	v.ID = soldOutSale
	catalog := NewCatalog(&fakeSales{kept: []voucher.Voucher{v}})
	t.Cleanup(catalog.Close)
	a := NewAdmission(AdmissionStores{Gate: gate, Winners: p, Rows: &fakeRows{}}, catalog, NewDiary(), unmoved{}, deaf{}, 100, quiet())
	return a, gate
}

// soldOutSale is the voucher whose sale is sold out: of an id that an interface does not hold for nothing.
const soldOutSale int64 = 1 << 40

// refuse has a user told that all is sold.
func refuse(t testing.TB, a *Admission, user int64) {
	t.Helper()
	if err := a.Apply(t.Context(), soldOutSale, Applicant{UserID: user, OrderID: 1000 + user}); !errors.Is(err, ErrSoldOut) {
		t.Errorf("user %d: error = %v, want ErrSoldOut", user, err)
	}
}

// TestSoldOutAsksOneAtATime: while all is sold, one applicant goes to Redis in each half of a memory's time, and those
// who come while he is on his way are answered at once.
func TestSoldOutAsksOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, gate := newSoldOut(t, &places{users: evenUsers(5)}, 10*time.Millisecond)
		refuse(t, a, 1)
		synctest.Wait() // the winners are loaded
		gate.calls.Store(0)
		var slow atomic.Int64
		for range 200 { // two seconds
			time.Sleep(10 * time.Millisecond)
			for user := range int64(20) {
				go func() {
					start := time.Now()
					refuse(t, a, 2*user+1)
					if time.Since(start) > 0 {
						slow.Add(1)
					}
				}()
			}
			synctest.Wait()
		}
		if calls := gate.calls.Load(); calls < 3 || calls > 4 || slow.Load() != calls {
			t.Errorf("%d calls, %d of 4000 waited for one; want 3 or 4 of each", calls, slow.Load())
		}
		gate.calls.Store(0)
		for user := range int64(5) {
			refuse(t, a, 2*user+2)
		}
		if gate.calls.Load() != 5 {
			t.Errorf("%d calls for five winners", gate.calls.Load())
		}
		a.Close()
	})
}

// TestRenewalFails: when the one who renews gets no answer, another may, and nobody is answered once the time is over.
func TestRenewalFails(t *testing.T) {
	t.Parallel()
	l := remembering(10)
	l.last.Load().asked = time.Now().Add(-SoldOutMemory * 3 / 4)
	if got := []recollection{l.recall(1, Mark{}), l.recall(3, Mark{})}; !slices.Equal(got, []recollection{renewMemory, soldOut}) {
		t.Errorf("recall = %v", got)
	}
	l.memory.renewed.Store(false)
	if got := l.recall(5, Mark{}); got != renewMemory {
		t.Errorf("after the first has given up: recall = %d", got)
	}
}

// TestWinnersAreLoadedOnce: one reading at a time, one for each mark, none while the last one is paid for, and again
// after one that failed.
func TestWinnersAreLoadedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &places{users: evenUsers(5), held: make(chan struct{})}
		a, gate := newSoldOut(t, p, 0)
		loads := func(want int64) {
			t.Helper()
			synctest.Wait()
			if got := p.loads.Load(); got != want {
				t.Errorf("%d readings, want %d", got, want)
			}
		}
		for range 10 {
			refuse(t, a, 1) // winners are not known yet, so all ask Redis
		}
		loads(1)
		time.Sleep(100 * time.Millisecond)
		close(p.held)
		loads(1)
		refuse(t, a, 1)
		if gate.calls.Load() != 10 {
			t.Errorf("%d calls, want 10 before the winners were known and none after", gate.calls.Load())
		}
		l, _ := a.lines.Load(soldOutSale)
		if winners := l.(*line).memory.winners.Load(); !slices.Equal(winners.users, p.users) {
			t.Errorf("winners %v, want %v", winners.users, p.users)
		}

		// The mark moves: the winners are read again, though not before the first reading is paid for.
		gate.buyers.Store(4)
		time.Sleep(SoldOutMemory)
		p.fails.Store(2)
		refuse(t, a, 1)
		loads(2) // and fails
		refuse(t, a, 1)
		loads(2)
		time.Sleep(longPause)
		refuse(t, a, 1)
		loads(3) // and fails
		time.Sleep(longPause)
		refuse(t, a, 1)
		loads(4)
		refuse(t, a, 1)
		loads(4)
		a.Close()
	})
}

// TestLoadingIsPaidFor: marks that move all the time do not have an instance read places all the time.
func TestLoadingIsPaidFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &places{users: evenUsers(5), held: make(chan struct{})}
		a, gate := newSoldOut(t, p, 0)
		refuse(t, a, 1)
		time.Sleep(time.Second)
		close(p.held)
		synctest.Wait()
		for buyers := range int64(60) { // six seconds
			time.Sleep(100 * time.Millisecond)
			gate.buyers.Store(100 + buyers)
			refuse(t, a, 2) // a winner, who always asks Redis
			synctest.Wait()
			if want := 1 + int64(max(0, int(buyers)-48)); buyers < 49 && p.loads.Load() != want {
				t.Fatalf("%d readings after %d ms, want %d", p.loads.Load(), 100*(buyers+1), want)
			}
		}
		if p.loads.Load() < 5 {
			t.Errorf("%d readings after six seconds", p.loads.Load())
		}
		a.Close()
	})
}

// TestCloseEndsLoading: what is only read to be remembered keeps nobody from stopping.
func TestCloseEndsLoading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &places{users: evenUsers(5), held: make(chan struct{})}
		a, _ := newSoldOut(t, p, 0)
		refuse(t, a, 1)
		synctest.Wait()
		start := time.Now()
		a.Close()
		if waited := time.Since(start); p.loads.Load() != 1 || waited > 0 {
			t.Errorf("%d readings, waited for %v; want 1 and no waiting", p.loads.Load(), waited)
		}
	})
}

// soldOutOf is an admission that remembers a sale as sold out to so many, for an hour.
func soldOutOf(t testing.TB, buyers int64) *Admission {
	t.Helper()
	a, _ := newSoldOut(t, &places{users: evenUsers(buyers)}, 0)
	t.Cleanup(a.Close)
	refuse(t, a, 1)
	a.serving.Wait()
	l, _ := a.lines.Load(soldOutSale)
	l.(*line).last.Load().asked = time.Now().Add(time.Hour)
	return a
}
