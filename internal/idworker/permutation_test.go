package idworker

import (
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPermutationIsSpeck checks the test vector of Speck32/64 from appendix C of its paper.
func TestPermutationIsSpeck(t *testing.T) {
	t.Parallel()
	p := newPermutation([16]byte{0x19, 0x18, 0x11, 0x10, 0x09, 0x08, 0x01, 0x00})
	if got := p.scramble(0x6574694c); got != 0xa86842f2 {
		t.Errorf("scramble(0x6574694c) = %#x, want 0xa86842f2", got)
	}
	if got := p.unscramble(0xa86842f2); got != 0x6574694c {
		t.Errorf("unscramble(0xa86842f2) = %#x, want 0x6574694c", got)
	}
}

func TestPermutationUsesTheWholeKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := key(t)
		number := rapid.Uint32().Draw(t, "number")
		other := k
		other[rapid.IntRange(0, 15).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if a, b := newPermutation(k), newPermutation(other); a.scramble(number) == b.scramble(number) &&
			a.scramble(number+1) == b.scramble(number+1) {
			t.Fatalf("keys %x and %x scramble alike", k, other)
		}
	})
}

// TestPermutationOfRuns checks that consecutive numbers, as in a block, map one to one, out of order and far apart.
func TestPermutationOfRuns(t *testing.T) {
	t.Parallel()
	const run = 1 << 18
	p := newPermutation([16]byte{15: 1})
	for _, start := range []uint32{0, 1<<31 - run/2, 1<<32 - run} {
		places := make([]uint32, 0, run)
		ascending, flipped := 0, 0
		for i := range uint32(run) {
			place := p.scramble(start + i)
			places = append(places, place)
			next := p.scramble(start + i + 1)
			if next > place {
				ascending++
			}
			flipped += bits.OnesCount32(place ^ next)
			if got := p.unscramble(place); got != start+i {
				t.Fatalf("unscramble(scramble(%d)) = %d", start+i, got)
			}
		}
		slices.Sort(places)
		if got := len(slices.Compact(places)); got != run {
			t.Errorf("from %d on, %d numbers map to only %d scrambled ones", start, run, got)
		}
		if share := float64(ascending) / run; share < 0.49 || share > 0.51 {
			t.Errorf("from %d on, %.3f of the scrambled numbers are above the previous one, want about a half",
				start, share)
		}
		if mean := float64(flipped) / run; mean < 15.9 || mean > 16.1 {
			t.Errorf("from %d on, %.2f bits change from one to the next, want about 16", start, mean)
		}
	}
}

func FuzzPermutation(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), uint32(1), uint32(2))
	f.Add([]byte{}, uint32(0), uint32(1<<32-1))
	f.Fuzz(func(t *testing.T, raw []byte, a, b uint32) {
		var k [16]byte
		copy(k[:], raw)
		p := newPermutation(k)
		if got := p.unscramble(p.scramble(a)); got != a {
			t.Errorf("unscramble(scramble(%d)) = %d", a, got)
		}
		if got := p.scramble(p.unscramble(a)); got != a {
			t.Errorf("scramble(unscramble(%d)) = %d", a, got)
		}
		if a != b && p.scramble(a) == p.scramble(b) {
			t.Errorf("%d and %d scramble alike", a, b)
		}
	})
}
