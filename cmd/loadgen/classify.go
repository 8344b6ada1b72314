package main

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"seckill/internal/checker"
	"seckill/internal/httpload"
)

// result is the meaning of an answer for the buyer.
type result struct {
	outcome    checker.Outcome
	order      int64
	code       string
	retryAfter time.Duration // 0: not given
}

// retry reports whether a real buyer would ask again.
func (res result) retry() bool {
	return res.outcome == checker.Unknown || res.outcome == checker.Later || res.code == "NOT_STARTED"
}

// classify returns the meaning of an answer, or of a failed request. An answer that it does not recognize is Unknown.
func classify(a httpload.Answer, err error) result {
	if err != nil {
		return failed(err)
	}
	res := result{code: between(a.Body, `"code":"`), retryAfter: a.RetryAfter}
	switch {
	case a.Status == http.StatusAccepted || a.Status == http.StatusCreated:
		return res.withOrder(checker.Accepted, a)
	case a.Status == http.StatusConflict && res.code == "ALREADY_BOUGHT":
		return res.withOrder(checker.Held, a)
	case res.code == "UNAVAILABLE" || res.code == "PAUSED" || res.code == "RATE_LIMITED" ||
		a.Status == http.StatusTooManyRequests:
		res.outcome = checker.Later
	case res.code == "" || res.code == "UNKNOWN_OUTCOME" || res.code == "INTERNAL":
		res.outcome = checker.Unknown
	default:
		res.outcome = checker.Refused
	}
	if res.code == "" {
		res.code = "status " + strconv.Itoa(a.Status)
	}
	return res
}

// withOrder adds the order id from an answer that must have one.
func (res result) withOrder(v checker.Outcome, a httpload.Answer) result {
	text := between(a.Body, `"orderId":"`)
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != text {
		return result{outcome: checker.Unknown, code: "status " + strconv.Itoa(a.Status) + " without an order id"}
	}
	return result{outcome: v, order: id}
}

// between returns the text from before up to the next quotation mark. This works because the service writes JSON
// without spaces; proper decoding would cost more than sending the request.
func between(body []byte, before string) string {
	_, rest, found := bytes.Cut(body, []byte(before))
	text, _, ends := bytes.Cut(rest, []byte{'"'})
	if !found || !ends {
		return ""
	}
	return string(text)
}

// failed returns the meaning of a failed request. One that was not sent had no effect; one that was sent may have had
// one.
func failed(err error) result {
	timeout := net.Error(nil)
	switch {
	case errors.Is(err, httpload.ErrNotSent):
		return result{outcome: checker.Later, code: "no connection"}
	case errors.As(err, &timeout) && timeout.Timeout():
		return result{outcome: checker.Unknown, code: "no answer in time"}
	default:
		return result{outcome: checker.Unknown, code: "connection lost"}
	}
}
