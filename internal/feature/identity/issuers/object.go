package issuers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// text reads a JSON string; one that is missing or null is "".
func text(raw json.RawMessage) (s string, ok bool) {
	if raw == nil || string(raw) == "null" {
		return "", true
	}
	return s, raw[0] == '"' && json.Unmarshal(raw, &s) == nil
}
