package idworker

import (
	"math"
	"sync/atomic"
)

// never is a value for askAt that no number reaches.
const never = math.MaxInt64

// block is a range of reserved numbers of one day. Many goroutines take from it without a lock.
type block struct {
	day   int64 // since the epoch
	last  int64
	taken atomic.Int64 // the last number taken; above last if the block is empty
	askAt atomic.Int64 // the caller that takes this number requests the next block
}

// newBlock returns the block of n numbers that ends with last. The next block is requested after four fifths of it.
func newBlock(day, last, n int64) *block {
	b := &block{day: day, last: last}
	b.taken.Store(last - n)
	b.askAt.Store(last - n/5)
	return b
}

// take returns the next number, or false if the block is empty.
func (b *block) take() (int64, bool) {
	n := b.taken.Add(1)
	return n, n <= b.last
}

// empty reports whether the block has no numbers left.
func (b *block) empty() bool { return b.taken.Load() >= b.last }

// asks reports whether the caller that took number n has to request the next block.
func (b *block) asks(n int64) bool {
	at := b.askAt.Load()
	return n >= at && b.askAt.CompareAndSwap(at, never)
}

// askAgain schedules another request of the next block, halfway to the end, because a reservation failed.
func (b *block) askAgain() {
	if taken := b.taken.Load(); taken < b.last {
		b.askAt.Store(taken + (b.last-taken+1)/2)
	}
}
