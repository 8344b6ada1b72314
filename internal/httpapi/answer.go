package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// answer is what a handler answers when it did not fail.
type answer struct {
	status   int      // an HTTP status
	location string   // the Location header; "" for none
	body     []byte   // a whole rendered body, or nil
	media    string   // the media type of body; "" for JSON
	shown    *shown   // a body that was prepared for all who ask, or nil
	envelope envelope // marshalled when there is no body
}

// envelope is the body of a success.
type envelope struct {
	Success    bool       `json:"success"` // true; set by the writer
	Data       any        `json:"data"`
	Warnings   []warning  `json:"warnings,omitempty"`
	Total      *int64     `json:"total,omitempty"`
	Next       string     `json:"next,omitempty"`
	Stale      bool       `json:"stale,omitempty"` // a store could not be asked in time
	ServerTime *time.Time `json:"serverTime,omitempty"`
}

// warning is what a caller should know of a request that succeeded.
type warning struct {
	Code    string `json:"code"`
	Field   string `json:"field"`
	Message string `json:"message"` // in the caller's language
}

// result is what was written.
type result struct {
	status int
	code   string // the error's; "" for a success
	err    error  // what went wrong, for the log
}

// write writes the answer, or the error err. An answer that cannot be rendered is an error too: nothing has been written by
// then. A stream has been written before, and nothing follows it.
func (a *API) write(c *gin.Context, format errorFormat, ans answer, err error) result {
	if c.Writer.Written() {
		return a.streamed(c, err)
	}
	if err == nil && ans.shown != nil {
		return a.writeShown(c, ans.shown)
	}
	if err == nil && ans.body == nil {
		ans.body, err = ans.envelope.render()
	}
	if err != nil {
		return a.writeError(c, format, err)
	}
	h := c.Writer.Header()
	h["Content-Type"] = a.headers.json
	if ans.media != "" {
		h["Content-Type"] = []string{ans.media}
	}
	if ans.location != "" {
		h["Location"] = []string{ans.location}
	}
	send(c, ans.status, ans.body)
	return result{status: ans.status}
}

// render is apart from write, where the answer would have to be on the heap for it: those of a rush have a body already.
func (e envelope) render() ([]byte, error) {
	e.Success = true
	body, err := json.Marshal(&e)
	if err != nil {
		return nil, fmt.Errorf("rendering the answer: %w", err)
	}
	return body, nil
}

// streamed is the result of a stream, which broke off with err unless that is nil.
func (a *API) streamed(c *gin.Context, err error) result {
	r := result{status: c.Writer.Status(), err: err}
	if err != nil {
		r.code = a.errors.find(c.Request, err).code
	}
	return r
}

// writeError writes an error in the route's format, with errorMsg in the caller's language.
func (a *API) writeError(c *gin.Context, format errorFormat, err error) result {
	e := a.errors.find(c.Request, err)
	l := a.languages.choose(c.Request.Header)
	h := c.Writer.Header()
	h["Content-Language"] = a.languages.names[l]
	if h["Vary"] == nil {
		h["Vary"] = a.headers.byLanguage
	} else { // by origin too
		h.Add("Vary", "Accept-Language")
	}
	if seconds := e.retry(err); seconds != nil {
		h["Retry-After"] = seconds
	}
	if e.challenge != nil {
		h["Www-Authenticate"] = e.challenge
	}
	status := e.status
	h["Content-Type"] = a.headers.problem
	if format == plainEnvelope {
		h["Content-Type"] = a.headers.json
		status = plainStatus(status)
	}
	send(c, status, e.body(format, l, err))
	return result{status: status, code: e.code, err: err}
}

// plainStatus is the status of an error on the tutorial's route: 200 for a business refusal; for the rest its own.
func plainStatus(status int) int {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusRequestEntityTooLarge, status == http.StatusTooManyRequests,
		status >= http.StatusInternalServerError:
		return status
	default:
		return http.StatusOK
	}
}

// send writes status and body. A failed write changes nothing: the caller has gone, the order is recorded all the same, and
// repeating the request returns its id.
func send(c *gin.Context, status int, body []byte) {
	c.Writer.WriteHeader(status)
	_, _ = c.Writer.Write(body) // see above
}
