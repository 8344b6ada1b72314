package main

import "seckill/lab/mutant"

// inBatching returns the mutants of the batcher in front of a partition: of turns, repetitions and refusals.
func inBatching() []mutant.Mutant {
	const admission = "./internal/order/admission"
	const batcher, queue = "internal/order/admission/batcher.go", "internal/order/admission/queue.go"
	return []mutant.Mutant{
		historyMutant("calls take the longest lines, whose turn it is not", admission, "TestQueueModel",
			"has no place in a call",
			mutant.Change{File: queue, From: `if most > 1 && len(c.turns) == most-1 {`, To: `if most > 1 {`}),
		historyMutant("a call leaves places free", admission, "TestQueueModel", "places are free",
			mutant.Change{File: queue, From: `n := max(0, rest-level)`, To: `n := 0`}),
		historyMutant("the rest of a call goes to short lines", admission, "TestQueueModel", "waiting, another has",
			mutant.Change{
				File: queue, From: `n := max(0, rest-level)`,
				To: `n := min(free, rest)
		level, free = 0, free-n`,
			},
			mutant.Change{File: queue, From: `	free -= above(level)
`, To: ``}),
		historyMutant("a rush out of turn has no place", admission, "TestQueueModel", "waiting is not in the call",
			mutant.Change{
				File: queue, From: `if s.waiting > q.ring[at].waiting {`,
				To: `if s.waiting > q.ring[at].waiting && false {`,
			}),
		historyMutant("a call takes all of two rushes", admission, "TestQueueModel", "it may have",
			mutant.Change{File: queue, From: `if len(q.calls) == 0 && len(q.ring) > 1 {`, To: `if false {`}),
		historyMutant("a sale is in two calls at a time", admission, "TestQueueModel", "the ring has",
			mutant.Change{File: queue, From: `if s.waiting > 1 || s.in != nil {`, To: `if s.waiting > 1 {`}),
		historyMutant("requests of callers who have gone are sent", admission, "TestQueueModel",
			"is lost, sent twice",
			mutant.Change{File: queue, From: `		case <-l.first.gone:
`, To: ``}),
		packageMutant("a caller who goes meanwhile leaves an empty batch", admission, "TestNoBatchIsEmpty", "batches",
			mutant.Change{
				File: queue, From: `for more := true; more; more = n > 0 && t.sale.live() {`,
				To: `for more := t.sale.live(); more; more = n > 0 && t.sale.live() {`,
			}),
		packageMutant("a quiet sale is refused for other sales", admission, "TestWaitIsTheSalesOwn",
			"the request of a quiet sale has to wait",
			mutant.Change{File: queue, From: `(len(q.ring)/(maxCalls*gate.MaxSales)+1)`, To: `(9*len(q.ring)+1)`}),
		packageMutant("a refusal of the repetition is believed", admission, "TestBatcherRepeatsOnceAndNeverGuesses",
			"outcome 9, want -2",
			mutant.Change{File: batcher, From: `	if twice {
`, To: `	if false {
`}),
		packageMutant("a sale is repeated with the others of its call", admission, "TestErrorOfOneSale",
			"the other sale of the call",
			mutant.Change{File: batcher, From: `; err == nil || errors.Is(err, order.ErrUnavailable) {
			b.answer`, To: `; errors.Is(err, order.ErrUnavailable) {
			b.answer`}),
		packageMutant("an error of one sale refuses the partition", admission, "TestErrorOfOneSale",
			"the other sale's next",
			mutant.Change{File: batcher, From: `t.sale.refuse(errBehind(err))`, To: `b.queue.refuse(errBehind(err))`}),
		packageMutant("a call without an answer refuses its sales alone", admission, "TestNoAnswerRefusesThePartition",
			"waiting request",
			mutant.Change{File: batcher, From: `if f.lost && lost != nil {`, To: `if false {`}),
		packageMutant("sales that must be called alone are refused together", admission, "TestSalesApart",
			"no call is held",
			mutant.Change{File: batcher, From: `errors.Is(lost, gate.ErrApart) && len(turns) > 1`, To: `false`}),
	}
}
