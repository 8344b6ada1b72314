package order

import "time"

// Observer hears what happens on the way from the click to the row, for metrics; what happens to orders after that,
// OutboxObserver, CloserObserver and CashierObserver hear. Their methods must not block.
type Observer interface {
	// Admitted: one admission call was answered, or failed with err.
	Admitted(outcomes []Outcome, took time.Duration, err error)
	// Recorded: one batch was committed, with so many orders and so many failed rows.
	Recorded(orders, failed int, took time.Duration)
	// RecordRetried: a batch failed for the infrastructure's fault and is tried again.
	RecordRetried(err error)
	// Buried: an entry that cannot be decoded became a dead letter.
	Buried()
	// Recovered: a rebuild queued again so many accepted orders whose entries were gone, and found so many admissions of
	// which nobody knows the order any more.
	Recovered(requeued int, unaccounted int64)
	// Rebuilt: a sale was rebuilt, or its rebuild failed with err.
	Rebuilt(took time.Duration, err error)
}
