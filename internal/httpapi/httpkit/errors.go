package httpkit

import (
	"errors"
	"slices"
	"strings"

	"seckill/internal/kit/words"
	"seckill/internal/order/gate"
)

// Is matches errors that wrap target.
func Is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// AnyOf matches errors that wrap one of the targets.
func AnyOf(targets ...error) func(error) bool {
	return func(err error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
}

// As matches errors that wrap one of type E.
func As[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// Failure is one way in which a request can fail, as its caller sees it.
type Failure struct {
	Code       string // stable, for programs
	Status     int
	RetryAfter string // seconds until asking again makes sense; "" for no header
	// Wait returns the seconds where they depend on the error, or "" for those in RetryAfter; nil: they never do.
	Wait      func(err error) string
	Challenge string // WWW-Authenticate; "" for no header
	Title     string // the same for every occurrence of the code
	Detail    string // for developers
	English   string // errorMsg
	Chinese   string // errorMsg
	// Label is the console's name for this refusal of a sale, by language. Only answers of admission have one.
	Label words.Text
	// Members appends JSON members that depend on the error, each with a leading comma; nil for none.
	Members func(body []byte, l words.Language, err error) []byte
}

// CodeOf returns the code for an answer of an admission.
func CodeOf(a gate.Answer) string { return strings.ToUpper(string(a)) }

// Codes that several packages answer with or compare.
const (
	CodePaused      = "PAUSED"
	CodeUnavailable = "UNAVAILABLE"
	CodeUnknown     = "UNKNOWN_OUTCOME"
	CodeRateLimited = "RATE_LIMITED"
)

// Rule maps the errors that it matches to a failure.
type Rule struct {
	Matches func(error) bool
	Failure Failure
	// Early: this is a frequent answer of a sale in a rush. Early rules are matched before all others.
	Early bool
}
