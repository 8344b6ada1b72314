package audit

import (
	"maps"
	"slices"
	"time"
)

// noPartition stands for no partition.
const noPartition = -1

// silence knows which partitions are silent: the last maxFailures checks of their sales hung. One partition's Redis
// node may be away alone. A hung check takes seconds, so each pass makes only one check in one silent partition, in
// turn, until a check no longer hangs.
type silence struct {
	hung   map[int]int // hung checks in a row, by partition
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

// note records how a check of one of the partition's sales went, and reports whether it hung.
func (s *silence) note(partition int, failed error, took time.Duration) (hung bool) {
	if failed == nil || took < passTime {
		delete(s.hung, partition)
		return false
	}
	s.hung[partition]++
	return true
}

// keep forgets partitions that have no sales any more, so that they get no turns.
func (s *silence) keep(partitions map[int64]int) {
	with := slices.Collect(maps.Values(partitions))
	maps.DeleteFunc(s.hung, func(p, _ int) bool { return !slices.Contains(with, p) })
}
