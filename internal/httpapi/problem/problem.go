// Package problem renders failures ahead of time, in every language that a service speaks: as problem documents
// (RFC 9457), and as a plain envelope for clients that do not know these. A problem document has the envelope's members
// too, so that one client can read both.
//
// What can go wrong, with which texts, and which error leads to which problem, is its callers' business.
package problem

import (
	"encoding/json"
	"fmt"

	"seckill/internal/kit/words"
)

// Problem is one way in which a request can fail, as its caller sees it.
type Problem struct {
	Type     string     // a URI that stays the same for every occurrence
	Code     string     // stable, for programs
	Status   int        // the HTTP status
	Title    string     // the same for every occurrence
	Detail   string     // for developers
	Messages words.Text // errorMsg, for people
	// Members appends JSON members that depend on the error, each with a leading comma; nil for none.
	Members func(body []byte, l words.Language, err error) []byte
}

// Bodies are the whole bodies of a problem, by language. They are safe for concurrent use.
type Bodies struct {
	documents [words.Languages][]byte
	envelopes [words.Languages][]byte
	members   func([]byte, words.Language, error) []byte
}

// Render renders the problem in each of its languages.
func Render(p Problem) (Bodies, error) {
	b := Bodies{members: p.Members}
	for l, message := range p.Messages {
		plain := envelope{Code: p.Code, ErrorMsg: message}
		whole, err := json.Marshal(document{
			Type: p.Type, Title: p.Title, Status: p.Status, Detail: p.Detail, envelope: plain,
		})
		if err != nil {
			return Bodies{}, fmt.Errorf("problem %s: %w", p.Code, err)
		}
		b.documents[l] = whole
		if whole, err = json.Marshal(plain); err != nil {
			return Bodies{}, fmt.Errorf("problem %s: %w", p.Code, err)
		}
		b.envelopes[l] = whole
	}
	return b, nil
}

// Document returns the problem document in a language. Nobody may change it: requests share it.
func (b Bodies) Document(l words.Language, err error) []byte { return b.with(b.documents[l], l, err) }

// Envelope returns the plain envelope in a language. Nobody may change it: requests share it.
func (b Bodies) Envelope(l words.Language, err error) []byte { return b.with(b.envelopes[l], l, err) }

// with returns the body with the members that depend on err, in a copy if there are any.
func (b Bodies) with(body []byte, l words.Language, err error) []byte {
	if b.members == nil {
		return body
	}
	out := make([]byte, 0, len(body)+128)
	out = append(out, body[:len(body)-1]...) // up to the closing brace
	out = b.members(out, l, err)
	return append(out, '}')
}

// document is a problem document.
type document struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	envelope
}

// envelope says that a request failed, and how.
type envelope struct {
	Success  bool   `json:"success"` // always false
	Code     string `json:"code"`
	ErrorMsg string `json:"errorMsg"`
}
