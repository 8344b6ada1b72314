// Package histogram counts durations in buckets, so that the counts of many processes can be added up and still give
// quantiles.
//
// The buckets are fixed, because counts are stored: bucket 0 is below 0.25 ms, and the others begin at 0.25, 0.375,
// 0.5, 0.75, 1, 1.5 ms and so on up to 16.384 s, where the last one begins. A quantile is the bound above its bucket,
// so it is never too low, and from 0.25 ms up to 16.384 s too high by less than half of the true value.
package histogram

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// Buckets is how many buckets there are.
const Buckets = 34

const unit = 125 * time.Microsecond // half of the lowest bound; all bounds are multiples

// bucketOf returns the bucket of a duration. Each power of two has two buckets, which the bit below its highest tells
// apart.
func bucketOf(d time.Duration) int {
	n := uint64(max(0, d)) / uint64(unit)
	if n < 2 {
		return 0
	}
	octave := bits.Len64(n) - 2
	return min(2*octave+int(n>>octave&1)+1, Buckets-1)
}

// above returns the bound above a bucket. The last one has none: it returns the bound below.
func above(bucket int) time.Duration {
	bucket = min(bucket, Buckets-2)
	if bucket%2 == 1 {
		return 3 * unit << (bucket / 2)
	}
	return 2 * unit << (bucket / 2)
}

// Counter counts durations. It is safe for concurrent use; its zero value is empty.
type Counter [Buckets]atomic.Int64

// Observe counts a duration.
func (c *Counter) Observe(d time.Duration) { c[bucketOf(d)].Add(1) }

// Counts returns the counts so far.
func (c *Counter) Counts() Counts {
	var all [Buckets]int64
	for i := range c {
		all[i] = c[i].Load()
	}
	return trimmed(all[:])
}

// Counts are the durations in each bucket, from the lowest; buckets at the end may be missing. They are never modified.
type Counts []int64

// Valid reports whether they can be counts: no more than there are buckets, and none below zero.
func (c Counts) Valid() bool {
	for _, n := range c {
		if n < 0 {
			return false
		}
	}
	return len(c) <= Buckets
}

// Plus returns the sum of both.
func (c Counts) Plus(o Counts) Counts {
	if len(c) < len(o) {
		c, o = o, c
	}
	if len(o) == 0 {
		return c
	}
	sum := make(Counts, len(c))
	copy(sum, c)
	for i, n := range o {
		sum[i] += n
	}
	return sum
}

// Minus returns the difference: if o was read before c, the durations counted in between.
func (c Counts) Minus(o Counts) Counts {
	since := make(Counts, max(len(c), len(o)))
	copy(since, c)
	for i, n := range o {
		since[i] -= n
	}
	return trimmed(since)
}

// total returns how many durations were counted.
func (c Counts) total() (all int64) {
	for _, n := range c {
		all += n
	}
	return all
}

// Quantile returns the bound below which the share q of the durations lies; 0 if nothing was counted. If the quantile
// is beyond the last bound, it returns the last bound.
func (c Counts) Quantile(q float64) time.Duration {
	rank := max(1, int64(math.Ceil(q*float64(c.total()))))
	for i, n := range c {
		if rank -= n; rank <= 0 {
			return above(i)
		}
	}
	return 0
}

// trimmed returns the counts without zeros at their end, nil for none.
func trimmed(counts Counts) Counts {
	for len(counts) > 0 && counts[len(counts)-1] == 0 {
		counts = counts[:len(counts)-1]
	}
	if len(counts) == 0 {
		return nil
	}
	return counts
}
