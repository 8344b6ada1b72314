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
	d := decoder{tokens: json.NewDecoder(bytes.NewReader(body)), fields: fields, seen: make([]bool, len(fields))}
	d.tokens.UseNumber()
	if err := d.object(); err != nil {
		return err
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

// decoder walks over the tokens of a valid JSON text.
type decoder struct {
	tokens   *json.Decoder
	within   string // the names of the objects around this one, each with a dot
	fields   []Field
	seen     []bool // by field, whether its name has come
	problems invalid.Problems
}

func (d *decoder) bad(field string, w wrong, of *Field) {
	d.problems.Add(of.problem(d.within+invalid.Clip(field), w))
}

// problem returns what is wrong with a value of the field f, under that name.
func (f *Field) problem(name string, w wrong) *invalid.Problem {
	data := maps.Clone(f.data)
	if data == nil {
		data = make(invalid.Data, len(w.data))
	}
	maps.Copy(data, w.data)
	return invalid.New(name, w.reason, f.allowed, data)
}

// object reads the whole text. Its error is never the caller's fault: the text is known to be valid JSON.
func (d *decoder) object() error {
	first, err := d.tokens.Token()
	if err != nil {
		return fmt.Errorf("reading JSON: %w", err)
	}
	if first != json.Delim('{') {
		d.bad("body", wrongType(first), &Field{allowed: jsonObject})
		return nil
	}
	return d.members()
}

// members reads the rest of an object whose opening brace was read.
func (d *decoder) members() error {
	for d.tokens.More() && len(d.problems) < maxProblems {
		if err := d.member(); err != nil {
			return fmt.Errorf("reading JSON: %w", err)
		}
	}
	for i, f := range d.fields {
		if f.required && !d.seen[i] && len(d.problems) < maxProblems {
			d.bad(f.name, wrong{reason: invalid.Missing}, &f)
		}
	}
	return nil
}

// member reads one name and its value.
func (d *decoder) member() error {
	key, err := d.tokens.Token()
	if err != nil {
		return err
	}
	value, err := d.tokens.Token()
	if err != nil {
		return err
	}
	name, _ := key.(string) // names are strings in valid JSON
	i := slices.IndexFunc(d.fields, func(f Field) bool { return f.name == name })
	switch {
	case i < 0:
		p := invalid.Stranger(name, d.names())
		p.Field = d.within + p.Field
		d.problems.Add(p)
	case d.seen[i]:
		d.bad(name, wrong{reason: invalid.Repeated}, &Field{allowed: invalid.Once})
	case d.fields[i].fields != nil && value == json.Delim('{'):
		d.seen[i] = true
		return d.nested(&d.fields[i])
	default:
		d.seen[i] = true
		if w := d.fields[i].read(value); w.found() {
			d.bad(name, w, &d.fields[i])
		}
	}
	return d.skipRest(value)
}

// nested reads the rest of the object in a field whose opening brace was read.
func (d *decoder) nested(f *Field) error {
	f.begun()
	inner := decoder{
		tokens: d.tokens, within: d.within + f.name + ".", fields: f.fields, seen: make([]bool, len(f.fields)),
	}
	if err := inner.members(); err != nil {
		return err
	}
	room := maxProblems - len(d.problems)
	d.problems = append(d.problems, inner.problems[:min(room, len(inner.problems))]...)
	if len(inner.problems) >= maxProblems {
		return nil // the rest of the text was not read, and is not looked at
	}
	_, err := d.tokens.Token() // its end
	return err
}

// skipRest skips the rest of a list or object if value opens one.
func (d *decoder) skipRest(value json.Token) error {
	depth := nesting(value)
	for depth > 0 {
		t, err := d.tokens.Token()
		if err != nil {
			return err
		}
		depth += nesting(t)
	}
	return nil
}

// nesting returns 1 for a token that opens a list or object, -1 for one that closes one, else 0.
func nesting(t json.Token) int {
	switch t {
	case json.Delim('{'), json.Delim('['):
		return 1
	case json.Delim('}'), json.Delim(']'):
		return -1
	default:
		return 0
	}
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
