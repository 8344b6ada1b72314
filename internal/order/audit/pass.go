package audit

import (
	"maps"
	"slices"
	"time"

	"seckill/internal/voucher"
)

// pass is one pass of the auditor: which partitions it checks, and how those checks went.
type pass struct {
	silent     *silence
	partitions map[int64]int // by sale
	failures   map[int]int   // in a row, by partition
	probe      int           // the silent partition in which one more check is allowed, or noPartition
	checked    bool          // at least one check was made or tried
	busy       time.Duration // time spent on stores, without checks that hung
	some       bool          // at least one sale could be checked
	err        error         // why no sale could be checked
}

func newPass(silent *silence, vs []voucher.Voucher) *pass {
	partitions := make(map[int64]int, len(vs))
	for _, v := range vs {
		partitions[v.ID] = v.Sale.Partition
	}
	silent.keep(partitions)
	return &pass{silent: silent, partitions: partitions, failures: map[int]int{}, probe: silent.next()}
}

// over reports whether the pass has used its time, and has made at least one check.
func (p *pass) over() bool { return p.checked && p.busy >= passTime }

// asks reports whether to check the sale. It returns false if its partition's checks keep failing. In a silent
// partition it returns true only for the first sale, and only in the partition's turn.
func (p *pass) asks(id int64) bool {
	in := p.partitions[id]
	if p.failures[in] >= maxFailures || p.silent.of(in) && in != p.probe {
		return false
	}
	if in == p.probe {
		p.probe = noPartition
	}
	return true
}

// note records how the check of a sale went.
func (p *pass) note(id int64, failed error, took time.Duration) {
	in := p.partitions[id]
	p.checked = true
	if !p.silent.note(in, failed, took) {
		p.busy += took
	}
	switch {
	case failed == nil:
		p.failures[in], p.some, p.err = 0, true, nil
	case p.some:
		p.failures[in]++
	default:
		p.failures[in], p.err = p.failures[in]+1, failed
	}
}

// away reports whether the stores count as away: every partition is silent or has maxFailures failed checks in a row.
func (p *pass) away() bool {
	for _, in := range p.partitions {
		if p.failures[in] < maxFailures && !p.silent.of(in) {
			return false
		}
	}
	return true
}

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
	silent := slices.DeleteFunc(slices.Sorted(maps.Keys(s.hung)), func(p int) bool { return !s.of(p) })
	if len(silent) == 0 {
		s.probed = noPartition
		return noPartition
	}
	next, _ := slices.BinarySearch(silent, s.probed+1)
	s.probed = silent[next%len(silent)]
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
