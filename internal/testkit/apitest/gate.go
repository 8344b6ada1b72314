package apitest

import (
	"net/http"

	"seckill/internal/httpapi/httpkit"
)

// StoppedError is an error of a Gatekeeper. Its text is the code of the answer.
type StoppedError string

// Error returns the code.
func (s StoppedError) Error() string { return string(s) }

// StoppedRules returns the rules for the errors in StoppedAll.
func StoppedRules() (rules []httpkit.Rule) {
	for code, f := range map[string]httpkit.Failure{
		"RATE_LIMITED":    {Status: http.StatusTooManyRequests, RetryAfter: "1"},
		"COOL_DOWN":       {Status: http.StatusTooManyRequests, RetryAfter: "60"},
		"NOT_ELIGIBLE":    {Status: http.StatusForbidden},
		"NOT_STARTED":     {Status: http.StatusForbidden},
		"SHARE_BUSY":      {Status: http.StatusTooManyRequests, RetryAfter: "1"},
		"SHARE_TAKEN":     {Status: http.StatusForbidden},
		"TICKET_REQUIRED": {Status: http.StatusForbidden},
		"TICKET_INVALID":  {Status: http.StatusForbidden},
		"UNAVAILABLE":     {Status: http.StatusServiceUnavailable, RetryAfter: "1"},
	} {
		f.Code, f.Title, f.Detail, f.English, f.Chinese = code, "Stopped", "A guard stops it.", "Stopped.", "已被拦截"
		rules = append(rules, httpkit.Rule{Matches: httpkit.Is(StoppedError(code)), Failure: f, Early: true})
	}
	return rules
}

// StoppedAll returns every error with which gatekeepers refuse.
func StoppedAll() (refusals []error) {
	for _, r := range StoppedRules() {
		refusals = append(refusals, StoppedError(r.Failure.Code))
	}
	return refusals
}
