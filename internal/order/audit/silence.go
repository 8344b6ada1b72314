package audit

import (
	"maps"
	"slices"
	"time"
)

// noPartition is the number of none.
const noPartition = -1

// silence is which partitions are silent: checks of their sales hang, since the Redis node of a partition may be away
// alone. A hung check takes seconds, so a silent partition gets one check in a pass that has its turn, until one no
// longer hangs.
type silence struct {
	hung   map[int]int // by partition: checks in a row
	probed int         // the partition that had the last turn
}

func newSilence() silence { return silence{hung: map[int]int{}, probed: noPartition} }

func (s *silence) of(partition int) bool { return s.hung[partition] >= maxFailures }

// next returns the silent partition whose turn it is, or noPartition.
func (s *silence) next() int {
	first, after := noPartition, noPartition
	for p := range s.hung {
		switch {
		case !s.of(p):
		case p > s.probed && (after == noPartition || p < after):
			after = p
		case first == noPartition || p < first:
			first = p
		}
	}
	s.probed = after
	if after == noPartition {
		s.probed = first
	}
	return s.probed
}

// note notes how a check of one of the partition's sales went, and reports whether it hung.
func (s *silence) note(partition int, failed error, took time.Duration) (hung bool) {
	if failed == nil || took < passTime {
		delete(s.hung, partition)
		return false
	}
	s.hung[partition]++
	return true
}

// keep forgets partitions that have no sales any more: they have no turns.
func (s *silence) keep(partitions map[int64]int) {
	with := slices.Collect(maps.Values(partitions))
	maps.DeleteFunc(s.hung, func(p, _ int) bool { return !slices.Contains(with, p) })
}
