package recovery

import (
	"slices"
	"sync"
	"time"

	"seckill/internal/order"
)

// Urgency orders repairs: sales that sell now come first.
type Urgency int8

// The urgencies, most urgent first.
const (
	Running  Urgency = iota // inside its window, or perhaps
	Upcoming                // its window has not begun
	Ended
	Retiring // to be retired: nothing is wrong with the sale
	urgencies
)

// String returns the urgency's word in metrics.
func (u Urgency) String() string {
	return [urgencies]string{"running", "upcoming", "ended", "retiring"}[u]
}

const (
	maxJobs     = 1 << 17                // sales that can wait; the next sweeps find the others
	minInterval = 100 * time.Millisecond // between two checks of one sale that callers keep requesting
)

// RepairQueue is the one queue of sales that the Reconciler must work on: those that its sweeps find, those that parts
// of the service report (it implements order.RepairRequester for them), and sales to be retired. Each sale is in it
// once, until the sale has been repaired or found right.
type RepairQueue struct {
	wake chan struct{} // gets a value when something was added

	mu        sync.Mutex
	jobs      map[int64]*job
	waiting   [urgencies][]int64 // oldest first; outdated entries stay: see job.waits
	urgency   map[int64]Urgency  // by sale: the urgency of each that Redis must hold, as of the last sweep
	checked   map[int64]time.Time
	badEpochs map[int64]int64 // by sale: the highest epoch known to be wrong, until the sale has a higher one
}

// job is a sale in the queue.
type job struct {
	sale    int64
	urgency Urgency
	since   time.Time
	state   jobState
	again   bool // requested again during the work on it
	tried   bool // this instance has tried to repair it, and failed
	sweeps  int  // how many sweeps have begun while it was in the queue
}

type jobState int8

const (
	jobWaits   jobState = iota // in RepairQueue.waiting
	jobRuns                    // being worked on
	jobDelayed                 // failed, or another instance works on it: waits for the next sweep
)

// NewRepairQueue returns an empty queue.
func NewRepairQueue() *RepairQueue {
	return &RepairQueue{
		wake: make(chan struct{}, 1), jobs: make(map[int64]*job), urgency: make(map[int64]Urgency),
		checked: make(map[int64]time.Time), badEpochs: make(map[int64]int64),
	}
}

// RequestRepair asks for the sale to be checked, and rebuilt if it differs from the ledger or if its epoch is not above
// badEpoch. It does not wait. Every refused buyer may cause a call: duplicates, and requests too soon after the last
// check, are dropped, because the next sweep checks anyway. A bad epoch is remembered until the sale has a higher one.
func (q *RepairQueue) RequestRepair(sale int64, badEpoch int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	known, has := q.badEpochs[sale]
	isNew := badEpoch > order.NoBadEpoch && (!has || badEpoch > known)
	if isNew {
		q.badEpochs[sale] = badEpoch
	}
	if !isNew && time.Since(q.checked[sale]) < minInterval {
		return
	}
	q.add(sale, q.urgency[sale]) // Running if unknown
}

// add puts a sale into the queue, or makes it more urgent there. The caller holds mu.
func (q *RepairQueue) add(sale int64, u Urgency) {
	j := q.jobs[sale]
	switch {
	case j == nil && len(q.jobs) >= maxJobs:
		return
	case j == nil:
		j = &job{sale: sale, urgency: u, since: time.Now(), sweeps: 1}
		q.jobs[sale] = j
	case j.state == jobRuns:
		j.again = j.again || u < Retiring
		return
	case u < j.urgency:
		j.urgency = u
	case j.state == jobWaits, j.state == jobDelayed: // requests do not hasten it, however many come
		return
	}
	q.enqueue(j)
}

