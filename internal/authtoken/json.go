package authtoken

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// text is the content of a JSON string, unquoted and unescaped.
type text []byte

// kind is the type of a JSON value.
type kind byte

const (
	other  kind = iota // true, false, or an object
	null               // null
	quoted             // a string
	number             // a number
	list               // an array
)

// value is a JSON value as written in the text: a string without its quotes; for an array, only its end.
type value struct {
	kind    kind
	raw     []byte
	escaped bool // a string with a backslash
}

var errNoText = errors.New("is not text")

// text returns a string; null becomes an empty one.
func (v value) text() (text, error) {
	switch {
	case v.kind == null:
		return nil, nil
	case v.kind != quoted:
		return nil, errNoText
	case !v.escaped:
		return v.raw, nil
	}
	return unescape(v.raw)
}

// unescape resolves the escapes of a string. Few issuers write any, so speed does not matter.
func unescape(raw []byte) (text, error) {
	var s string
	if err := json.Unmarshal([]byte(`"`+string(raw)+`"`), &s); err != nil {
		return nil, errNoText
	}
	return text(s), nil
}

// hasText reports whether v is the wanted string or a list of strings that contains it. null is neither.
func (v value) hasText(want string) (bool, error) {
	if v.kind != list {
		t, err := v.text()
		return string(t) == want, err
	}
	found := false
	s := scanner{b: v.raw}
	ok := s.list(func(v value) bool {
		if v.kind != quoted {
			return false
		}
		t, err := v.text()
		found = found || string(t) == want
		return err == nil
	})
	if !ok {
		return false, errNoTexts
	}
	return found, nil
}

var errNoTexts = errors.New("is neither text nor a list of texts")

// members calls visit for each member of the JSON object in b. It returns false if b is not a JSON object in UTF-8 or
// has a duplicate name, or if visit returns false.
func members(b []byte, visit func(name text, v value) bool) bool {
	if !utf8.Valid(b) {
		return false
	}
	var known [16]text // enough for most tokens, and on the stack
	names := known[:0]
	s := scanner{b: b}
	ok := s.object(func(name, v value) bool {
		t, err := name.text()
		if err != nil {
			return false
		}
		for _, n := range names {
			if bytes.Equal(n, t) {
				return false
			}
		}
		names = append(names, t)
		return visit(t, v)
	})
	s.space()
	return ok && s.at == len(b)
}

// scanner reads JSON (RFC 8259) from valid UTF-8. It accepts what encoding/json accepts, except numbers beyond float64.
type scanner struct {
	b  []byte
	at int
}

// space skips whitespace.
func (s *scanner) space() {
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// next returns the next byte after whitespace without consuming it; 0 at the end.
func (s *scanner) next() byte {
	s.space()
	if s.at == len(s.b) {
		return 0
	}
	return s.b[s.at]
}

// take consumes c if it is the next byte after whitespace.
func (s *scanner) take(c byte) bool {
	if s.next() != c {
		return false
	}
	s.at++
	return true
}

// object reads an object.
func (s *scanner) object(visit func(name, v value) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		if s.next() != '"' {
			return false
		}
		name, ok := s.value()
		if !ok || !s.take(':') {
			return false
		}
		v, ok := s.value()
		if !ok || !visit(name, v) {
			return false
		}
		if !s.take(',') {
			return s.take('}')
		}
	}
}

// list reads an array.
func (s *scanner) list(visit func(v value) bool) bool {
	if !s.take('[') {
		return false
	}
	if s.take(']') {
		return true
	}
	for {
		v, ok := s.value()
		if !ok || !visit(v) {
			return false
		}
		if !s.take(',') {
			return s.take(']')
		}
	}
}

// value reads any value. The length of a token bounds its nesting.
func (s *scanner) value() (value, bool) {
	c := s.next()
	from := s.at
	switch {
	case c == '"':
		return s.quoted()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == '{':
		ok := s.object(func(_, _ value) bool { return true })
		return value{kind: other}, ok
	case c == '[':
		ok := s.list(func(value) bool { return true })
		return value{kind: list, raw: s.b[from:s.at]}, ok
	case c == 'n':
		return value{kind: null}, s.word("null")
	case c == 't':
		return value{}, s.word("true")
	default:
		return value{}, s.word("false")
	}
}

// word reads a literal.
func (s *scanner) word(w string) bool {
	if !bytes.HasPrefix(s.b[s.at:], []byte(w)) {
		return false
	}
	s.at += len(w)
	return true
}

// quoted reads a string.
func (s *scanner) quoted() (v value, ok bool) {
	s.at++
	v.kind = quoted
	for from := s.at; s.at < len(s.b); s.at++ {
		switch c := s.b[s.at]; {
		case c == '"':
			v.raw = s.b[from:s.at]
			s.at++
			return v, !v.escaped || json.Valid(s.b[from-1:s.at])
		case c < ' ':
			return v, false
		case c == '\\':
			v.escaped = true
			if s.at++; s.at == len(s.b) { // a quotation mark there does not end the string
				return v, false
			}
		}
	}
	return v, false
}

// number reads a number.
func (s *scanner) number() (value, bool) {
	from := s.at
	if s.b[s.at] == '-' {
		s.at++
	}
	whole := s.digits()
	if whole == 0 || whole > 1 && s.b[s.at-whole] == '0' {
		return value{}, false
	}
	if s.has('.') && s.digits() == 0 {
		return value{}, false
	}
	exponent := s.has('e') || s.has('E')
	if exponent {
		_ = s.has('+') || s.has('-')
		if s.digits() == 0 {
			return value{}, false
		}
	}
	raw := s.b[from:s.at]
	if exponent || len(raw) > 300 { // float64 ends near 10^308
		if _, err := strconv.ParseFloat(string(raw), 64); err != nil {
			return value{}, false
		}
	}
	return value{kind: number, raw: raw}, true
}

// has consumes c if it is the next byte, without skipping whitespace.
func (s *scanner) has(c byte) bool {
	if s.at == len(s.b) || s.b[s.at] != c {
		return false
	}
	s.at++
	return true
}

// digits reads digits and returns their number.
func (s *scanner) digits() int {
	from := s.at
	for s.at < len(s.b) && s.b[s.at] >= '0' && s.b[s.at] <= '9' {
		s.at++
	}
	return s.at - from
}
