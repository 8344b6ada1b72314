package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/words"
	"seckill/internal/order"
)

// problemType is the prefix of every problem document's type; the code follows, in lower case with hyphens.
const problemType = "urn:seckill:problem:"

// renderedErrors are the rules with every answer rendered, once: most requests of a sale end in one of a handful of
// refusals.
type renderedErrors struct {
	ofRules   []renderedError
	internal  renderedError
	cancelled renderedError
}

// renderedError is a rule with its headers and bodies rendered.
type renderedError struct {
	matches    func(error) bool
	code       string
	status     int
	retryAfter []string // header values, or nil
	wait       func(err error) string
	challenge  []string
	bodies     [httpkit.Formats][words.Languages][]byte
	members    func(body []byte, l words.Language, err error) []byte
}

// document is a problem document (RFC 9457). It has the envelope's members too, so that one client can read both.
type document struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	envelope
}

// envelope is the plain envelope of a failed request.
type envelope struct {
	Success  bool   `json:"success"` // always false
	Code     string `json:"code"`
	ErrorMsg string `json:"errorMsg"`
}

func renderErrors(all []httpkit.Rule) *renderedErrors {
	t := &renderedErrors{
		ofRules: make([]renderedError, len(all)), internal: render(internalFailure()),
		cancelled: render(cancelledFailure()),
	}
	for i, r := range all {
		t.ofRules[i] = render(r.Failure)
		t.ofRules[i].matches = r.Matches
	}
	return t
}

func render(f httpkit.Failure) renderedError {
	e := renderedError{code: f.Code, status: f.Status, wait: f.Wait, members: f.Members}
	if f.RetryAfter != "" {
		e.retryAfter = []string{f.RetryAfter}
	}
	if f.Challenge != "" {
		e.challenge = []string{f.Challenge}
	}
	for l, message := range (words.Text{words.English: f.English, words.Chinese: f.Chinese}) {
		plain := envelope{Code: f.Code, ErrorMsg: message}
		e.bodies[httpkit.PlainEnvelope][l] = httpkit.AppendJSON(nil, plain)
		e.bodies[httpkit.ProblemDocument][l] = httpkit.AppendJSON(nil, document{
			Type:  problemType + strings.ReplaceAll(strings.ToLower(f.Code), "_", "-"),
			Title: f.Title, Status: f.Status, Detail: f.Detail, envelope: plain,
		})
	}
	return e
}

// find returns the row that answers the caller of r for err. A read that timed out means that a store is away. A write
// that timed out may have taken effect, so it is internal unless a rule matches it. If the caller has hung up, such an
// error becomes cancelledFailure, so that it does not count as a failure of the service.
func (t *renderedErrors) find(r *http.Request, err error) *renderedError {
	e := t.match(err)
	if e.code == httpkit.CodeUnknown && errors.Is(r.Context().Err(), context.Canceled) {
		return &t.cancelled
	}
	if e != &t.internal && e.code != httpkit.CodeUnavailable {
		return e
	}
	cancelled := errors.Is(err, context.Canceled)
	onlyReads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case cancelled && r.Context().Err() != nil:
		return &t.cancelled
	case onlyReads && (cancelled || errors.Is(err, context.DeadlineExceeded)):
		return t.match(order.ErrUnavailable)
	default:
		return e
	}
}

// match returns the first of the rules that matches err, or the internal error.
func (t *renderedErrors) match(err error) *renderedError {
	for i := range t.ofRules {
		if t.ofRules[i].matches(err) {
			return &t.ofRules[i]
		}
	}
	return &t.internal
}

// retry returns the header values of Retry-After for an error, or nil.
func (e *renderedError) retry(err error) []string {
	if e.wait != nil {
		if seconds := e.wait(err); seconds != "" {
			return []string{seconds}
		}
	}
	return e.retryAfter
}

// body returns the body in a format and a language, with the members that depend on err. Requests share the result:
// nobody may change it.
func (e *renderedError) body(format httpkit.Format, l words.Language, err error) []byte {
	body := e.bodies[format][l]
	if e.members == nil {
		return body
	}
	out := make([]byte, 0, len(body)+128)
	out = append(out, body[:len(body)-1]...) // up to the closing brace
	out = e.members(out, l, err)
	return append(out, '}')
}
