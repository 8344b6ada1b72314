package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
)

// result describes an answer that was written.
type result struct {
	status int
	code   string // the error's; "" for a success
	err    error  // what went wrong, for the log
}

// write writes the answer, or the error err. If the answer cannot be rendered, it writes that error instead. It writes
// nothing for a stream, whose handler has already written it.
func (a *API) write(c *gin.Context, format httpkit.Format, ans httpkit.Answer, err error) result {
	if c.Writer.Written() {
		return a.streamed(c, err)
	}
	if err == nil && ans.Write != nil {
		return result{status: ans.Write(c)}
	}
	if err == nil && ans.Body == nil {
		ans.Body, err = a.render(c, ans)
	}
	if err != nil {
		return a.writeError(c, format, err)
	}
	h := c.Writer.Header()
	h["Content-Type"] = a.headers.json
	if ans.Media != "" {
		h["Content-Type"] = []string{ans.Media}
	}
	if ans.Location != "" {
		h["Location"] = []string{ans.Location}
	}
	send(c, ans.Status, ans.Body)
	return result{status: ans.Status}
}

// render renders an answer without a body in the caller's language.
func (a *API) render(c *gin.Context, ans httpkit.Answer) ([]byte, error) {
	if ans.Speak != nil {
		ans.Envelope.Data = ans.Speak(a.speak(c))
	}
	if len(ans.Envelope.Warnings) > 0 {
		l := a.speak(c)
		for i, w := range ans.Envelope.Warnings {
			ans.Envelope.Warnings[i].Message = w.Text[l]
		}
	}
	return ans.Envelope.Render()
}

// streamed returns the result of a stream that ended, with err if it broke off.
func (a *API) streamed(c *gin.Context, err error) result {
	r := result{status: c.Writer.Status(), err: err}
	if err != nil {
		r.code = a.errors.find(c.Request, err).code
	}
	return r
}

// writeError writes an error in the route's format, with errorMsg in the caller's language.
func (a *API) writeError(c *gin.Context, format httpkit.Format, err error) result {
	e := a.errors.find(c.Request, err)
	l := a.languages.Choose(c.Request.Header)
	h := c.Writer.Header()
	h["Content-Language"] = a.languages.Name(l)
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
	if format == httpkit.PlainEnvelope {
		h["Content-Type"] = a.headers.json
		status = plainStatus(status)
	}
	send(c, status, e.body(format, l, err))
	return result{status: status, code: e.code, err: err}
}

// plainStatus returns the status of an error on the tutorial's route: 200 for a business refusal, and otherwise the
// error's own.
func plainStatus(status int) int {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusRequestEntityTooLarge,
		status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return status
	default:
		return http.StatusOK
	}
}

// send writes status and body. A failed write needs no handling: the caller has gone, the order is still recorded, and
// repeating the request returns its id.
func send(c *gin.Context, status int, body []byte) {
	c.Writer.WriteHeader(status)
	_, _ = c.Writer.Write(body) // see above
}
