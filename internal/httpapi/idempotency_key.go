package httpapi

import (
	"fmt"
	"net/http"

	"seckill/internal/voucher"
)

const (
	idempotencyKeyHeader = "Idempotency-Key"
	maxIdempotencyKey    = 255 // bytes; the ledger's columns are as wide
)

// idempotencyKey returns the key that the caller gave the request, "" for none.
func idempotencyKey(h http.Header) (string, *voucher.Problem) {
	given := h[idempotencyKeyHeader]
	allowed := fmt.Sprintf("1 to %d visible ASCII characters, once", maxIdempotencyKey)
	switch {
	case len(given) == 0:
		return "", nil
	case len(given) > 1:
		return "", &voucher.Problem{Field: idempotencyKeyHeader, Reason: "is given several times", Allowed: allowed}
	case given[0] == "":
		return "", &voucher.Problem{Field: idempotencyKeyHeader, Reason: "is empty", Allowed: allowed}
	case len(given[0]) > maxIdempotencyKey:
		return "", &voucher.Problem{Field: idempotencyKeyHeader, Reason: fmt.Sprintf("has %d bytes, which is too long", len(given[0])), Allowed: allowed}
	}
	for i := range len(given[0]) {
		if c := given[0][i]; c <= ' ' || c > '~' {
			return "", &voucher.Problem{Field: idempotencyKeyHeader, Reason: fmt.Sprintf("is %q", clipped(given[0])), Allowed: allowed}
		}
	}
	return given[0], nil
}

// requiredIdempotencyKey is idempotencyKey where there must be one.
func requiredIdempotencyKey(h http.Header) (string, *voucher.Problem) {
	key, p := idempotencyKey(h)
	if key == "" && p == nil {
		p = &voucher.Problem{
			Field: idempotencyKeyHeader, Reason: "is missing: without it a repeated request would count twice",
			Allowed: fmt.Sprintf("1 to %d visible ASCII characters, new for each change", maxIdempotencyKey),
		}
	}
	return key, p
}
