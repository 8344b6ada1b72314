package httpkit

import (
	"encoding/json"
	"fmt"

	"github.com/gin-gonic/gin"

	"seckill/internal/kit/words"
)

// Answer is a handler's answer to a request that succeeded.
type Answer struct {
	Status   int    // an HTTP status
	Location string // the Location header; "" for none
	Body     []byte // a whole rendered body, or nil
	Media    string // the media type of body; "" for JSON
	// Write writes an answer that was rendered once for all callers, and returns its status; nil: there is none.
	Write    func(c *gin.Context) (status int)
	Envelope Envelope // marshalled when there is no body
	// Speak returns the envelope's data in the caller's language; nil: the data is the same in all languages, and is in
	// the envelope.
	Speak func(in words.Language) any
}

// Data returns an answer with the data, or the error.
func Data(status int, data any, err error) (Answer, error) {
	if err != nil {
		return Answer{}, err
	}
	return Answer{Status: status, Envelope: Envelope{Data: data}}, nil
}

// Envelope is the body of a success.
type Envelope struct {
	Success    bool      `json:"success"` // true; set by the writer
	Data       any       `json:"data"`
	Warnings   []Warning `json:"warnings,omitempty"`
	Total      *int64    `json:"total,omitempty"`
	Next       string    `json:"next,omitempty"`
	Further    bool      `json:"further,omitempty"` // asking with next now brings more; only where next is always there
	Stale      bool      `json:"stale,omitempty"`   // a store could not be asked in time
	ServerTime *Time     `json:"serverTime,omitempty"`
}

// Warning tells the caller about a problem of a request that succeeded.
type Warning struct {
	Code    string `json:"code"`
	Field   string `json:"field"`
	Message string `json:"message"` // Text in the caller's language, which the writer sets

	Text words.Text `json:"-"`
}

// Render returns the envelope as JSON. Marshalling puts the envelope on the heap. It is not part of the writer, whose
// frequent answers have a body already and must not pay for that.
func (e Envelope) Render() ([]byte, error) {
	e.Success = true
	body, err := json.Marshal(&e)
	if err != nil {
		return nil, fmt.Errorf("rendering the answer: %w", err)
	}
	return body, nil
}