// enqueue makes the job wait. The caller holds mu.
func (q *RepairQueue) enqueue(j *job) {
	j.state = jobWaits
	q.waiting[j.urgency] = append(q.waiting[j.urgency], j.sale)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next takes the most urgent waiting sale, if it is at least as urgent as least. The sale counts as being worked on
// until done is called.
func (q *RepairQueue) next(least Urgency) (sale int64, u Urgency, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for u := range least + 1 {
		for len(q.waiting[u]) > 0 {
			id := q.waiting[u][0]
			q.waiting[u] = q.waiting[u][1:]
			if j := q.jobs[id]; j != nil && j.state == jobWaits && j.urgency == u {
				j.state, j.again = jobRuns, false
				q.checked[id] = time.Now()
				return id, u, true
			}
		}
	}
	return 0, 0, false
}

// result says how the work on a sale ended.
type result int8

const (
	jobDone   result = iota // there is nothing more to do
	jobFailed               // retry after the next sweep
	jobBusy                 // another instance works on the sale; check again after the next sweep
)

func (q *RepairQueue) done(sale int64, r result) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j := q.jobs[sale]
	switch {
	case j == nil: // forgotten meanwhile
	case r == jobDone && j.again:
		j.urgency, j.since, j.sweeps = q.urgency[sale], time.Now(), 1
		q.enqueue(j)
	case r == jobDone:
		delete(q.jobs, sale)
	default:
		j.state, j.tried = jobDelayed, j.tried || r == jobFailed
	}
}

// sweep updates the queue with the urgencies found by a sweep. Delayed sales wait again, in the order in which they
// came.
func (q *RepairQueue) sweep(found map[int64]Urgency) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.urgency = found
	var delayed []*job
	for _, j := range q.jobs {
		j.sweeps++
		if u, has := found[j.sale]; has && j.state != jobRuns && j.urgency != Retiring && j.urgency != u {
			j.urgency = u
			delayed = append(delayed, j)
		} else if j.state == jobDelayed {
			delayed = append(delayed, j)
		}
	}
	slices.SortFunc(delayed, func(a, b *job) int { return a.since.Compare(b.since) })
	for _, j := range delayed {
		q.enqueue(j)
	}
	for id := range q.checked {
		if _, has := found[id]; !has && q.jobs[id] == nil {
			delete(q.checked, id)
		}
	}
}

// urgencies returns the urgencies that the last sweep found.
func (q *RepairQueue) urgencies() map[int64]Urgency {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.urgency
}

// found adds a sale for which a sweep has found work.
func (q *RepairQueue) found(sale int64, u Urgency) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(sale, u)
}

// RepairLoad counts the sales of one urgency that wait or are being worked on.
type RepairLoad struct {
	Sales  int
	Oldest time.Duration // how long the oldest sale has been in the queue
}

// Load returns the load by urgency.
func (q *RepairQueue) Load() map[Urgency]RepairLoad {
	q.mu.Lock()
	defer q.mu.Unlock()
	loads := make(map[Urgency]RepairLoad, urgencies)
	for u := range urgencies {
		loads[u] = RepairLoad{}
	}
	for _, j := range q.jobs {
		l := loads[j.urgency]
		loads[j.urgency] = RepairLoad{Sales: l.Sales + 1, Oldest: max(l.Oldest, time.Since(j.since))}
	}
	return loads
}

// repairs returns how many sales wait for a repair or are being repaired; how many of them have not ended and were not
// tried by this instance yet; and the most sweeps that any of them has waited through.
func (q *RepairQueue) repairs() (all, untried, sweeps int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if j.urgency == Retiring {
			continue
		}
		all++
		sweeps = max(sweeps, j.sweeps)
		if j.urgency < Ended && !j.tried {
			untried++
		}
	}
	return all, untried, sweeps
}

// badEpoch returns the sale's highest epoch that is known to be wrong, or NoBadEpoch. It forgets an
// epoch too far above the ledger's, since no rebuild would exceed it.
func (q *RepairQueue) badEpoch(sale int64, ledger int64) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	epoch, has := q.badEpochs[sale]
	switch {
	case !has:
		return order.NoBadEpoch
	case epoch-ledger > MaxEpochLead:
		delete(q.badEpochs, sale)
		return order.NoBadEpoch
	default:
		return epoch
	}
}

// rebuilt forgets bad epochs below the given one, which the sale has now.
func (q *RepairQueue) rebuilt(sale int64, epoch int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if bad, has := q.badEpochs[sale]; has && bad < epoch {
		delete(q.badEpochs, sale)
	}
}

// forget drops everything remembered about a sale that has left Redis.
func (q *RepairQueue) forget(sale int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.jobs, sale)
	delete(q.checked, sale)
	delete(q.badEpochs, sale)
}
