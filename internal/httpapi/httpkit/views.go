package httpkit

import (
	"encoding/json"
	"time"
)

// AppendJSON appends v, a string or strings in structs, which always have a JSON form.
func AppendJSON(body []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return append(body, "null"...)
	}
	return append(body, text...)
}

// TimeView is a time as it is shown, or nil for the zero time.
func TimeView(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = ShownTime(t)
	return &t
}

// ShownTime is a time as it is shown, RFC 3339 in UTC. It is cut to milliseconds, the precision of the ledger and of
// JavaScript; the clock that serverTime comes from is finer.
func ShownTime(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
