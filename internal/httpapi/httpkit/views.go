package httpkit

import (
	"encoding/json"
	"errors"
	"time"

	"seckill/internal/kit/check"
	"seckill/internal/kit/histogram"
	"seckill/internal/kit/moment"
	"seckill/internal/kit/words"
)

// AppendJSON appends v, a string or strings in structs, which always have a JSON form.
func AppendJSON(body []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return append(body, "null"...)
	}
	return append(body, text...)
}

// DataOf returns a Failure's Members for errors of type E: it adds "data" with the value that of returns for the error.
func DataOf[E error](of func(E) any) func(body []byte, _ words.Language, err error) []byte {
	return func(body []byte, _ words.Language, err error) []byte {
		e, is := errors.AsType[E](err)
		if !is {
			return body
		}
		return AppendJSON(append(body, `,"data":`...), of(e))
	}
}

// Time is a time as answers show it.
type Time = moment.Time

// TimeView returns a time as answers show it, or nil for the zero time.
func TimeView(t time.Time) *Time { return moment.OrNil(t) }

// ShownTime returns a time as answers show it.
func ShownTime(t time.Time) Time { return moment.Of(t) }

// P99 returns the time that 99 % of the counted durations are less than, in milliseconds; 0 if there are none.
func P99(counts histogram.Counts) float64 {
	return float64(counts.Quantile(0.99)) / float64(time.Millisecond)
}

// CheckLine is a line of the checklist before a sale, or of a forecast.
type CheckLine struct {
	Name  string      `json:"name"`
	Level check.Level `json:"level"`
	What  string      `json:"what"`
	Do    string      `json:"do,omitempty"`
}

// CheckLines returns the lines in a language.
func CheckLines(lines []check.Line, in words.Language) []CheckLine {
	shown := make([]CheckLine, len(lines))
	for i, l := range lines {
		shown[i] = CheckLine{Name: l.Name, Level: l.Level, What: l.What(in), Do: l.Do(in)}
	}
	return shown
}
