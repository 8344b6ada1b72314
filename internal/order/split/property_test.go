package split_test

import (
	"testing"

	"pgregory.net/rapid"
)

// However sales, returns, corrections, late payments, moves and rebuilds of k shares interleave with the reads of two looks:
// SOLD_OUT is said only if there was a moment between at which nothing could be sold and nothing was on its way; while it is said
// from memory nothing can be bought; no unit is lost or sold twice; and in the end the last unit sells, to whichever share's buyers.
func TestSoldOutIsTrueAndTheLastUnitSells(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(rapid.SliceOfN(rapid.Int64Range(0, 2), 1, 4).Draw(t, "stock")...)
		for range rapid.IntRange(10, 150).Draw(t, "steps") {
			step(t, m)
			if err := m.after(); err != nil {
				t.Fatal(err)
			}
		}
		finish(t, m)
	})
}

// steps are what can happen, each as often as it is here.
var steps = []string{
	"buy", "buy", "look", "look", "look", "look", "look", "cancel", "correct", "revive", "move", "move", "apply", "apply", "apply",
	"complete", "complete", "rebuild", "rebuild", "pass",
}

// step takes one step of the sale or of the looks.
func step(t *rapid.T, m *modelSale) {
	i := rapid.IntRange(0, len(m.shares)-1).Draw(t, "share")
	switch rapid.SampledFrom(steps).Draw(t, "step") {
	case "buy":
		m.buy(i)
	case "look":
		if _, err := m.look(); err != nil {
			t.Fatal(err)
		}
	case "cancel":
		m.cancel(i)
	case "correct":
		m.correct(i)
	case "revive":
		m.revive(i)
	case "move":
		if to := rapid.IntRange(0, len(m.shares)-1).Draw(t, "to"); to != i {
			m.move(i, to, rapid.Int64Range(1, 2).Draw(t, "units"))
		}
	case "apply":
		m.apply(i)
	case "complete": // of any operation: replies come late and twice
		if n := int64(len(m.shares[i].ops)); n > 0 {
			m.complete(i, rapid.Int64Range(1, n).Draw(t, "number"))
		}
	case "rebuild":
		m.rebuild(i)
	case "pass":
		m.now += rapid.SampledFrom([]int64{100, 500, 1010}).Draw(t, "milliseconds")
	}
}

// finish has the rest sold to the buyers of one share.
func finish(t *rapid.T, m *modelSale) {
	m.looks.first, m.looks.second = nil, nil
	if err := m.settle(); err != nil {
		t.Fatal(err)
	}
	if err := m.sellOut(rapid.IntRange(0, len(m.shares)-1).Draw(t, "buyers")); err != nil {
		t.Fatal(err)
	}
	if left := m.free(); left > 0 {
		t.Fatalf("%d units are left", left)
	}
}
