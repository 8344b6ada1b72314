package audit

import (
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
	partitions := partitionsOf(vs)
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

// partitionsOf returns the partition of each sale.
func partitionsOf(vs []voucher.Voucher) map[int64]int {
	partitions := make(map[int64]int, len(vs))
	for _, v := range vs {
		partitions[v.ID] = v.Sale.Partition
	}
	return partitions
}
