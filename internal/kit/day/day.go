// Package day says when a day begins.
package day

import "time"

// Begin returns the beginning of now's day in the zone. Where clocks skip midnight that is the first moment after it.
func Begin(now time.Time, zone *time.Location) time.Time {
	year, month, day := now.In(zone).Date()
	at := time.Date(year, month, day, 0, 0, 0, 0, zone)
	if at.In(zone).Day() != day { // time.Date took the offset that ends there
		at = at.Add(time.Hour)
	}
	return at
}
