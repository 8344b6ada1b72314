// Package trace carries the traceparent (W3C Trace Context) of callers who want to be followed. The service makes no
// spans of its own: it passes the trace's id on and logs it (ADR 51).
package trace

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
)

// Parent is a traceparent of version 00: 00, the trace's id, the caller's span, and flags. "" is none.
type Parent string

// The places of a traceparent's parts.
const (
	idAt    = len("00-")
	spanAt  = idAt + 32 + len("-")
	flagsAt = spanAt + 16 + len("-")
	size    = flagsAt + 2
)

// Parse returns the traceparent in a header's value, "" if it is none.
func Parse(value string) Parent {
	if len(value) != size || value[:idAt] != "00-" || value[spanAt-1] != '-' || value[flagsAt-1] != '-' ||
		!isHex(value[idAt:spanAt-1], true) || !isHex(value[spanAt:flagsAt-1], true) || !isHex(value[flagsAt:], false) {
		return ""
	}
	return Parent(value)
}

// isHex reports whether text is in lower case hexadecimal digits, some of them not 0 if it must name something.
func isHex(text string, names bool) bool {
	for i := range len(text) {
		c := text[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
		names = names && c == '0'
	}
	return !names
}

// ID returns the trace's id: 32 digits.
func (p Parent) ID() string {
	if p == "" {
		return ""
	}
	return string(p[idAt : spanAt-1])
}

// Sampled reports whether the caller has the trace recorded.
func (p Parent) Sampled() bool {
	if p == "" {
		return false
	}
	digit := p[size-1]
	if digit >= 'a' {
		digit -= 'a' - 10
	}
	return digit&1 != 0
}

// Child returns the traceparent for a call that this process makes: another span of the same trace; "" of none.
func (p Parent) Child() Parent {
	if p == "" {
		return ""
	}
	span := binary.BigEndian.AppendUint64(nil, max(1, rand.Uint64())) //nolint:gosec // no secret
	return p[:spanAt] + Parent(hex.EncodeToString(span)) + p[flagsAt-1:]
}

type (
	key     struct{}
	workKey struct{}
)

// With returns ctx for the work of a request that is followed.
func With(ctx context.Context, p Parent) context.Context { return context.WithValue(ctx, key{}, p) }

// From returns the traceparent of the request under whose ctx work is done; "" if it is not followed.
func From(ctx context.Context) Parent {
	p, _ := ctx.Value(key{}).(Parent) // "" if there is none
	return p
}

// WithEach returns ctx for work on several things at once, each of which may be followed by itself, by its id.
func WithEach(ctx context.Context, of map[int64]Parent) context.Context {
	return context.WithValue(ctx, workKey{}, of)
}

// Of returns the traceparent of one thing that is worked on: its own, or else that of the request.
func Of(ctx context.Context, id int64) Parent {
	if of, _ := ctx.Value(workKey{}).(map[int64]Parent); of[id] != "" { // a nil map has none
		return of[id]
	}
	return From(ctx)
}
