package idworker

import (
	"context"
	"errors"
)

// Errors of this package. After any of them, and after any other error, no id was given.
var (
	// ErrCounterMissing: the day has no counter yet, or it was lost. Only between Counter and Worker.
	ErrCounterMissing = errors.New("idworker: the day's counter does not exist")
	// ErrExhausted: the day has too few numbers left for another block. There are new ones after midnight UTC.
	ErrExhausted = errors.New("idworker: the day's numbers are used up")
	// ErrClock: the clock has a time that ids cannot express.
	ErrClock = errors.New("idworker: the clock is not between 2022 and 2090")
	// ErrClosed: the worker was closed.
	ErrClosed = errors.New("idworker: closed")
)

// Reservation is a request for numbers of a Counter.
type Reservation struct {
	Day   string // "2006:01:02", UTC
	N     int64  // how many, at least 1
	Known int64  // a number that was certainly taken, 0 for none: a counter below it has lost data
	// Create: nothing above Known can be known, so that a missing counter is to be created: a leap above Known, or at a
	// random number when that is 0.
	Create bool
}

// Counter counts the numbers of each day for all processes: redisstore.Counter. It must be atomic. Its leaps must skip
// a million numbers or more, and not the same amount each time. It leaps whenever it may have lost
// data.
type Counter interface {
	// Reserve takes r.N consecutive numbers and returns the last of them. It returns ErrCounterMissing for a missing
	// counter unless r.Create is set, and ErrExhausted rather than a number above MaxNumber; nothing was taken then.
	// After any other error numbers may have been taken, which are then never used; so repeating is safe.
	Reserve(ctx context.Context, r Reservation) (last int64, err error)
}

// History has the recorded ids: the ledger.
type History interface {
	// OrderIDs yields the ids in the range [from, to) that workers gave and orders were recorded with, in any order.
	OrderIDs(ctx context.Context, from, to int64, yield func(id int64)) error
}
