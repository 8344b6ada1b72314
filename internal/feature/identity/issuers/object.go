package issuers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

var errNoObject = errors.New("is no JSON object")

// object returns the members of a JSON object in UTF-8. It refuses duplicate names.
func object(b []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	if open, err := d.Token(); err != nil || open != json.Delim('{') || !utf8.Valid(b) {
		return nil, errNoObject
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, errNoObject
		}
		name, _ := token.(string)
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("has %.40q twice", name)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, errNoObject
		}
		members[name] = raw
	}
	if _, err := d.Token(); err != nil {
		return nil, errNoObject
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errNoObject
	}
	return members, nil
}

// text reads a JSON string; one that is missing or null is "". A string with half of a surrogate pair is not ok: the
// decoder replaces each by the same character, so different texts would become one.
func text(raw json.RawMessage) (s string, ok bool) {
	if raw == nil || string(raw) == "null" {
		return "", true
	}
	return s, raw[0] == '"' && !hasLoneSurrogate(raw) && json.Unmarshal(raw, &s) == nil
}

// hasLoneSurrogate reports whether a JSON string escapes half of a surrogate pair.
func hasLoneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		r := escaped(raw, i)
		if !utf16.IsSurrogate(r) {
			continue
		}
		if i+5 >= len(raw) || raw[i+5] != '\\' || utf16.DecodeRune(r, escaped(raw, i+6)) == utf8.RuneError {
			return true
		}
		i += 10 // behind the second half
	}
	return false
}

// escaped returns the character of uXXXX at an index of a JSON string; -1 if there is none.
func escaped(raw []byte, at int) rune {
	if at+5 > len(raw) || raw[at] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[at+1:at+5]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}
