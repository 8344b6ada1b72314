package challenge

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"seckill/internal/voucher/guards"
)

// TestDraw holds that a challenge's counter is any below its difficulty: who begins to search elsewhere than at
// nought gains nothing.
func TestDraw(t *testing.T) {
	t.Parallel()
	for difficulty := guards.MinDifficulty; difficulty <= guards.MaxDifficulty; difficulty++ {
		const each = 400
		found := make([]int, difficulty)
		for range difficulty * each {
			found[draw(difficulty)]++
		}
		for counter, n := range found {
			if n < each/2 || n > 2*each {
				t.Errorf("of %d below %d the counter %d was drawn %d times", difficulty*each, difficulty, counter, n)
			}
		}
	}
}

// nets are networks that nobody knows yet.
func nets() (a, b, c netip.Prefix) {
	return netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"),
		netip.MustParsePrefix("2001:db8::/48")
}

// full returns a pool whose reserve is full.
func full(most int) *pool {
	p := newPool(PoolDepth)
	p.most = most
	for {
		counter, missing := p.scarcest()
		if !missing {
			return p
		}
		p.put(counter, puzzle{})
	}
}

// drain takes from the reserve for a network for as long as there is any for it.
func drain(t *testing.T, p *pool, network netip.Prefix) (taken int) {
	t.Helper()
	for {
		found, waits := p.ask(network, p.most)
		if found == nil {
			if waits != nil {
				_, _ = p.leave(waits)
			}
			return taken
		}
		taken++
	}
}

// TestPoolIsBounded holds that no more is made than fits, and that one network that solves nothing takes a small part
// of it, however often it asks: a hundred of them leave enough for those who come then.
func TestPoolIsBounded(t *testing.T) {
	t.Parallel()
	p := full(16)
	if p.stock != 16*PoolDepth {
		t.Fatalf("%d puzzles are ready", p.stock)
	}
	one, _, other := nets()
	if n := drain(t, p, one); n < 32 || n > reserveScore {
		t.Errorf("one network took %d of %d", n, 16*PoolDepth)
	}
	if n := drain(t, p, other); n < 32 {
		t.Errorf("then another took %d", n)
	}
	for i := range 100 {
		drain(t, p, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 0}), 24))
	}
	if p.stock < 16*PoolDepth/10 {
		t.Errorf("a hundred networks that solve nothing left %d", p.stock)
	}
}

// TestNetworksTakeTurns holds that who waits is served by turns of their networks: those that solved lately first, then
// those that are new, then those that asked and solved nothing; each goes behind the others once it was served. Within
// one, the first who came is first.
func TestNetworksTakeTurns(t *testing.T) {
	t.Parallel()
	p := newPool(PoolDepth)
	idle, solves, fresh := nets()
	wait := func(network netip.Prefix) *waiter {
		t.Helper()
		found, w := p.ask(network, 16)
		if found != nil || w == nil {
			t.Fatalf("%s: %v, %v; want a place", network, found, w)
		}
		return w
	}
	first := wait(idle)
	if p.next() != first || p.next() != nil {
		t.Fatal("the only one who waited was not served")
	}
	p.solved(solves)
	want := []*waiter{nil, nil, nil, nil, nil}
	want[2], want[4] = wait(idle), wait(idle)
	want[1], want[3] = wait(fresh), wait(fresh)
	want[0] = wait(solves)
	for i, w := range want {
		if got := p.next(); got != w {
			t.Errorf("the %dth was %s's", i, got.network)
		}
	}
}

// TestLessPatientNetworksYield holds that those who wait from one network keep nobody of another out: where all places
// are taken, who comes last gives theirs up.
func TestLessPatientNetworksYield(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(PoolDepth)
		crowd, _, person := nets()
		p.standing = newStanding()
		p.standing.add(crowd, 1, time.Now())
		var all sync.WaitGroup
		var sentAway atomic.Int64
		for range 1000 {
			all.Go(func() {
				if _, err := p.take(t.Context(), crowd, 16); errors.Is(err, ErrBusy) {
					sentAway.Add(1)
				}
			})
		}
		synctest.Wait()
		if n := sentAway.Load(); n != 1000-poolWaiting {
			t.Errorf("%d were sent away at once", n)
		}
		served := make(chan error, 1)
		go func() {
			_, err := p.take(t.Context(), person, 16)
			served <- err
		}()
		synctest.Wait()
		w := p.next()
		if w == nil || w.network != person {
			t.Fatalf("first comes %+v", w)
		}
		w.given <- puzzle{}
		if err := <-served; err != nil {
			t.Errorf("the person: %v", err)
		}
		all.Wait()
	})
}

// TestStandingForgets holds that a score halves in a minute, stays within its bounds, and that a million networks take
// no more memory than one.
func TestStandingForgets(t *testing.T) {
	t.Parallel()
	s, now := newStanding(), time.Unix(1_800_000_000, 0)
	one, other, _ := nets()
	for range 10_000 {
		s.add(one, 1, now)
		s.add(other, -2, now)
	}
	if s.of(one, now) != worstScore || s.of(other, now) != bestScore {
		t.Errorf("%v and %v", s.of(one, now), s.of(other, now))
	}
	if got := s.of(one, now.Add(halfLife)); got != worstScore/2 {
		t.Errorf("after a minute %v", got)
	}
	for i := range 1_000_000 {
		s.add(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32), 1, now)
	}
	if got := s.of(one, now); got != worstScore {
		t.Errorf("a million others had it forgotten: %v", got)
	}
	if size := unsafe.Sizeof(score{}) * standingSets * standingCells; size > 2_000_000 {
		t.Errorf("%d bytes", size)
	}
}

// TestUnsolvedHasAFixedSize holds that accounts that ask once drive out others that did, and take no more memory.
func TestUnsolvedHasAFixedSize(t *testing.T) {
	t.Parallel()
	u, now := newUnsolved(), time.Unix(1_800_000_000, 0)
	for user := range int64(200_000) {
		u.put(given{sale: 1, user: user, expires: now.Add(time.Minute).Unix()})
	}
	known := 0
	for user := range int64(200_000) {
		if _, is := u.find(1, user, netip.Prefix{}, now); is {
			known++
		}
	}
	if known != unsolvedSets*unsolvedCells {
		t.Errorf("%d are known", known)
	}
	if size := unsafe.Sizeof(given{}) * unsolvedSets * unsolvedCells; size > 5_000_000 {
		t.Errorf("%d bytes", size)
	}
}
