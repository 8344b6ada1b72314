package seckill

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Refusal is an answer that says no: a document with a stable code.
type Refusal struct {
	Problem

	// RetryAfter is how long the service asks to wait before the request is repeated; 0 where it does not say.
	RetryAfter time.Duration
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("seckill: %d %s: %s", r.Status, r.Code, r.ErrorMsg)
}

// Check returns nil for an answer that is a success, else a *Refusal. Body is the answer's, which is read already.
func Check(answer *http.Response, body []byte) error {
	if answer.StatusCode < http.StatusBadRequest {
		return nil
	}
	r := &Refusal{RetryAfter: retryAfter(answer.Header)}
	if err := json.Unmarshal(body, &r.Problem); err != nil || r.Code == "" { // from a proxy in between
		r.Problem = Problem{Code: "UNREADABLE", ErrorMsg: http.StatusText(answer.StatusCode)}
	}
	r.Status = answer.StatusCode
	return r
}

// retryAfter reads the header, which the service gives in seconds.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
