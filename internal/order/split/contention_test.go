package split_test

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Buyers in every share want all units that are left, and no share has more than one: what one share gathers the others do not
// carry off for ever, so one of them has all units soon.
func TestBuyersOfAllSharesWantAllUnits(t *testing.T) {
	t.Parallel()
	const step, limit = 5, 5 * time.Second
	for seed := range uint64(50) {
		m := newModel(make([]int64, 16)...)
		for _, s := range m.shares {
			s.stock, s.units = 1, 1
			m.total++
		}
		pullers, moving := make([]*modelPuller, len(m.shares)), map[[2]int]bool{}
		for i := range pullers {
			pullers[i] = &modelPuller{m: m, share: i, wants: m.total, moving: moving}
		}
		random := rand.New(rand.NewPCG(seed, 0))
		served := false
		for ; !served && m.now < limit.Milliseconds(); m.now += step {
			for _, i := range random.Perm(len(pullers)) {
				if random.IntN(4) > 0 { // steps take 5 ms and more
					served = served || pullers[i].step()
				}
			}
			if err := m.check(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if !served {
			t.Errorf("seed %d: after %s nobody has all units: %+v", seed, limit, m.lookNow())
		}
	}
}

// modelPuller pulls units to a share until it has as many as a buyer wants, as admission's does; a step of it is one call of a store.
type modelPuller struct {
	m       *modelSale
	share   int
	wants   int64
	until   int64           // it does nothing before
	moving  map[[2]int]bool // the pairs of shares between which a move is pending: one at a time
	pending func()
}

// step takes the next step, and reports whether the share has enough.
func (p *modelPuller) step() bool {
	own := p.m.read(p.share).Sellable
	switch {
	case p.pending != nil:
		next := p.pending
		p.pending = nil
		next()
	case own >= p.wants:
		return true
	case p.m.now >= p.until:
		pull, ok := p.m.lookNow().PullFor(p.share, p.wants-own, p.wants)
		if !ok {
			p.until = p.m.now + 50
			break
		}
		if pair := [2]int{min(pull.From, p.share), max(pull.From, p.share)}; !p.moving[pair] { // else what is moving is waited for
			p.moving[pair] = true
			p.pending = func() { p.take(pull.From, pull.Units, pair) }
		}
	}
	return false
}

// take has units taken, and if there were as many, then given.
func (p *modelPuller) take(from int, units int64, pair [2]int) {
	p.m.move(from, p.share, units)
	p.m.apply(from)
	number := int64(len(p.m.shares[from].ops))
	p.pending = func() {
		p.m.complete(from, number)
		for to := p.m.shares[p.share]; to.op < int64(len(to.ops)); {
			p.m.apply(p.share)
		}
		delete(p.moving, pair)
	}
}
