package idworker

import (
	"math"
	"sync/atomic"
)

// never is an askAt that no number reaches.
const never = math.MaxInt64

// block is a range of reserved numbers of one day. Many goroutines take from it without a lock.
type block struct {
	day   int64 // since the epoch
	last  int64
	taken atomic.Int64 // the number taken last; above last when the block is empty
	askAt atomic.Int64 // the caller that takes this number requests the next block
}

// newBlock returns the block of the n numbers up to last. After four fifths of it the next block is requested.
func newBlock(day, last, n int64) *block {
	b := &block{day: day, last: last}
	b.taken.Store(last - n)
	b.askAt.Store(last - n/5)
	return b
}

// take returns the next number, or false when there is none.
func (b *block) take() (int64, bool) {
	n := b.taken.Add(1)
	return n, n <= b.last
}

// empty reports whether nothing can be taken any more.
func (b *block) empty() bool { return b.taken.Load() >= b.last }

// asks reports whether the caller that took number n has to request the next block.
func (b *block) asks(n int64) bool {
	at := b.askAt.Load()
	return n >= at && b.askAt.CompareAndSwap(at, never)
}

// askAgain has the next block requested again, halfway to the end: the reservation failed.
func (b *block) askAgain() {
	if taken := b.taken.Load(); taken < b.last {
		b.askAt.Store(taken + (b.last-taken+1)/2)
	}
}
