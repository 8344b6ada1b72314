package param

import (
	"fmt"
	"net/http"

	"seckill/internal/invalid"
)

const (
	idempotencyKeyHeader = "Idempotency-Key"
	maxIdempotencyKey    = 255 // bytes; the ledger's columns are as wide
)

// IdempotencyKey returns the request's Idempotency-Key, "" for none.
func IdempotencyKey(h http.Header) (string, *invalid.Problem) {
	given := h[idempotencyKeyHeader]
	var reason string
	switch {
	case len(given) == 0:
		return "", nil
	case len(given) > 1:
		reason = "is given several times"
	case given[0] == "":
		reason = "is empty"
	case len(given[0]) > maxIdempotencyKey:
		reason = fmt.Sprintf("has %d bytes, which is too long", len(given[0]))
	case !isVisible(given[0]):
		reason = fmt.Sprintf("is %q", invalid.Clip(given[0]))
	default:
		return given[0], nil
	}
	return "", &invalid.Problem{
		Field: idempotencyKeyHeader, Reason: reason,
		Allowed: fmt.Sprintf("1 to %d visible ASCII characters, once", maxIdempotencyKey),
	}
}

// RequiredIdempotencyKey is [IdempotencyKey] where there must be one.
func RequiredIdempotencyKey(h http.Header) (string, *invalid.Problem) {
	key, p := IdempotencyKey(h)
	if key == "" && p == nil {
		p = &invalid.Problem{
			Field: idempotencyKeyHeader, Reason: "is missing: without it a repeated request would count twice",
			Allowed: fmt.Sprintf("1 to %d visible ASCII characters, new for each change", maxIdempotencyKey),
		}
	}
	return key, p
}

// isVisible reports whether s is visible ASCII characters alone.
func isVisible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
