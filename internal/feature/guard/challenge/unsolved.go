package challenge

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

const (
	unsolvedSets  = 1 << 12
	unsolvedCells = 8
	// enoughTime is how long a challenge must still be valid to be given again: a slow telephone solves the hardest
	// within a second.
	enoughTime = 10 * time.Second
)

// unsolved has the challenges that were given out and are not solved: an account that asks again gets the same
// challenge, so that asking again gains nothing and costs no puzzle. It has a fixed size, 5 MB, allocated at the first
// challenge. In a set where all cells are taken, the oldest is forgotten: its account gets another challenge, and the
// solution of the forgotten one stays valid. It is safe for concurrent use.
type unsolved struct {
	seed maphash.Seed
	once sync.Once
	sets []unsolvedSet
}

type unsolvedSet struct {
	mu    sync.Mutex
	cells [unsolvedCells]given
}

// given is a challenge that an account was given.
type given struct {
	sale, user int64
	network    netip.Prefix
	expires    int64 // seconds since 1970; 0: the cell is free
	salt       uint16
	difficulty uint8
	solved     bool // it was solved: its solution is not new any more
	puzzle     puzzle
}

func newUnsolved() *unsolved { return &unsolved{seed: maphash.MakeSeed()} }

// find returns the account's unsolved challenge of the same network, if it is valid for enoughTime.
func (u *unsolved) find(sale, user int64, network netip.Prefix, now time.Time) (found given, is bool) {
	s := u.set(sale, user)
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.of(sale, user); g != nil && !g.solved && g.network == network &&
		g.expires >= now.Add(enoughTime).Unix() {
		return *g, true
	}
	return given{}, false
}

// of returns the account's cell, or nil. The caller holds the lock.
func (s *unsolvedSet) of(sale, user int64) *given {
	for i := range s.cells {
		if g := &s.cells[i]; g.sale == sale && g.user == user {
			return g
		}
	}
	return nil
}

// put remembers a challenge, and replaces the account's previous one.
func (u *unsolved) put(g given) {
	s := u.set(g.sale, g.user)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(g)
}

// put implements unsolved.put in a set that the caller has locked.
func (s *unsolvedSet) put(g given) {
	into := s.of(g.sale, g.user)
	if into == nil {
		into = &s.cells[0]
		for i := range s.cells {
			if s.cells[i].expires < into.expires {
				into = &s.cells[i]
			}
		}
	}
	*into = g
}

// solve notes that an account has solved a challenge, which another instance may have given out. It reports whether
// this is the first time: the same solution may be sent twice.
func (u *unsolved) solve(solved given) (news bool) {
	s := u.set(solved.sale, solved.user)
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.of(solved.sale, solved.user); g != nil {
		news = g.puzzle.nonce == solved.puzzle.nonce && !g.solved
		g.solved = g.solved || news
		return news
	}
	solved.solved = true
	s.put(solved)
	return true
}

func (u *unsolved) set(sale, user int64) *unsolvedSet {
	u.once.Do(func() { u.sets = make([]unsolvedSet, unsolvedSets) })
	return &u.sets[maphash.Comparable(u.seed, [2]int64{sale, user})%unsolvedSets]
}
