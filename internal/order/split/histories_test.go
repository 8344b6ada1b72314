package split_test

import (
	"strings"
	"testing"

	"seckill/internal/order"
	"seckill/internal/order/split"
)

// Each history has a unit free at every moment, and no share has one when it is read. A check that leaves out one of the
// comparisons says SOLD_OUT in one of them; SoldOut in none.
func TestHistoriesThatNeedEachComparison(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		careless func(first, second split.Look) (bool, bool)
		run      func(h *script)
	}{
		"one look is not enough": {
			careless: func(first, _ split.Look) (bool, bool) { return split.SoldOut(first, first) },
			run: func(h *script) {
				h.buy(0)
				h.look(1)
				h.returned(0)
				h.buy(1)
				h.look(3)
			},
		},
		"a unit is on its way": {
			careless: without(func(s *split.Share) { s.MovedOut, s.MovedIn = 0, 0 }),
			run: func(h *script) {
				h.buy(0)
				h.m.move(1, 0, 1)
				h.m.apply(1)
				h.look(4)
			},
		},
		"returned by operations": {
			careless: without(func(s *split.Share) { s.Operation = 0 }),
			run:      func(h *script) { h.handedRound(h.returned) },
		},
		"returned by corrections": {
			careless: without(func(s *split.Share) { s.Corrected = 0 }),
			run:      func(h *script) { h.handedRound(h.corrected) },
		},
		"found by rebuilds": {
			careless: without(func(s *split.Share) { s.Epoch, s.Operation = 0, 0 }),
			run:      func(h *script) { h.handedRound(h.rebuilt) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			right := &script{m: newModel(1, 1)}
			tc.run(right)
			if right.err != nil || right.soldOut {
				t.Errorf("SoldOut says so: %t, %v", right.soldOut, right.err)
			}
			wrong := &script{m: newModel(1, 1)}
			wrong.m.judge = tc.careless
			tc.run(wrong)
			if wrong.err == nil || !strings.Contains(wrong.err.Error(), "free at each moment") {
				t.Errorf("the model did not notice that SOLD_OUT was wrong: %v", wrong.err)
			}
		})
	}
}

// A move that gives before Redis has said whether there is anything to take sells a unit twice: the model notices.
func TestGivingBeforeTakingIsNoticed(t *testing.T) {
	t.Parallel()
	m := newModel(0, 1)
	m.move(1, 0, 1)
	m.shares[0].units++
	m.shares[0].ops = append(m.shares[0].ops, &modelOperation{kind: modelMove, delta: 1})
	m.apply(0)
	if !m.buy(0) || !m.buy(1) {
		t.Fatal("the unit was not sold twice")
	}
	if err := m.check(); err == nil {
		t.Error("and nobody noticed")
	}
}

// without judges with a field of all shares left out.
func without(forget func(*split.Share)) func(first, second split.Look) (bool, bool) {
	return func(first, second split.Look) (bool, bool) {
		for _, look := range []split.Look{first, second} {
			for i := range look {
				forget(&look[i])
			}
		}
		return split.SoldOut(first, second)
	}
}

// script is a history of the model that is written down. It keeps the first error.
type script struct {
	m       *modelSale
	soldOut bool
	err     error
}

func (h *script) then(err error) {
	if h.err == nil {
		h.err = err
	}
	if err := h.m.after(); h.err == nil {
		h.err = err
	}
}

func (h *script) buy(share int) {
	h.m.buy(share)
	h.then(nil)
}

// look reads so many shares.
func (h *script) look(reads int) {
	for range reads {
		soldOut, err := h.m.look()
		h.soldOut = h.soldOut || soldOut
		h.then(err)
	}
}

// returned, corrected and rebuilt put the unit that a share has sold on sale there again.
func (h *script) returned(share int) {
	h.m.cancel(share)
	h.m.apply(share)
	h.m.now += order.ReturnDelay.Milliseconds()
	h.then(nil)
}

func (h *script) corrected(share int) {
	h.m.correct(share)
	h.m.now += order.ReturnDelay.Milliseconds()
	h.then(nil)
}

func (h *script) rebuilt(share int) {
	h.m.cancel(share)
	for range 3 {
		h.m.rebuild(share)
	}
	h.m.now += order.ReturnDelay.Milliseconds()
	h.then(nil)
}

// handedRound has two units sold and put back so that one is always free, and never where it is looked for.
func (h *script) handedRound(back func(share int)) {
	h.buy(0)
	h.look(1)
	back(0)
	h.buy(1)
	h.look(1)
	back(1)
	h.buy(0)
	h.look(1)
	back(0)
	h.buy(1)
	h.look(1)
}
