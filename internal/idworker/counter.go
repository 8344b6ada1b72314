package idworker

import (
	"context"
	"errors"
)

// Errors of this package. After any error, no id was given.
var (
	// ErrCounterMissing: the day has no counter yet, or it was lost. The Counter returns it only to the Worker.
	ErrCounterMissing = errors.New("idworker: the day's counter does not exist")
	// ErrExhausted: the day has too few numbers left for another block. More become available after midnight UTC.
	ErrExhausted = errors.New("idworker: the day's numbers are used up")
	// ErrClock: the clock shows a time that ids cannot express.
	ErrClock = errors.New("idworker: the clock is not between 2022 and 2090")
	// ErrClosed: the worker was closed.
	ErrClosed = errors.New("idworker: closed")
)

// Reservation is a request for numbers to a Counter.
type Reservation struct {
	Day   string // "2006:01:02", UTC
	N     int64  // how many, at least 1
	Known int64  // a number known to be taken, 0 for none; a counter below it has lost data
	// Create: the ledger was searched, so create a missing counter: a leap above Known or, if that is 0, at a random
	// number.
	Create bool
}

// Counter counts the numbers of each day for all processes; idcounter.Counter implements it. It must be atomic. It
// leaps whenever it may have lost data. A leap must skip at least a million numbers, a different amount each time.
type Counter interface {
	// Reserve takes r.N consecutive numbers and returns the last of them. If the counter is missing and r.Create is not
	// set, it returns ErrCounterMissing; rather than exceed MaxNumber, it returns ErrExhausted; in both cases nothing
	// was taken. After any other error, numbers may have been taken and will never be used, so repeating is safe.
	Reserve(ctx context.Context, r Reservation) (last int64, err error)
}

// History is the record of ids: the ledger.
type History interface {
	// OrderIDs yields, in any order, the recorded ids in the range [from, to) that workers gave.
	OrderIDs(ctx context.Context, from, to int64, yield func(id int64)) error
}
