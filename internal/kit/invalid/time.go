package invalid

import "time"

const zoneless = "2006-01-02T15:04:05"

// Time reads a time: RFC 3339, or without a zone, as some frontends send it, which is then read in the zone. It returns
// what is wrong with any other text, or "".
func Time(text string, zone *time.Location) (time.Time, Reason) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, ""
	}
	wall, err := time.Parse(zoneless, text)
	if err != nil {
		return time.Time{}, Malformed
	}
	// Clocks that are put forward never show some times. Of a time that they show twice this is one.
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(),
		wall.Nanosecond(), zone)
	if at.Format(zoneless) != wall.Format(zoneless) {
		return time.Time{}, Skipped
	}
	return at, ""
}
