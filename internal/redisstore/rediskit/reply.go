package rediskit

import (
	"fmt"
	"time"
)

// Reply reads a script's flat array from left to right. The first element of a wrong type sets Err; everything read
// after that is zero.
type Reply struct {
	elements []any
	at       int
	Err      error
}

// NewReply returns a reader of a script's answer. Its Err is set if the answer is not an array.
func NewReply(raw any) *Reply {
	elements, ok := raw.([]any)
	if !ok {
		return &Reply{Err: fmt.Errorf("redis: a script answered with %T, not an array", raw)}
	}
	return &Reply{elements: elements}
}

// Len returns the number of elements, whether read or not.
func (r *Reply) Len() int { return len(r.elements) }

// More reports whether elements are left to be read.
func (r *Reply) More() bool { return r.Err == nil && r.at < len(r.elements) }

// Next returns the next element.
func (r *Reply) Next() any {
	if r.Err != nil {
		return nil
	}
	if r.at >= len(r.elements) {
		r.Err = fmt.Errorf("redis: a script answered with only %d elements", len(r.elements))
		return nil
	}
	r.at++
	return r.elements[r.at-1]
}

// Number returns the next element, a number.
func (r *Reply) Number() int64 {
	n, ok := r.Next().(int64)
	if !ok {
		r.Wrong("not a number")
	}
	return n
}

// Text returns the next element, a text.
func (r *Reply) Text() string {
	s, ok := r.Next().(string)
	if !ok {
		r.Wrong("not text")
	}
	return s
}

// Time returns the next element, milliseconds since 1970.
func (r *Reply) Time() time.Time { return time.UnixMilli(r.Number()).UTC() }

// Wrong sets Err: the element that was read last is not what it should be.
func (r *Reply) Wrong(what string) {
	if r.Err == nil {
		r.Err = fmt.Errorf("redis: element %d of a script's answer is %s", r.at, what)
	}
}
