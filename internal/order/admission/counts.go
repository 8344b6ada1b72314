package admission

import (
	"errors"
	"sync/atomic"

	"seckill/internal/kit/histogram"
	"seckill/internal/order"
	"seckill/internal/order/gate"
)

// outcomeCounts counts how this instance has answered the requests for one sale. A batch's requests are counted
// together; a request that the cache answers costs one addition.
type outcomeCounts struct {
	asked               [gate.OutcomeKinds]atomic.Int64 // requests that went to the batcher, by Outcome.Index
	soldOutFromCache    atomic.Int64                    // answered ErrSoldOut without asking Redis
	notStartedFromCache atomic.Int64                    // answered ErrNotStarted without asking Redis
	took                histogram.Counter               // how long Admit took for requests that went to the batcher
	flushed             flushedCounts                   // what the StatsFlusher has passed on
}

// flushedCounts is the part of the counts that has been passed on, for each receiver.
type flushedCounts struct {
	all                 answered // passed on to the StatsStore
	timeline            answered // passed on to the Timeline
	soldOut, notStarted int64    // answered from the cache; passed on to the observer
}

// answered is how often each answer was given, and how long answers took.
type answered struct {
	counts gate.Counts
	took   histogram.Counts
}

// minus returns what was answered after o and up to a.
func (a answered) minus(o answered) answered {
	return answered{a.counts.Minus(o.counts), a.took.Minus(o.took)}
}

func (a answered) empty() bool { return len(a.counts) == 0 && len(a.took) == 0 }

// outcomes counts the results of one batch. It returns how many were accepted.
func (c *outcomeCounts) outcomes(results []gate.Result) (accepted int64) {
	var counts [gate.OutcomeKinds]int64
	for _, r := range results {
		counts[r.Outcome.Index()]++
	}
	for i, n := range counts {
		if n > 0 {
			c.asked[i].Add(n)
		}
	}
	return counts[gate.Accepted.Index()]
}

// add counts n requests with the same outcome.
func (c *outcomeCounts) add(o gate.Outcome, n int) { c.asked[o.Index()].Add(int64(n)) }

// outcomeOf returns the outcome of the requests in a failed call.
func outcomeOf(err error) gate.Outcome {
	if errors.Is(err, order.ErrUnavailable) {
		return gate.Unavailable
	}
	return gate.Doubtful
}

// counts returns all counts, and how many of the requests the cache answered. The cache takes less than a microsecond,
// so its answers count in the lowest bucket without reading a clock.
func (c *outcomeCounts) counts() (all answered, soldOut, notStarted int64) {
	soldOut, notStarted = c.soldOutFromCache.Load(), c.notStartedFromCache.Load()
	all = answered{gate.Counts{}, c.took.Counts()}
	if n := soldOut + notStarted; n > 0 {
		all.took = all.took.Plus(histogram.Counts{n})
	}
	count := func(o gate.Outcome, n int64) {
		if n > 0 && o.Answer() != gate.NoAnswer {
			all.counts[o.Answer()] += n
		}
	}
	for _, o := range gate.Outcomes() {
		count(o, c.asked[o.Index()].Load())
	}
	count(gate.SoldOut, soldOut)
	count(gate.NotStarted, notStarted)
	return all, soldOut, notStarted
}
