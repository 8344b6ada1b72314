// Package invalid describes errors in an input: which field, what is wrong, and what is allowed, as codes with data.
// The codes have their texts. A check finds all errors of an input and returns them as one [Error].
package invalid

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"seckill/internal/kit/words"
)

// maxEcho is how many bytes of an input a [Problem] repeats at most.
const maxEcho = 64

// Data is the data of a problem, keyed by the placeholders in the texts of its codes.
type Data = words.Data

// Problem is one thing that is wrong with a field of an input.
type Problem struct {
	Field   string // the name as in the input
	Reason  Reason
	Allowed Allowed
	Data    Data
}

// New returns a problem.
func New(field string, reason Reason, allowed Allowed, data Data) *Problem {
	return &Problem{Field: field, Reason: reason, Allowed: allowed, Data: data}
}

// Outside returns a problem if the number is below least or above most, else nil.
func Outside(field string, n, least, most int64) *Problem {
	if n >= least && n <= most {
		return nil
	}
	return New(field, OutOfRange, Range, Data{"value": n, "min": least, "max": most})
}

// OfText returns the problem of a text of n characters: that they are too few or too many, else that one of them cannot
// be shown.
func OfText(field string, n, least, most int) *Problem {
	reason := Characters
	if n < least || n > most {
		reason.Text = words.Text{"has {length} characters", "共 {length} 个字符"}
	} else {
		reason.Text = words.Text{"has a character that cannot be shown", "含有无法显示的字符"}
	}
	return New(field, reason, Length, Data{"length": n, "min": least, "max": most})
}

// Stranger returns the problem of an unknown name in an input; names are the known ones.
func Stranger(name string, names []string) *Problem {
	if len(names) == 0 {
		return New(Clip(name), Unknown, Omit, nil)
	}
	return New(Clip(name), Unknown, OneOf, Data{"values": names})
}

// Said is a problem as it is sent: for programs and for people.
type Said struct {
	Field       string `json:"field"`
	Code        string `json:"code"`
	AllowedCode string `json:"allowedCode"`
	Data        Data   `json:"data,omitempty"`
	Reason      string `json:"reason"`  // text of what is wrong
	Allowed     string `json:"allowed"` // text of what is allowed
}

// In returns the problem with its texts in a language.
func (p Problem) In(l words.Language) Said {
	return Said{
		Field: p.Field, Code: p.Reason.Code, AllowedCode: p.Allowed.Code, Data: p.Data,
		Reason: p.Reason.Text.In(l, p.Data), Allowed: p.Allowed.Text.In(l, p.Data),
	}
}

// Error lists all problems of an input, not only the first.
type Error struct{ Problems []Problem }

// Error returns all problems in one line.
func (e *Error) Error() string {
	parts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		said := p.In(words.English)
		parts[i] = fmt.Sprintf("%s %s (allowed: %s)", said.Field, said.Reason, said.Allowed)
	}
	return strings.Join(parts, "; ")
}

// Problems collects the problems of an input.
type Problems []Problem

// Bad adds a problem with a field.
func (ps *Problems) Bad(field string, reason Reason, allowed Allowed, data Data) {
	ps.Add(New(field, reason, allowed, data))
}

// Number adds a problem if the number is below least or above most.
func (ps *Problems) Number(field string, n, least, most int64) {
	ps.Add(Outside(field, n, least, most))
}

// Text adds a problem unless s is printable text of least to most characters.
func (ps *Problems) Text(field, s string, least, most int) {
	n := utf8.RuneCountInString(s)
	data := Data{"length": n, "min": least, "max": most}
	switch {
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		ps.Bad(field, NotText, Length, data)
	case n < least:
		ps.Bad(field, Blank, Length, data)
	case n > most:
		ps.Add(OfText(field, n, least, most))
	}
}

// Line is [Problems.Text] for one-line text: it refuses line breaks and other control characters as well.
func (ps *Problems) Line(field, s string, least, most int) {
	ps.Text(field, s, least, most)
	if n := utf8.RuneCountInString(s); n <= most && utf8.ValidString(s) && !strings.ContainsRune(s, 0) &&
		strings.ContainsFunc(s, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) }) {
		ps.Add(OfText(field, n, least, most))
	}
}

// Add adds a problem, unless it is nil.
func (ps *Problems) Add(p *Problem) {
	if p != nil {
		*ps = append(*ps, *p)
	}
}

// Err returns an [*Error] of the problems, or nil if there are none.
func (ps *Problems) Err() error {
	if len(*ps) == 0 {
		return nil
	}
	return &Error{Problems: *ps}
}

// Join returns an [*Error] of the problems that are not nil, or nil if all are.
func Join(problems ...*Problem) error {
	var found Problems
	for _, p := range problems {
		found.Add(p)
	}
	return found.Err()
}

// Clip shortens a part of an input, which may be of any length, for a [Problem]'s data or a log.
func Clip(s string) string {
	if len(s) <= maxEcho {
		return s
	}
	end := maxEcho
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
