// Package idempotency identifies requests by their Idempotency-Key: a repeated request creates nothing, and is answered
// with the result of the first one.
//
// The ledger keeps a row for each key of a caller. The transaction that creates the result inserts this row first, so
// that of two equal requests at the same time one waits for the other. A request that is refused leaves no row, so its
// key stays free.
package idempotency

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
)

// Key is a request with an Idempotency-Key. The zero Key is a request without one, which may be done any number of
// times.
type Key struct {
	Caller int64             // the user
	Name   string            // the header's value
	Route  string            // method and path
	Body   [sha256.Size]byte // [Digest] of the body
}

// Given reports whether the request has a key.
func (k Key) Given() bool { return k.Name != "" }

// Errors of a request with a key that was used before.
var (
	// ErrReused: the caller used the key before, for another request.
	ErrReused = errors.New("idempotency key was used for another request")
	// ErrGone: the result of the first request with the key has been deleted since.
	ErrGone = errors.New("what the request made is gone")
)

// RepeatedError says that an earlier request with the same key succeeded. Made is the id of its result.
type RepeatedError struct{ Made string }

func (e *RepeatedError) Error() string { return "the request has been done before: it made " + e.Made }

// Digest returns the SHA-256 of a JSON body in its canonical form: without insignificant space, with sorted names. No
// body equals {}.
func Digest(body []byte) [sha256.Size]byte {
	tokens := json.NewDecoder(bytes.NewReader(body))
	tokens.UseNumber()
	var value any = map[string]any{}
	if len(bytes.TrimSpace(body)) > 0 && tokens.Decode(&value) != nil {
		return sha256.Sum256(body) // no route takes it
	}
	canonical, err := json.Marshal(value)
	if err != nil {
		return sha256.Sum256(body)
	}
	return sha256.Sum256(canonical)
}
