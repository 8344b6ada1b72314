package histogram

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Buckets follow each other without a gap, and each bound above a bucket is less than half higher than the bound below.
func TestBounds(t *testing.T) {
	t.Parallel()
	for i := range Buckets - 1 {
		if low, high := bucketOf(above(i)-1), bucketOf(above(i)); low != i || high != i+1 {
			t.Errorf("bucket %d ends at %v: below that is %d, from there on %d", i, above(i), low, high)
		}
		if i > 0 && 2*above(i) > 3*above(i-1) {
			t.Errorf("bucket %d is from %v to %v", i, above(i-1), above(i))
		}
	}
	for d, want := range map[time.Duration]int{
		math.MinInt64: 0, -1: 0, 0: 0, 250 * time.Microsecond: 1, 16384 * time.Millisecond: Buckets - 1,
		math.MaxInt64: Buckets - 1,
	} {
		if got := bucketOf(d); got != want {
			t.Errorf("%v is in bucket %d, want %d", d, got, want)
		}
	}
}

// Whatever processes have counted, a quantile of their sum is the bound above the bucket of the exact one.
func TestQuantileOfSums(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var all []time.Duration
		var sum Counts
		for range 1 + dice.IntN(4) {
			var process Counter
			middle := time.Duration(math.Exp(dice.Float64()*20)) * time.Microsecond / 4 // to two minutes
			for range dice.IntN(1 + dice.IntN(1000)) {
				d := time.Duration(float64(middle) * math.Exp(dice.NormFloat64()))
				process.Observe(d)
				all = append(all, d)
			}
			sum = sum.Plus(process.Counts())
		}
		slices.Sort(all)
		q := []float64{0.5, 0.9, 0.99, 0.999}[dice.IntN(4)]
		got := sum.Quantile(q)
		if len(all) == 0 {
			if got != 0 || sum != nil {
				t.Fatalf("the quantile of nothing is %v", got)
			}
			continue
		}
		exact := all[int(math.Ceil(q*float64(len(all))))-1]
		if want := above(bucketOf(exact)); got != want || sum.total() != int64(len(all)) {
			t.Fatalf("%v of %d, counted %d: %v, want %v, exactly %v", q, len(all), sum.total(), got, want, exact)
		}
		lowest, last := 250*time.Microsecond, 16384*time.Millisecond
		if exact >= lowest && exact < last && (got <= exact || 2*got > 3*exact) {
			t.Fatalf("%v is too far from %v", got, exact)
		}
	}
}

// The difference of two readings has the counts in between. Plus and Minus do not modify their operands.
func TestPlusMinus(t *testing.T) {
	t.Parallel()
	before, later := Counts{0, 2, 1}, Counts{5}
	sum := before.Plus(later)
	for _, test := range []struct{ got, want Counts }{
		{sum, Counts{5, 2, 1}},
		{later.Plus(before), Counts{5, 2, 1}},
		{sum.Minus(before), Counts{5}},
		{sum.Minus(nil), sum},
		{sum.Minus(sum), nil},
		{Counts(nil).Plus(nil), nil},
		{Counts(nil).Minus(before), Counts{0, -2, -1}}, // counting began anew
		{before, Counts{0, 2, 1}},
		{later, Counts{5}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for valid, want := range map[*Counts]bool{
		{}: true, {0, 1}: true, {-1}: false, {Buckets - 1: 1}: true, {Buckets: 1}: false,
	} {
		if valid.Valid() != want {
			t.Errorf("%v: valid is %t", *valid, !want)
		}
	}
}

func TestCounterIsConcurrent(t *testing.T) {
	t.Parallel()
	var c Counter
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 1000 {
				c.Observe(time.Duration(i) * time.Millisecond)
			}
		})
	}
	all.Wait()
	if got := c.Counts().total(); got != 8000 {
		t.Errorf("%d of 8000 are counted", got)
	}
}

func BenchmarkObserve(b *testing.B) {
	var c Counter
	b.ReportAllocs()
	for d := time.Duration(0); b.Loop(); d += 37 * time.Microsecond {
		c.Observe(d % time.Second)
	}
}
