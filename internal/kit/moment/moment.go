// Package moment formats times in answers, files and events: RFC 3339 in UTC, always with milliseconds, so that the
// texts sort in the order of the times.
package moment

import (
	"errors"
	"time"
)

// Layout is the texts' layout for package time. The time must be in UTC.
const Layout = "2006-01-02T15:04:05.000Z07:00"

// Time is a time in this format. It is cut to milliseconds, the precision of the ledger and of JavaScript.
type Time struct{ time.Time }

// Of converts t: it is put in UTC and cut to milliseconds.
func Of(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// OrNil is Of, but returns nil for the zero time.
func OrNil(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	shown := Of(t)
	return &shown
}

// String implements fmt.Stringer.
func (t Time) String() string { return t.Format(Layout) }

// MarshalJSON implements json.Marshaler. It returns an error for a year that RFC 3339 cannot write.
func (t Time) MarshalJSON() ([]byte, error) {
	if y := t.Year(); y < 0 || y > 9999 {
		return nil, errors.New("the year of a time is not from 0 to 9999")
	}
	b := make([]byte, 0, len(Layout)+2)
	return append(t.AppendFormat(append(b, '"'), Layout), '"'), nil
}
