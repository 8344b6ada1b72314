package order

import "time"

// Observer hears what happens, for metrics. Its methods must not block.
type Observer interface {
	// Admitted: one admission call was answered, or failed with err.
	Admitted(outcomes []Outcome, took time.Duration, err error)
	// Recorded: one batch was committed, with so many orders and so many failed rows.
	Recorded(orders, failed int, took time.Duration)
	// RecordRetried: a batch failed for the infrastructure's fault and is tried again.
	RecordRetried(err error)
	// Buried: an entry that cannot be decoded became a dead letter.
	Buried()
	// Rebuilt: a sale was rebuilt, or its rebuild failed with err.
	Rebuilt(took time.Duration, err error)
	// Followed: Redis and ledger were brought together over so many operations, of which so many were refused; or could not
	// be, with err.
	Followed(applied, refused int, took time.Duration, err error)
	// Behind: so many sales had operations pending when they were last looked for.
	Behind(sales int)
	// Closed: so many overdue orders were closed in one transaction.
	Closed(orders int, took time.Duration)
	// Received: the provider said that it has the money for a payment, now or before; the payment is in this state.
	Received(state PaymentState)
	// Repaid: a payment's money went back, or the attempt failed with err.
	Repaid(err error)
}
