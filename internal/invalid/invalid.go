// Package invalid describes what is wrong with an input: which field, why, and what is allowed. A check of an
// input finds everything that is wrong with it and returns that as one [Error].
package invalid

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxEcho is how many bytes of an input a [Problem] repeats.
const maxEcho = 64

// Problem is one thing that is wrong with a field of an input.
type Problem struct {
	Field   string `json:"field"`   // the name as in the input
	Reason  string `json:"reason"`  // what is wrong, in English
	Allowed string `json:"allowed"` // what would be right, in English
}

// Error lists everything that is wrong with an input, not only the first thing.
type Error struct{ Problems []Problem }

// Error returns all problems in one line.
func (e *Error) Error() string {
	parts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		parts[i] = fmt.Sprintf("%s %s (allowed: %s)", p.Field, p.Reason, p.Allowed)
	}
	return strings.Join(parts, "; ")
}

// Join returns an [*Error] of the problems that are not nil, or nil if all are.
func Join(problems ...*Problem) error {
	var found []Problem
	for _, p := range problems {
		if p != nil {
			found = append(found, *p)
		}
	}
	if found == nil {
		return nil
	}
	return &Error{Problems: found}
}

// Clip shortens a part of an input, which may be of any length, for the reason of a [Problem] or a log.
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
