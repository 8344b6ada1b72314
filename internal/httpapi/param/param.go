// Package param strictly reads values from a request's path, query and headers: no id with a sign or a leading zero, no
// name given twice, no duration without a unit. Each problem comes back as an [invalid.Problem], so that a handler can
// answer with all of them at once.
package param

import (
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"seckill/internal/kit/invalid"
)

const (
	defaultLimit = 20  // entries of a page
	maxLimit     = 100 // entries of a page
	maxProblems  = 20  // unknown names that are reported at once
)

// ParseID reads an id as this service writes it: digits without sign, space or leading zero, from 1 to largest.
func ParseID(s string, largest int64) (int64, bool) {
	if s == "" || s[0] < '1' || s[0] > '9' {
		return 0, false
	}
	id, err := strconv.ParseInt(s, 10, 64)
	return id, err == nil && id <= largest
}

// ID parses the text of a field in a path as an id of at most largest.
func ID(field, text string, largest int64) (int64, *invalid.Problem) {
	id, ok := ParseID(text, largest)
	if !ok {
		return 0, notInRange(field, text, 1, largest)
	}
	return id, nil
}

// notInRange is the problem of a text that is not a whole number from least to most.
func notInRange(field, text string, least, most int64) *invalid.Problem {
	return invalid.New(field, invalid.Malformed, invalid.Range,
		invalid.Data{"value": invalid.Clip(text), "min": least, "max": most})
}

// Query has the values of a query; nil is an empty query.
type Query url.Values

// ParseQuery returns the query's values; nil when there is none, which costs nothing.
func ParseQuery(r *http.Request) (Query, *invalid.Problem) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, notPairs()
	}
	return Query(values), nil
}

// Unknown returns a problem for each name in a raw query that is not among those given. It costs no allocation if there
// is none.
func Unknown(rawQuery string, names ...string) []*invalid.Problem {
	var problems []*invalid.Problem
	for part := range strings.SplitSeq(rawQuery, "&") {
		name, _, _ := strings.Cut(part, "=")
		if part == "" || slices.Contains(names, name) {
			continue
		}
		name, err := url.QueryUnescape(name)
		switch {
		case len(problems) >= maxProblems:
			return problems
		case err != nil || strings.Contains(part, ";"): // neither does url.ParseQuery take semicolons
			problems = append(problems, notPairs())
		case !slices.Contains(names, name):
			problems = append(problems, invalid.Stranger(name, names))
		}
	}
	return problems
}

func notPairs() *invalid.Problem {
	return invalid.New("query", invalid.NotText, queryPairs, nil)
}

// Text returns the value of a name, and whether the query has it.
func (q Query) Text(name string) (string, bool, *invalid.Problem) {
	switch given := q[name]; len(given) {
	case 0:
		return "", false, nil
	case 1:
		return given[0], true, nil
	default:
		return "", false, invalid.New(name, invalid.Repeated, invalid.Once, nil)
	}
}

// ID returns the id, at most largest, under a name; 0 if it is absent.
func (q Query) ID(name string, largest int64) (int64, *invalid.Problem) {
	text, given, p := q.Text(name)
	if !given {
		return 0, p
	}
	return ID(name, text, largest)
}

// Before returns the cursor of a page, which has only entries with lower ids. If it is absent, Before returns a number
// above every id.
func (q Query) Before() (int64, *invalid.Problem) {
	id, p := q.ID("before", math.MaxInt64)
	if id == 0 && p == nil {
		id = math.MaxInt64
	}
	return id, p
}

// Limit returns how many entries the page may have.
func (q Query) Limit() (int, *invalid.Problem) {
	if _, given := q["limit"]; !given {
		return defaultLimit, nil
	}
	n, p := q.Number("limit", 1, maxLimit)
	return int(n), p
}

// Number returns the whole number from least to most under a name; least if it is absent.
func (q Query) Number(name string, least, most int64) (int64, *invalid.Problem) {
	text, given, p := q.Text(name)
	if !given {
		return least, p
	}
	n, ok := ParseID(text, most)
	if !ok || n < least {
		return 0, notInRange(name, text, least, most)
	}
	return n, nil
}

// Flag returns whether the value under a name is "true"; false if it is "false" or absent.
func (q Query) Flag(name string) (bool, *invalid.Problem) {
	text, given, p := q.Text(name)
	if !given || text == "true" || text == "false" {
		return text == "true", p
	}
	return false, invalid.New(name, invalid.Malformed, invalid.Boolean, invalid.Data{"value": invalid.Clip(text)})
}

// Time returns the time under a name, as invalid.Time reads it; zero if it is absent.
func (q Query) Time(name string, zone *time.Location) (time.Time, *invalid.Problem) {
	text, given, p := q.Text(name)
	if !given {
		return time.Time{}, p
	}
	at, reason := invalid.Time(text, zone)
	if reason != (invalid.Reason{}) {
		return time.Time{}, invalid.New(name, reason, invalid.ZonedTime,
			invalid.Data{"value": invalid.Clip(text), "zone": zone.String()})
	}
	return at, nil
}

// Duration returns the duration, at most longest, under a name; 0 if it is absent.
func (q Query) Duration(name string, longest time.Duration) (time.Duration, *invalid.Problem) {
	text, given, p := q.Text(name)
	if !given {
		return 0, p
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > longest {
		return 0, invalid.New(name, invalid.Malformed, durationTo,
			invalid.Data{"value": invalid.Clip(text), "longest": longest.String()})
	}
	return d, nil
}

// CouponCode returns the coupon's code that a request names, "" for none. The code is in a header, because proxies and
// browsers log the query.
func CouponCode(h http.Header) (string, *invalid.Problem) {
	const name = "Coupon-Code"
	if len(h.Values(name)) > 1 {
		return "", invalid.New(name, invalid.Repeated, invalid.Once, nil)
	}
	return h.Get(name), nil
}
