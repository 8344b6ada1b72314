package httpapi

import (
	"net/http"

	"github.com/google/uuid"
)

// maxRequestID is how long a request id of the caller's may be.
const maxRequestID = 64

// requestID returns the id that the caller or a proxy gave the request, if it is harmless in logs and headers, else a
// new one.
func requestID(r *http.Request) string {
	if given := r.Header["X-Request-Id"]; len(given) == 1 && saneRequestID(given[0]) {
		return given[0]
	}
	return uuid.NewString()
}

func saneRequestID(s string) bool {
	if s == "" || len(s) > maxRequestID {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
