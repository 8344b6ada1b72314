// Package jsonbody strictly reads request bodies that are one JSON object: encoding/json alone would accept a repeated
// name or a name in another case, and stop at the first wrong type. The caller gives a table of fields; all problems of
// a body come back as one [invalid.Error].
package jsonbody

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"seckill/internal/kit/invalid"
)

// maxProblems is how many problems of a body are reported at once.
const maxProblems = 20

// Read reads the request's body, at most limit bytes of it, into the fields. Its error is an *invalid.Error with all
// problems, or an *http.MaxBytesError. w is the server's own writer, as in [Bytes].
func Read(w http.ResponseWriter, r *http.Request, limit int64, fields ...Field) error {
	if err := invalid.Join(wrongContentType(r.Header), wrongEncoding(r.Header)); err != nil {
		return err
	}
	body, err := Bytes(w, r, limit)
	if err != nil {
		return err
	}
	return decode(body, fields)
}

// Bytes returns the request's body as it is. It returns an *http.MaxBytesError for a body of more than limit bytes, and
// reads no more of it: w, which must be the server's own writer, then closes the connection after the answer. Any other
// error is an *invalid.Error.
func Bytes(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		return body, nil
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge
	}
	// The body is too slow, cut off, or wrongly chunked: the caller's side of the connection in any case.
	return nil, invalid.Join(invalid.New("body", cutOff, jsonObject, nil))
}

func wrongContentType(h http.Header) *invalid.Problem {
	given := h.Get("Content-Type")
	data := invalid.Data{"value": invalid.Clip(given), "values": []string{"application/json; charset=utf-8"}}
	if given == "" {
		return invalid.New("Content-Type", invalid.Missing, invalid.OneOf, data)
	}
	kind, params, err := mime.ParseMediaType(given)
	charset := params["charset"]
	if err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return invalid.New("Content-Type", invalid.Malformed, invalid.OneOf, data)
	}
	return nil
}

func wrongEncoding(h http.Header) *invalid.Problem {
	given := h.Get("Content-Encoding")
	if given == "" || strings.EqualFold(given, "identity") {
		return nil
	}
	return invalid.New("Content-Encoding", invalid.Malformed, invalid.OneOf,
		invalid.Data{"value": invalid.Clip(given), "values": []string{"identity"}})
}

// decode reads one JSON object into fields and collects all of its problems: unknown, repeated and missing names, and
// values of the wrong type.
func decode(body []byte, fields []Field) error {
	if err := wholeJSON(body); err != nil {
		return err
	}
	d := decoder{fields: fields}
	switch first, err := firstToken(body); {
	case err != nil:
		return err
	case first != json.Delim('{'):
		d.bad("body", wrongType(first), &Field{allowed: jsonObject})
	default:
		if err := d.object(body); err != nil {
			return err
		}
	}
	return d.problems.Err()
}

// wholeJSON accepts a body that is one JSON value in UTF-8 and nothing else.
func wholeJSON(body []byte) error {
	var value json.RawMessage
	switch err := json.Unmarshal(body, &value); {
	case len(bytes.TrimSpace(body)) == 0:
		return invalid.Join(invalid.New("body", invalid.Blank, jsonObject, nil))
	case !utf8.Valid(body):
		return invalid.Join(invalid.New("body", invalid.NotText, jsonObject, nil))
	case err != nil:
		detail := err.Error()
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			detail = fmt.Sprintf("byte %d, %s", syntax.Offset, detail)
		}
		return invalid.Join(invalid.New("body", notJSON, jsonObject, invalid.Data{"detail": detail}))
	}
	return nil
}

// decoder reads an object of a valid JSON text. Its errors are never the caller's fault.
type decoder struct {
	within   string // the names of the objects around this one, each with a dot
	fields   []Field
	problems invalid.Problems // of the whole text
}

func (d *decoder) bad(field string, w wrong, of *Field) {
	d.problems.Add(of.problem(d.within+invalid.Clip(field), w))
}

// problem returns what is wrong with a value of the field f, under that name.
func (f Field) problem(name string, w wrong) *invalid.Problem {
	data := maps.Clone(f.data)
	if data == nil {
		data = make(invalid.Data, len(w.data))
	}
	maps.Copy(data, w.data)
	return invalid.New(name, w.reason, f.allowed, data)
}

func (d *decoder) object(text []byte) error {
	tokens := json.NewDecoder(bytes.NewReader(text))
	_, err := tokens.Token() // the opening brace
	seen := make([]bool, len(d.fields))
	for err == nil && tokens.More() && len(d.problems) < maxProblems {
		var key json.Token
		var value json.RawMessage
		if key, err = tokens.Token(); err == nil {
			err = tokens.Decode(&value)
		}
		if name, ok := key.(string); ok && err == nil {
			err = d.member(name, value, seen)
		}
	}
	if err != nil {
		return fmt.Errorf("reading JSON: %w", err)
	}
	for i, f := range d.fields {
		if f.required && !seen[i] && len(d.problems) < maxProblems {
			d.bad(f.name, wrong{reason: invalid.Missing}, &f)
		}
	}
	return nil
}

// member reads one name and its value. seen says which fields have come.
func (d *decoder) member(name string, value json.RawMessage, seen []bool) error {
	i := slices.IndexFunc(d.fields, func(f Field) bool { return f.name == name })
	switch {
	case i < 0:
		p := invalid.Stranger(name, d.names())
		p.Field = d.within + p.Field
		d.problems.Add(p)
		return nil
	case seen[i]:
		d.bad(name, wrong{reason: invalid.Repeated}, &Field{allowed: invalid.Once})
		return nil
	}
	seen[i] = true
	f := &d.fields[i]
	first, err := firstToken(value)
	if err == nil && f.fields != nil && first == json.Delim('{') {
		return d.nested(f, value)
	}
	if err == nil {
		if w := f.read(first); w.found() {
			d.bad(name, w, f)
		}
	}
	return err
}

// nested reads the object in a field.
func (d *decoder) nested(f *Field, object json.RawMessage) error {
	f.begun()
	inner := decoder{within: d.within + f.name + ".", fields: f.fields, problems: d.problems}
	err := inner.object(object)
	d.problems = inner.problems
	return err
}

// firstToken returns the first token of a valid JSON value.
func firstToken(value []byte) (json.Token, error) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	return d.Token()
}

func (d *decoder) names() []string {
	var names []string
	for _, f := range d.fields {
		if !f.forbidden {
			names = append(names, f.name)
		}
	}
	return names
}
