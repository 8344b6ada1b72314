package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// problemType is what the type of every problem document begins with; the code follows, in lower case with hyphens.
const problemType = "urn:seckill:problem:"

// errorBook is the error table with every answer rendered, once: most requests of a sale end in one of a handful of
// refusals.
type errorBook struct {
	entries   []entry
	internal  entry
	cancelled entry
}

// entry is one rule, rendered.
type entry struct {
	matches    func(error) bool
	code       string
	status     int
	retryAfter []string // header values, or nil
	challenge  []string
	members    func([]byte, error) []byte
	problem    [tongues][]byte // whole bodies, by language
	envelope   [tongues][]byte
}

func newErrorBook() (*errorBook, error) {
	b := &errorBook{entries: make([]entry, len(rules))}
	for i, r := range rules {
		e, err := render(r.failure)
		if err != nil {
			return nil, err
		}
		e.matches = r.matches
		b.entries[i] = e
	}
	var err error
	if b.internal, err = render(internalFailure()); err != nil {
		return nil, err
	}
	b.cancelled, err = render(cancelledFailure())
	return b, err
}

// find returns what the caller of r is told about err. A read that was given up is an unavailable store; a write that
// was is not, because it may have had its effect: without a rule of its own it stays internal. A caller who has hung up
// hears nothing, so what he would have been told is no failure of the service.
func (b *errorBook) find(r *http.Request, err error) *entry {
	e := b.match(err)
	if e.code == codeUnknown && errors.Is(r.Context().Err(), context.Canceled) {
		return &b.cancelled
	}
	if e != &b.internal && e.code != codeUnavailable {
		return e
	}
	cancelled := errors.Is(err, context.Canceled)
	switch {
	case cancelled && r.Context().Err() != nil:
		return &b.cancelled
	case isRead(r.Method) && (cancelled || errors.Is(err, context.DeadlineExceeded)):
		return b.match(order.ErrUnavailable)
	default:
		return e
	}
}

// isRead says whether a method only reads.
func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// match returns the first entry that matches err, or the internal one.
func (b *errorBook) match(err error) *entry {
	for i := range b.entries {
		if b.entries[i].matches(err) {
			return &b.entries[i]
		}
	}
	return &b.internal
}

// body returns what the entry says in a voice and a language. The result is shared: nobody changes it.
func (e *entry) body(v voice, t tongue, err error) []byte {
	whole := e.problem[t]
	if v == plainEnvelope {
		whole = e.envelope[t]
	}
	if e.members == nil {
		return whole
	}
	out := make([]byte, 0, len(whole)+128)
	out = append(out, whole[:len(whole)-1]...) // up to the closing brace
	out = e.members(out, err)
	return append(out, '}')
}

func render(f failure) (entry, error) {
	e := entry{code: f.code, status: f.status, members: f.members}
	if f.retryAfter != "" {
		e.retryAfter = []string{f.retryAfter}
	}
	if f.challenge != "" {
		e.challenge = []string{f.challenge}
	}
	for t := range tongues {
		message := f.english
		if t == chinese {
			message = f.chinese
		}
		plain := plainFailure{Code: f.code, ErrorMsg: message}
		var err error
		if e.envelope[t], err = json.Marshal(plain); err != nil {
			return entry{}, fmt.Errorf("httpapi: rendering %s: %w", f.code, err)
		}
		e.problem[t], err = json.Marshal(problem{
			Type:  problemType + strings.ReplaceAll(strings.ToLower(f.code), "_", "-"),
			Title: f.title, Status: f.status, Detail: f.detail, plainFailure: plain,
		})
		if err != nil {
			return entry{}, fmt.Errorf("httpapi: rendering %s: %w", f.code, err)
		}
	}
	return e, nil
}

// problem is a problem document (RFC 9457) that clients of the plain envelope can read too.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	plainFailure
}

// plainFailure is the tutorial's envelope of a failure.
type plainFailure struct {
	Success  bool   `json:"success"` // always false
	Code     string `json:"code"`
	ErrorMsg string `json:"errorMsg"`
}

// alreadyBoughtMembers adds the order that the user has, and its status when it is known.
func alreadyBoughtMembers(body []byte, err error) []byte {
	e, _ := errors.AsType[*order.AlreadyBoughtError](err)
	body = append(body, `,"data":`...)
	body = appendOrderRef(body, e.OrderID, e.Status)
	return append(body, '}')
}

// orderFailedMembers adds the order that failed, and why.
func orderFailedMembers(body []byte, err error) []byte {
	e, _ := errors.AsType[*orderFailedError](err)
	body = append(body, `,"data":`...)
	body = appendOrderRef(body, e.order.ID, order.Failed)
	body = append(body, `,"reason":`...)
	body = appendJSON(body, string(e.order.Reason))
	return append(body, '}')
}

// orderStateMembers adds the order and the state that it is in.
func orderStateMembers(body []byte, err error) []byte {
	e, _ := errors.AsType[*order.StateError](err)
	body = append(body, `,"data":`...)
	body = appendOrderRef(body, e.OrderID, e.Status)
	return append(body, '}')
}

// insufficientStockMembers adds how many units are left.
func insufficientStockMembers(body []byte, err error) []byte {
	e, _ := errors.AsType[*voucher.InsufficientStockError](err)
	body = append(body, `,"data":{"left":`...)
	body = strconv.AppendInt(body, e.Left, 10)
	return append(body, '}')
}

// invalidMembers adds everything that is wrong with the request.
func invalidMembers(body []byte, err error) []byte {
	e, _ := errors.AsType[*voucher.InvalidError](err)
	body = append(body, `,"errors":`...)
	return appendJSON(body, e.Problems)
}

// appendOrderRef appends {"orderId":"…","status":"…" without the closing brace. A status that is not known is left out.
func appendOrderRef(body []byte, id int64, s order.Status) []byte {
	body = append(body, `{"orderId":"`...)
	body = strconv.AppendInt(body, id, 10)
	body = append(body, '"')
	if s != order.StatusUnknown {
		body = append(body, `,"status":"`...)
		body = append(body, s.String()...)
		body = append(body, '"')
	}
	return body
}

// appendJSON appends v, a string or strings in structs, which always have a JSON form.
func appendJSON(body []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return append(body, "null"...)
	}
	return append(body, text...)
}
