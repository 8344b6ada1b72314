package invalid

import "time"

const zoneless = "2006-01-02T15:04:05"

// Time parses a time in RFC 3339. Without a zone, as some frontends send it, it is a time in the given zone. The Reason
// is zero, or why the text is not a valid time.
func Time(text string, zone *time.Location) (time.Time, Reason) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, Reason{}
	}
	wall, err := time.Parse(zoneless, text)
	if err != nil {
		return time.Time{}, Malformed
	}
	// Clocks that are put forward skip some times. When they are put back, a time comes twice; Date returns either one.
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(),
		wall.Nanosecond(), zone)
	if at.Format(zoneless) != wall.Format(zoneless) {
		return time.Time{}, Skipped
	}
	return at, Reason{}
}
