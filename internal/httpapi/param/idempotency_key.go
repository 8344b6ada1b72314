package param

import (
	"net/http"

	"seckill/internal/kit/invalid"
)

const (
	idempotencyKeyHeader = "Idempotency-Key"
	maxIdempotencyKey    = 255 // bytes; the ledger's columns are as wide
)

// IdempotencyKey returns the request's Idempotency-Key, "" for none.
func IdempotencyKey(h http.Header) (string, *invalid.Problem) {
	given := h[idempotencyKeyHeader]
	switch {
	case len(given) == 0:
		return "", nil
	case len(given) > 1:
		return "", wrongKey(invalid.Repeated, nil)
	case given[0] == "":
		return "", wrongKey(invalid.Blank, nil)
	case len(given[0]) > maxIdempotencyKey:
		return "", wrongKey(invalid.Bytes, invalid.Data{"length": len(given[0])})
	case !isVisible(given[0]):
		return "", wrongKey(invalid.Malformed, invalid.Data{"value": invalid.Clip(given[0])})
	}
	return given[0], nil
}

func wrongKey(reason invalid.Reason, data invalid.Data) *invalid.Problem {
	if data == nil {
		data = make(invalid.Data)
	}
	data["max"] = maxIdempotencyKey
	return invalid.New(idempotencyKeyHeader, reason, idempotencyKey, data)
}

// RequiredIdempotencyKey is [IdempotencyKey] for requests that must have one.
func RequiredIdempotencyKey(h http.Header) (string, *invalid.Problem) {
	key, p := IdempotencyKey(h)
	if key == "" && p == nil {
		p = wrongKey(invalid.Missing, nil)
	}
	return key, p
}

// isVisible reports whether s consists of visible ASCII characters.
func isVisible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
