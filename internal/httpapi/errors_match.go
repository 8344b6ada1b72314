package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/problem"
	"seckill/internal/kit/words"
	"seckill/internal/order"
)

// problemType is what the type of every problem document begins with; the code follows, in lower case with hyphens.
const problemType = "urn:seckill:problem:"

// errorTable is the table of rules with every answer rendered, once: most requests of a sale end in one of a handful of
// refusals.
type errorTable struct {
	rows      []errorRow
	internal  errorRow
	cancelled errorRow
}

// errorRow is one rule, rendered.
type errorRow struct {
	matches    func(error) bool
	code       string
	status     int
	retryAfter []string // header values, or nil
	wait       func(err error) string
	challenge  []string
	bodies     problem.Bodies
}

func newErrorTable(all []httpkit.Rule) (*errorTable, error) {
	t := &errorTable{rows: make([]errorRow, len(all))}
	for i, r := range all {
		row, err := render(r.Failure)
		if err != nil {
			return nil, err
		}
		row.matches = r.Matches
		t.rows[i] = row
	}
	var err error
	if t.internal, err = render(internalFailure()); err != nil {
		return nil, err
	}
	t.cancelled, err = render(cancelledFailure())
	return t, err
}

// find returns the row that answers the caller of r for err. A read that timed out means that a store is away. A write
// that timed out may have taken effect, so it is internal unless a rule matches it. If the caller has hung up, such an
// error becomes cancelledFailure, so that it does not count as a failure of the service.
func (t *errorTable) find(r *http.Request, err error) *errorRow {
	row := t.match(err)
	if row.code == httpkit.CodeUnknown && errors.Is(r.Context().Err(), context.Canceled) {
		return &t.cancelled
	}
	if row != &t.internal && row.code != httpkit.CodeUnavailable {
		return row
	}
	cancelled := errors.Is(err, context.Canceled)
	switch {
	case cancelled && r.Context().Err() != nil:
		return &t.cancelled
	case isRead(r.Method) && (cancelled || errors.Is(err, context.DeadlineExceeded)):
		return t.match(order.ErrUnavailable)
	default:
		return row
	}
}

// isRead says whether a method only reads.
func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// match returns the first row whose rule matches err, or the internal one.
func (t *errorTable) match(err error) *errorRow {
	for i := range t.rows {
		if t.rows[i].matches(err) {
			return &t.rows[i]
		}
	}
	return &t.internal
}

// retry returns the header values of Retry-After for an error, or nil.
func (row *errorRow) retry(err error) []string {
	if row.wait != nil {
		if seconds := row.wait(err); seconds != "" {
			return []string{seconds}
		}
	}
	return row.retryAfter
}

// body returns the row's body in a format and a language. The result is shared: nobody may change it.
func (row *errorRow) body(format httpkit.Format, l words.Language, err error) []byte {
	if format == httpkit.PlainEnvelope {
		return row.bodies.Envelope(l, err)
	}
	return row.bodies.Document(l, err)
}

func render(f httpkit.Failure) (errorRow, error) {
	row := errorRow{code: f.Code, status: f.Status, wait: f.Wait}
	if f.RetryAfter != "" {
		row.retryAfter = []string{f.RetryAfter}
	}
	if f.Challenge != "" {
		row.challenge = []string{f.Challenge}
	}
	var err error
	row.bodies, err = problem.Render(problem.Problem{
		Type: problemType + strings.ReplaceAll(strings.ToLower(f.Code), "_", "-"),
		Code: f.Code, Status: f.Status, Title: f.Title, Detail: f.Detail,
		Messages: words.Text{words.English: f.English, words.Chinese: f.Chinese},
		Members:  f.Members,
	})
	return row, err
}
