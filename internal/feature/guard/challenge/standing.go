package challenge

import (
	"hash/maphash"
	"math"
	"net/netip"
	"time"
)

const (
	standingSets  = 1 << 12
	standingCells = 8
	// halfLife is the time in which half of a network's score is forgotten.
	halfLife = time.Minute
	// bestScore and worstScore bound a score, so that no network collects more than a few minutes can forget.
	bestScore  = -16
	worstScore = 4096
)

// standing scores networks by their use of the puzzles that they were given lately; lower is better. Getting a puzzle
// raises the score by one, solving it lowers the score by two. So networks that solve come before new ones, and
// networks that ask and do not solve come last. Each puzzle puts its network behind the others, so networks take turns.
//
// It has a fixed size, 1.5 MB. In a set where all cells are taken, the score nearest to zero is forgotten. The caller
// locks.
type standing struct {
	seed maphash.Seed
	sets [][standingCells]score
}

type score struct {
	network netip.Prefix // zero: the cell is free, or has callers whose address is not known
	value   float64
	at      int64 // Unix nanoseconds
}

func newStanding() *standing {
	return &standing{seed: maphash.MakeSeed(), sets: make([][standingCells]score, standingSets)}
}

// of returns a network's score; 0 if it is unknown.
func (s *standing) of(network netip.Prefix, now time.Time) float64 {
	set := s.set(network)
	for i := range set {
		if set[i].network == network {
			return set[i].after(now)
		}
	}
	return 0
}

// add changes a network's score.
func (s *standing) add(network netip.Prefix, by float64, now time.Time) {
	set := s.set(network)
	cell := &set[0]
	for i := range set {
		if set[i].network == network {
			cell = &set[i]
			break
		}
		if math.Abs(set[i].after(now)) < math.Abs(cell.after(now)) {
			cell = &set[i]
		}
	}
	was := 0.0
	if cell.network == network {
		was = cell.after(now)
	}
	*cell = score{network: network, value: min(max(was+by, bestScore), worstScore), at: now.UnixNano()}
}

func (s *standing) set(network netip.Prefix) *[standingCells]score {
	return &s.sets[maphash.Comparable(s.seed, network)%standingSets]
}

// after returns the score, decayed until now.
func (s *score) after(now time.Time) float64 {
	if s.value == 0 {
		return 0
	}
	return s.value * math.Exp2(-float64(now.UnixNano()-s.at)/float64(halfLife))
}
