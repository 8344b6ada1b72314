package recovery

import (
	"sync"
	"time"

	"seckill/internal/order"
)

const (
	queueSize   = 1024                   // requests that can wait; the next sweep finds more
	minInterval = 100 * time.Millisecond // between two checks of one sale that callers keep requesting
)

// RepairQueue is the queue of sales that were found wrong in Redis; the Reconciler works through it. It implements
// order.RepairRequester for every part that works on sales.
type RepairQueue struct {
	waiting chan int64 // voucher ids

	mu        sync.Mutex
	requests  map[int64]request // by voucher id
	badEpochs map[int64]int64   // by voucher id: an epoch known to be wrong, until the sale has a higher one
}

// request is the state of the requests for one sale.
type request struct {
	queued bool      // one waits in the queue
	last   time.Time // when the last one left the queue
}

// NewRepairQueue returns an empty queue.
func NewRepairQueue() *RepairQueue {
	return &RepairQueue{waiting: make(chan int64, queueSize), requests: make(map[int64]request), badEpochs: make(map[int64]int64)}
}

// RequestRepair asks for the sale to be checked, and rebuilt if Redis does not hold it as the ledger says or if its epoch
// is not above badEpoch. It does not wait. Every refused buyer may cause a call: duplicates, and requests that come too
// soon after the last, are dropped, because the next sweep checks anyway. A bad epoch is remembered until the sale has a
// higher one.
func (q *RepairQueue) RequestRepair(voucherID, badEpoch int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	known, has := q.badEpochs[voucherID]
	isNew := badEpoch > order.NoBadEpoch && (!has || badEpoch > known)
	if isNew {
		q.badEpochs[voucherID] = badEpoch
	}
	before := q.requests[voucherID]
	if before.queued || !isNew && time.Since(before.last) < minInterval {
		return
	}
	select {
	case q.waiting <- voucherID:
		q.requests[voucherID] = request{queued: true, last: before.last}
	default: // full: the next sweep finds it
	}
}

// dequeued marks the sale's request as no longer in the queue.
func (q *RepairQueue) dequeued(voucherID int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.requests[voucherID] = request{last: time.Now()}
}

// badEpoch returns the highest epoch of the sale that is known to be wrong, or NoBadEpoch.
func (q *RepairQueue) badEpoch(voucherID int64) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if epoch, has := q.badEpochs[voucherID]; has {
		return epoch
	}
	return order.NoBadEpoch
}

// rebuilt forgets bad epochs below the given one, which the sale has now.
func (q *RepairQueue) rebuilt(voucherID, epoch int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if bad, has := q.badEpochs[voucherID]; has && bad < epoch {
		delete(q.badEpochs, voucherID)
	}
}

// forget drops what is remembered of a sale that has left Redis.
func (q *RepairQueue) forget(voucherID int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.requests, voucherID)
	delete(q.badEpochs, voucherID)
}
