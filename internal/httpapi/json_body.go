package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"seckill/internal/voucher"
)

// maxProblems is how many things wrong with a body are told at once.
const maxProblems = 20

// bodyField is one field that a JSON object may have.
type bodyField struct {
	name     string
	required bool
	fixed    bool   // it may not be there
	allowed  string // what its value may be, for people
	// read takes the value, a JSON token that is no delimiter, or says what is wrong with it.
	read func(json.Token) (wrong string)
}

// required returns the field as one that must be there.
func required(f bodyField) bodyField {
	f.required = true
	return f
}

// optional returns the field of a kind as one whose value is only set when it is there.
func optional[T any](kind func(name string, into *T) bodyField, name string, into **T) bodyField {
	value := new(T)
	f := kind(name, value)
	read := f.read
	f.read = func(t json.Token) string {
		wrong := read(t)
		if wrong == "" {
			*into = value
		}
		return wrong
	}
	return f
}

// fixedField is a field that may not be there, with what is wrong with it.
func fixedField(name, wrong string) bodyField {
	return bodyField{name: name, fixed: true, allowed: "leave it out", read: func(json.Token) string { return wrong }}
}

// integerField is a field that holds an integer. Its range is the domain's matter.
func integerField(name string, into *int64) bodyField {
	return bodyField{name: name, allowed: "a whole number", read: func(t json.Token) string {
		number, ok := t.(json.Number)
		if !ok {
			return "is " + kindOf(t)
		}
		digits := string(number)
		if strings.ContainsAny(digits, ".eE") {
			return fmt.Sprintf("is %s, a fraction or a number with an exponent", clipped(digits))
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return fmt.Sprintf("is %s, which is out of range", clipped(digits))
		}
		*into = n
		return ""
	}}
}

// textField is a field that holds a string. Its length is the domain's matter.
func textField(name string, into *string) bodyField {
	return bodyField{name: name, allowed: "a string", read: func(t json.Token) string {
		s, ok := t.(string)
		if !ok {
			return "is " + kindOf(t)
		}
		*into = s
		return ""
	}}
}

// secondsField is a field that holds a time span in whole seconds, and not zero. Its range is the domain's matter.
func secondsField(name string, into *time.Duration) bodyField {
	var seconds int64
	f := integerField(name, &seconds)
	f.allowed = "a whole number of seconds"
	read := f.read
	f.read = func(t json.Token) string {
		if wrong := read(t); wrong != "" {
			return wrong
		}
		if seconds == 0 || seconds != int64(time.Duration(seconds)*time.Second/time.Second) {
			return fmt.Sprintf("is %d, which is out of range", seconds)
		}
		*into = time.Duration(seconds) * time.Second
		return ""
	}
	return f
}

// shelfField is a field that holds a shelf status: on or off.
func shelfField(name string, into *bool) bodyField {
	var status int64
	f := integerField(name, &status)
	f.allowed = fmt.Sprintf("%d (on the shelf) or %d (off)", voucher.OnShelf, voucher.OffShelf)
	read := f.read
	f.read = func(t json.Token) string {
		if wrong := read(t); wrong != "" {
			return wrong
		}
		if s := voucher.Status(status); int64(s) != status || s != voucher.OnShelf && s != voucher.OffShelf {
			return fmt.Sprintf("is %d", status)
		}
		*into = status == int64(voucher.OnShelf)
		return ""
	}
	return f
}

// timeField is a field that holds a time: RFC 3339, or without a zone as the tutorial's frontend sends it, which is then
// read in the configured zone.
func (a *API) timeField(name string, into *time.Time) bodyField {
	return timeField(name, into, a.cfg.Zone)
}

func timeField(name string, into *time.Time, zone *time.Location) bodyField {
	const zoneless = "2006-01-02T15:04:05"
	allowed := "a time such as 2026-01-02T20:00:00Z, or 2026-01-02T20:00:00 in the time zone " + zone.String()
	return bodyField{name: name, allowed: allowed, read: func(t json.Token) string {
		s, ok := t.(string)
		if !ok {
			return "is " + kindOf(t)
		}
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			at, err = time.ParseInLocation(zoneless, s, zone)
		}
		if err != nil {
			return fmt.Sprintf("is %q, which is not a time", clipped(s))
		}
		*into = at
		return ""
	}}
}

// readBody reads the request's body, one flat JSON object, into the fields. It returns *voucher.InvalidError with
// everything that is wrong, or errTooLarge.
func (a *API) readBody(c *gin.Context, fields ...bodyField) error {
	if err := invalid(wrongContentType(c.Request.Header), wrongEncoding(c.Request.Header)); err != nil {
		return err
	}
	body, err := a.bodyOf(c)
	if err != nil {
		return err
	}
	return decodeObject(body, fields)
}

// bodyOf reads the body up to the limit. Of a larger one nothing more is read: the connection is closed after the answer
// instead. One that says so beforehand does not get here (announcesTooMuch).
func (a *API) bodyOf(c *gin.Context) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(rawWriter(c), c.Request.Body, a.cfg.BodyLimit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, errTooLarge
	}
	if err != nil {
		// Too slow, cut off, or wrongly chunked: the caller's side of the connection in any case.
		return nil, invalid(&voucher.Problem{Field: "body", Reason: "could not be read to its end", Allowed: "one JSON object"})
	}
	return body, nil
}

