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

// judgement is what an answer means for the buyer.
type judgement struct {
	verdict    checker.Verdict
	order      int64
	code       string
	retryAfter time.Duration // 0: not given
}

// again reports whether a real buyer would press the button once more.
func (j judgement) again() bool {
	return j.verdict == checker.Unknown || j.verdict == checker.Later || j.code == "NOT_STARTED"
}

// judge says what an answer, or the lack of one, means. Whatever it does not understand is unknown.
func judge(a httpload.Answer, err error) judgement {
	if err != nil {
		return judgement{verdict: verdictOf(err), code: textOf(err)}
	}
	j := judgement{code: between(a.Body, `"code":"`), retryAfter: a.RetryAfter}
	switch {
	case a.Status == http.StatusAccepted || a.Status == http.StatusCreated:
		return j.named(checker.Accepted, a)
	case a.Status == http.StatusConflict && j.code == "ALREADY_BOUGHT":
		return j.named(checker.Held, a)
	case j.code == "UNAVAILABLE" || j.code == "PAUSED" || j.code == "RATE_LIMITED" || a.Status == http.StatusTooManyRequests:
		j.verdict = checker.Later
	case j.code == "" || j.code == "UNKNOWN_OUTCOME" || j.code == "INTERNAL":
		j.verdict = checker.Unknown
	default:
		j.verdict = checker.Refused
	}
	if j.code == "" {
		j.code = "status " + strconv.Itoa(a.Status)
	}
	return j
}

// named takes the order id from an answer that has to name one.
func (j judgement) named(v checker.Verdict, a httpload.Answer) judgement {
	text := between(a.Body, `"orderId":"`)
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != text {
		return judgement{verdict: checker.Unknown, code: "status " + strconv.Itoa(a.Status) + " without an order id"}
	}
	return judgement{verdict: v, order: id}
}

// between returns what stands behind a text, up to the next quotation mark. The service writes its JSON without spaces,
// and decoding it properly would cost more than sending the request.
func between(body []byte, before string) string {
	_, rest, found := bytes.Cut(body, []byte(before))
	text, _, ends := bytes.Cut(rest, []byte{'"'})
	if !found || !ends {
		return ""
	}
	return string(text)
}

// verdictOf: what was never sent did nothing; what was sent may have.
func verdictOf(err error) checker.Verdict {
	if errors.Is(err, httpload.ErrNotSent) {
		return checker.Later
	}
	return checker.Unknown
}

// textOf is an error in few words, the same for all that met it.
func textOf(err error) string {
	timeout := net.Error(nil)
	switch {
	case errors.Is(err, httpload.ErrNotSent):
		return "no connection"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	default:
		return "connection lost"
	}
}
