package challenge

import (
	"testing"

	"seckill/internal/voucher/guards"
)

// TestDraw holds that a challenge's counter is any below its difficulty: who begins to search elsewhere than at
// nought gains nothing.
func TestDraw(t *testing.T) {
	t.Parallel()
	for difficulty := guards.MinDifficulty; difficulty <= guards.MaxDifficulty; difficulty++ {
		const each = 400
		found := make([]int, difficulty)
		for range difficulty * each {
			found[draw(difficulty)]++
		}
		for counter, n := range found {
			if n < each/2 || n > 2*each {
				t.Errorf("of %d below %d the counter %d was drawn %d times", difficulty*each, difficulty, counter, n)
			}
		}
	}
}

// TestPoolIsBounded holds that a flood is served from what was made, and that no more is made than fits.
func TestPoolIsBounded(t *testing.T) {
	t.Parallel()
	p := newPool(PoolDepth)
	p.most = 4
	for {
		counter, missing := p.scarcest()
		if !missing {
			break
		}
		p.put(counter, puzzle{})
	}
	served := 0
	for {
		found, _ := p.try(4)
		if found == nil {
			break
		}
		served++
	}
	if most := 4 * PoolDepth; served > most || served < most/2 {
		t.Errorf("%d puzzles were served of %d", served, most)
	}
}