// rawWriter returns the server's own writer under Gin's, which http.MaxBytesReader tells to close the connection.
func rawWriter(c *gin.Context) http.ResponseWriter {
	if w, ok := c.Writer.(interface{ Unwrap() http.ResponseWriter }); ok {
		return w.Unwrap()
	}
	return c.Writer
}

func wrongContentType(h http.Header) *voucher.Problem {
	const allowed = "application/json, in UTF-8"
	given := h.Get("Content-Type")
	if given == "" {
		return &voucher.Problem{Field: "Content-Type", Reason: "is missing", Allowed: allowed}
	}
	kind, params, err := mime.ParseMediaType(given)
	charset := params["charset"]
	if err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return &voucher.Problem{Field: "Content-Type", Reason: fmt.Sprintf("is %q", clipped(given)), Allowed: allowed}
	}
	return nil
}

func wrongEncoding(h http.Header) *voucher.Problem {
	given := h.Get("Content-Encoding")
	if given == "" || strings.EqualFold(given, "identity") {
		return nil
	}
	return &voucher.Problem{Field: "Content-Encoding", Reason: fmt.Sprintf("is %q", clipped(given)), Allowed: "identity"}
}

// decodeObject reads one flat JSON object into fields and finds everything that is wrong with it: unknown, repeated
// and missing names, and values of the wrong type. encoding/json alone would take a repeated name, a name in other
// letters, and stop at the first wrong type.
func decodeObject(body []byte, fields []bodyField) error {
	if err := wholeJSON(body); err != nil {
		return err
	}
	d := objectDecoder{tokens: json.NewDecoder(bytes.NewReader(body)), fields: fields, seen: make([]bool, len(fields))}
	d.tokens.UseNumber()
	if err := d.object(); err != nil {
		return err
	}
	if len(d.problems) > 0 {
		return &voucher.InvalidError{Problems: d.problems}
	}
	return nil
}

// wholeJSON accepts a body that is one JSON value in UTF-8 and nothing else.
func wholeJSON(body []byte) error {
	var (
		value  json.RawMessage
		reason string
	)
	switch err := json.Unmarshal(body, &value); {
	case len(bytes.TrimSpace(body)) == 0:
		reason = "is empty"
	case !utf8.Valid(body):
		reason = "is not UTF-8"
	case err != nil:
		reason = "is not JSON: " + err.Error()
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			reason = fmt.Sprintf("is not JSON at byte %d: %s", syntax.Offset, syntax.Error())
		}
	default:
		return nil
	}
	return invalid(&voucher.Problem{Field: "body", Reason: reason, Allowed: "one JSON object"})
}

// objectDecoder walks over the tokens of a valid JSON text.
type objectDecoder struct {
	tokens   *json.Decoder
	fields   []bodyField
	seen     []bool // by field, whether its name has come
	problems []voucher.Problem
}

func (d *objectDecoder) bad(field, reason, allowed string) {
	d.problems = append(d.problems, voucher.Problem{Field: clipped(field), Reason: reason, Allowed: allowed})
}

// object reads the whole text. Its error is not about the caller's fields: the text was found valid before.
func (d *objectDecoder) object() error {
	first, err := d.tokens.Token()
	if err != nil {
		return fmt.Errorf("reading JSON: %w", err)
	}
	if first != json.Delim('{') {
		d.bad("body", "is "+kindOf(first), "one JSON object")
		return nil
	}
	for d.tokens.More() && len(d.problems) < maxProblems {
		if err := d.member(); err != nil {
			return fmt.Errorf("reading JSON: %w", err)
		}
	}
	for i, f := range d.fields {
		if f.required && !d.seen[i] && len(d.problems) < maxProblems {
			d.bad(f.name, "is missing", f.allowed)
		}
	}
	return nil
}

// member reads one name and its value.
func (d *objectDecoder) member() error {
	key, err := d.tokens.Token()
	if err != nil {
		return err
	}
	value, err := d.tokens.Token()
	if err != nil {
		return err
	}
	if err := d.skipRest(value); err != nil {
		return err
	}
	name, _ := key.(string) // names are strings in valid JSON
	for i, f := range d.fields {
		if f.name != name {
			continue
		}
		if d.seen[i] {
			d.bad(name, "is given several times", "once")
			return nil
		}
		d.seen[i] = true
		if wrong := f.read(value); wrong != "" {
			d.bad(name, wrong, f.allowed)
		}
		return nil
	}
	d.bad(name, "is not known", d.names())
	return nil
}

// skipRest reads the rest of a list or object that value has begun.
func (d *objectDecoder) skipRest(value json.Token) error {
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

// nesting is 1 for a token that opens a list or object, -1 for one that closes one, else 0.
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

func (d *objectDecoder) names() string {
	var names []string
	for _, f := range d.fields {
		if !f.fixed {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, ", ")
}

// kindOf names the type of a JSON value for people.
func kindOf(t json.Token) string {
	switch v := t.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return "a number"
	case string:
		return "a string"
	default:
		if t == json.Delim('[') {
			return "a list"
		}
		return "an object"
	}
}
