package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// answer is what a handler says when it did not fail.
type answer struct {
	status   int      // an HTTP status
	location string   // the Location header; "" for none
	body     []byte   // a whole rendered body, or nil
	envelope envelope // marshalled when body is nil
}

// envelope is the body of a success.
type envelope struct {
	Success    bool       `json:"success"` // true; set by the writer
	Data       any        `json:"data"`
	Total      *int64     `json:"total,omitempty"`
	Next       string     `json:"next,omitempty"`
	ServerTime *time.Time `json:"serverTime,omitempty"`
}

// said is what the caller was told.
type said struct {
	status int
	code   string // the failure's; "" for a success
	err    error  // what went wrong, for the log
}

// say writes the answer, or what became of err. An answer that cannot be rendered is an error too: nothing has been
// written by then. A stream has been written when it comes here, and nothing can be said after it.
func (a *API) say(c *gin.Context, v voice, ans answer, err error) said {
	if c.Writer.Written() {
		return a.streamed(c, err)
	}
	if err == nil && ans.body == nil {
		ans.envelope.Success = true
		if ans.body, err = json.Marshal(&ans.envelope); err != nil {
			err = fmt.Errorf("rendering the answer: %w", err)
		}
	}
	if err != nil {
		return a.fail(c, v, err)
	}
	h := c.Writer.Header()
	h["Content-Type"] = a.headers.json
	if ans.location != "" {
		h["Location"] = []string{ans.location}
	}
	write(c, ans.status, ans.body)
	return said{status: ans.status}
}

// streamed is what the caller of a stream was told, which broke off with err unless that is nil.
func (a *API) streamed(c *gin.Context, err error) said {
	s := said{status: c.Writer.Status(), err: err}
	if err != nil {
		s.code = a.book.find(c.Request, err).code
	}
	return s
}

// fail writes a failure in the route's voice and the caller's language, which errorMsg is in.
func (a *API) fail(c *gin.Context, v voice, err error) said {
	e := a.book.find(c.Request, err)
	t := a.speech.choose(c.Request.Header)
	h := c.Writer.Header()
	h["Content-Language"] = a.speech.names[t]
	if h["Vary"] == nil {
		h["Vary"] = a.headers.byLanguage
	} else { // by origin too
		h.Add("Vary", "Accept-Language")
	}
	if e.retryAfter != nil {
		h["Retry-After"] = e.retryAfter
	}
	if e.challenge != nil {
		h["Www-Authenticate"] = e.challenge
	}
	status := e.status
	h["Content-Type"] = a.headers.problem
	if v == plainEnvelope {
		h["Content-Type"] = a.headers.json
		status = plainStatus(status)
	}
	write(c, status, e.body(v, t, err))
	return said{status: status, code: e.code, err: err}
}

// plainStatus is the status with which the tutorial's route tells a failure: 200 for a refusal of the business, its own
// for what stands before it or breaks it.
func plainStatus(status int) int {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusRequestEntityTooLarge, status == http.StatusTooManyRequests,
		status >= http.StatusInternalServerError:
		return status
	default:
		return http.StatusOK
	}
}

// write sends status and body. A caller who has gone cannot be told, and what was decided stands: the order is
// recorded, and asking again gives its id.
func write(c *gin.Context, status int, body []byte) {
	c.Writer.WriteHeader(status)
	_, _ = c.Writer.Write(body) // see above
}
