package audit

import (
	"time"

	"seckill/internal/voucher"
)

// pass is how a pass of the auditor goes: which partitions are asked, and how their checks went.
type pass struct {
	silent     *silence
	partitions map[int64]int // of the sales
	failures   map[int]int   // by partition: in a row
	probe      int           // the silent partition that has one check yet, or noPartition
	checked    bool          // one sale at least, or tried to
	busy       time.Duration // for how long stores were asked; checks that hung do not count
	some       bool          // of the sales are checked, whatever becomes of the others
	err        error         // why none is checked
}

func newPass(silent *silence, vs []voucher.Voucher) *pass {
	partitions := partitionsOf(vs)
	silent.keep(partitions)
	return &pass{silent: silent, partitions: partitions, failures: map[int]int{}, probe: silent.next()}
}

// over reports whether the pass has had its time, once a sale is checked.
func (p *pass) over() bool { return p.checked && p.busy >= passTime }

// asks reports whether the sale is checked: not in a partition whose checks fail, and in a silent one only the first
// when it has its turn.
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

// note notes how the check of a sale went.
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

// away reports whether so many checks in a row have failed in each partition, or hung, that the stores count as away.
// Where only some have, the sales of the others are checked.
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
