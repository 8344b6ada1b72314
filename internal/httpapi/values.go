package httpapi

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

const (
	defaultLimit = 20  // orders on a page
	maxLimit     = 100 // orders on a page
	// maxEcho is how many bytes of what a caller sent are told back to him.
	maxEcho = 64
)

// invalid returns an error that lists the problems that are there, or nil.
func invalid(problems ...*voucher.Problem) error {
	var found []voucher.Problem
	for _, p := range problems {
		if p != nil {
			found = append(found, *p)
		}
	}
	if found == nil {
		return nil
	}
	return &voucher.InvalidError{Problems: found}
}

// pathID returns the id in the path under the name, at most largest.
func pathID(c *gin.Context, name string, largest int64) (int64, *voucher.Problem) {
	text := c.Param(name)
	id, ok := parseID(text, largest)
	if !ok {
		return 0, badID(name, text, largest)
	}
	return id, nil
}

// parseID reads an id as this service writes it: digits without sign, space or leading zero, from 1 to largest.
func parseID(s string, largest int64) (int64, bool) {
	if s == "" || s[0] < '1' || s[0] > '9' {
		return 0, false
	}
	id, err := strconv.ParseInt(s, 10, 64)
	return id, err == nil && id <= largest
}

func badID(field, text string, largest int64) *voucher.Problem {
	return &voucher.Problem{
		Field: field, Reason: fmt.Sprintf("is %q, which is not an id", clipped(text)),
		Allowed: fmt.Sprintf("a whole number from 1 to %d", largest),
	}
}

// query returns the query's values; nil when there is none, which costs nothing.
func query(r *http.Request) (url.Values, *voucher.Problem) {
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &voucher.Problem{Field: "query", Reason: "cannot be read", Allowed: "name=value pairs joined by &, percent-encoded"}
	}
	return values, nil
}

// single returns the one value of a name, and whether it is there.
func single(values url.Values, name string) (string, bool, *voucher.Problem) {
	switch given := values[name]; len(given) {
	case 0:
		return "", false, nil
	case 1:
		return given[0], true, nil
	default:
		return "", false, &voucher.Problem{Field: name, Reason: "is given several times", Allowed: "once"}
	}
}

// wait returns how long the answer is to wait for an order to be recorded; 0 when the caller does not ask for it, or when
// so many requests are in flight that those who wait would take the place of those who come.
func (a *API) wait(values url.Values) (time.Duration, *voucher.Problem) {
	text, given, p := single(values, "wait")
	if !given {
		return 0, p
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > a.cfg.MaxWait {
		return 0, &voucher.Problem{
			Field: "wait", Reason: fmt.Sprintf("is %q", clipped(text)),
			Allowed: fmt.Sprintf("a duration with its unit, such as 500ms or 2s, from 0s to %s", a.cfg.MaxWait),
		}
	}
	if a.load.crowded() {
		return 0, nil
	}
	return d, nil
}

// limit returns how many orders a page is to have.
func limit(values url.Values) (int, *voucher.Problem) {
	text, given, p := single(values, "limit")
	if !given {
		return defaultLimit, p
	}
	n, ok := parseID(text, maxLimit)
	if !ok {
		return 0, &voucher.Problem{
			Field: "limit", Reason: fmt.Sprintf("is %q", clipped(text)),
			Allowed: fmt.Sprintf("a whole number from 1 to %d", maxLimit),
		}
	}
	return int(n), nil
}

// before returns the cursor: only orders with a lower id are wanted.
func before(values url.Values) (int64, *voucher.Problem) {
	text, given, p := single(values, "before")
	if !given {
		return math.MaxInt64, p
	}
	id, ok := parseID(text, math.MaxInt64)
	if !ok {
		return 0, badID("before", text, math.MaxInt64)
	}
	return id, nil
}

// idIn returns the voucher, shop or user id under a name of the query, 0 when it is not there.
func idIn(values url.Values, name string) (int64, *voucher.Problem) {
	text, given, p := single(values, name)
	if !given {
		return 0, p
	}
	id, ok := parseID(text, voucher.MaxID)
	if !ok {
		return 0, badID(name, text, voucher.MaxID)
	}
	return id, nil
}

// filter returns which orders the query asks for, by voucher and status; the status is one of those given.
func filter(values url.Values, statuses ...order.Status) (order.Filter, []*voucher.Problem) {
	voucherID, badVoucher := idIn(values, "voucherId")
	f := order.Filter{VoucherID: voucherID}
	text, given, badStatus := single(values, "status")
	if given {
		i := slices.IndexFunc(statuses, func(s order.Status) bool { return s.String() == text })
		if i >= 0 {
			f.Status = statuses[i]
			f.Waiting = statuses[i] == order.Queued
		} else {
			badStatus = &voucher.Problem{Field: "status", Reason: fmt.Sprintf("is %q", clipped(text)), Allowed: names(statuses)}
		}
	}
	return f, []*voucher.Problem{badVoucher, badStatus}
}

// recordedStatuses are the states of orders that have a row.
func recordedStatuses() []order.Status {
	return []order.Status{order.Unpaid, order.Paid, order.Redeemed, order.Cancelled, order.Refunding, order.Refunded, order.Failed}
}

// names lists statuses for people.
func names(statuses []order.Status) string {
	words := make([]string, len(statuses))
	for i, s := range statuses {
		words[i] = s.String()
	}
	return strings.Join(words, ", ")
}

// clipped shortens what a caller sent to what is told back.
func clipped(s string) string {
	if len(s) <= maxEcho {
		return s
	}
	end := maxEcho
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
