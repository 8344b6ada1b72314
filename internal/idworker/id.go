package idworker

import (
	"fmt"
	"math"
	"time"
)

// MaxNumber is the highest number of a day: a number has 32 bits, and 0 is not used.
const MaxNumber int64 = 1<<32 - 1

const (
	numberBits    = 32
	epoch         = 1640995200 // 2022-01-01T00:00:00Z in Unix seconds
	maxSecond     = 1<<31 - 1  // since the epoch
	secondsPerDay = 86400
)

// Time returns when the id was made: to the second, in UTC, by the clock of the process that made it.
func Time(id int64) time.Time { return time.Unix(epoch+id>>numberBits, 0).UTC() }

// FirstAt returns the lowest id that could be made at a time or later. All ids made before that second are lower.
func FirstAt(t time.Time) int64 {
	second := t.Unix() - epoch
	if t.Nanosecond() > 0 {
		second++
	}
	return min(max(second, 0), maxSecond) << numberBits
}

// secondOf returns the time as seconds since the epoch, or ErrClock. The epoch's own second is not used, so that no id
// is 0.
func secondOf(t time.Time) (int64, error) {
	s := t.Unix() - epoch
	if s < 1 || s > maxSecond {
		return 0, fmt.Errorf("%w: %s", ErrClock, t.UTC().Format(time.RFC3339))
	}
	return s, nil
}

// dayOf returns the day of a second, as days since the epoch. All days have 86,400 seconds, because Unix time has no
// leap seconds.
func dayOf(second int64) int64 { return second / secondsPerDay }

// dayName formats a day as in the counter's key.
func dayName(day int64) string {
	return time.Unix(epoch+day*secondsPerDay, 0).UTC().Format("2006:01:02")
}

// idsOf returns the range [from, to) of the ids of a day.
func idsOf(day int64) (from, to int64) {
	first, end := day*secondsPerDay, (day+1)*secondsPerDay
	if end > maxSecond {
		return first << numberBits, math.MaxInt64 // the last possible day
	}
	return first << numberBits, end << numberBits
}
