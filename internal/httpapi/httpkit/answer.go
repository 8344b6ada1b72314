package httpkit

import (
	"encoding/json"
	"fmt"

	"github.com/gin-gonic/gin"

	"seckill/internal/kit/words"
)

// Answer is what a handler answers when it did not fail.
type Answer struct {
	Status   int    // an HTTP status
	Location string // the Location header; "" for none
	Body     []byte // a whole rendered body, or nil
	Media    string // the media type of body; "" for JSON
	// Write writes an answer that was prepared for all who ask, and returns its status; nil: there is none.
	Write    func(c *gin.Context) (status int)
	Envelope Envelope // marshalled when there is no body
	// Speak returns the envelope's data in the caller's language; nil: the data has none, and is in the envelope.
	Speak func(in words.Language) any
}

// Data is an answer with data, or the error.
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
	Stale      bool      `json:"stale,omitempty"` // a store could not be asked in time
	ServerTime *Time     `json:"serverTime,omitempty"`
}

// Warning is what a caller should know of a request that succeeded.
type Warning struct {
	Code    string `json:"code"`
	Field   string `json:"field"`
	Message string `json:"message"` // Text in the caller's language, which the writer sets

	Text words.Text `json:"-"`
}

// Render is apart from write, where the answer would have to be on the heap for it: those of a rush have a body
// already.
func (e Envelope) Render() ([]byte, error) {
	e.Success = true
	body, err := json.Marshal(&e)
	if err != nil {
		return nil, fmt.Errorf("rendering the answer: %w", err)
	}
	return body, nil
}
