package jsonbody

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"seckill/internal/invalid"
)

// Field is one field that a JSON object may have: its name, and where its value goes.
type Field struct {
	name      string
	required  bool
	forbidden bool
	allowed   string // what its value may be, for people
	// read stores the value, a JSON token, or returns what is wrong with it.
	read   func(json.Token) (wrong string)
	fields []Field // of an object; read is then told of null and of values that are no object
	begun  func()  // an object is there, and its fields follow
}

// Required returns the field as one that must be there.
func Required(f Field) Field {
	f.required = true
	return f
}

// Optional returns the field of a kind whose value stays nil when it is not there.
func Optional[T any](kind func(name string, into *T) Field, name string, into **T) Field {
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

// Forbidden is a field that is known and may not be there, with the reason.
func Forbidden(name, wrong string) Field {
	return Field{name: name, forbidden: true, allowed: "leave it out", read: func(json.Token) string { return wrong }}
}

// Integer is a field that holds an integer of any range.
func Integer(name string, into *int64) Field {
	return Field{name: name, allowed: "a whole number", read: func(t json.Token) string {
		number, ok := t.(json.Number)
		if !ok {
			return "is " + kindOf(t)
		}
		digits := string(number)
		if strings.ContainsAny(digits, ".eE") {
			return fmt.Sprintf("is %s, a fraction or a number with an exponent", invalid.Clip(digits))
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return fmt.Sprintf("is %s, which is out of range", invalid.Clip(digits))
		}
		*into = n
		return ""
	}}
}

// Text is a field that holds a string of any length.
func Text(name string, into *string) Field {
	return Field{name: name, allowed: "a string", read: func(t json.Token) string {
		s, ok := t.(string)
		if !ok {
			return "is " + kindOf(t)
		}
		*into = s
		return ""
	}}
}

// Object is a field that holds an object with fields of its own, or null. begun is called before the object's fields are
// read, null when there is none.
func Object(name string, begun, null func(), fields ...Field) Field {
	return Field{name: name, allowed: "an object, or null", fields: fields, begun: begun, read: func(t json.Token) string {
		if t == nil {
			null()
			return ""
		}
		return "is " + kindOf(t)
	}}
}

// Bool is a field that holds true or false.
func Bool(name string, into *bool) Field {
	return Field{name: name, allowed: "true or false", read: func(t json.Token) string {
		b, ok := t.(bool)
		if !ok {
			return "is " + kindOf(t)
		}
		*into = b
		return ""
	}}
}

// Seconds is a field that holds a time span in whole seconds, of any range but not zero.
func Seconds(name string, into *time.Duration) Field {
	var seconds int64
	f := Integer(name, &seconds)
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

// Choice is a field that holds one of the integers of values, each of which stands for a T. allowed names them for people.
func Choice[T any](name string, into *T, allowed string, values map[int64]T) Field {
	var number int64
	f := Integer(name, &number)
	f.allowed = allowed
	read := f.read
	f.read = func(t json.Token) string {
		if wrong := read(t); wrong != "" {
			return wrong
		}
		value, known := values[number]
		if !known {
			return fmt.Sprintf("is %d", number)
		}
		*into = value
		return ""
	}
	return f
}

// Time is a field that holds a time: RFC 3339, or without a zone, as some frontends send it, which is then read in the zone.
func Time(name string, into *time.Time, zone *time.Location) Field {
	const zoneless = "2006-01-02T15:04:05"
	allowed := "a time such as 2026-01-02T20:00:00Z, or 2026-01-02T20:00:00 in the time zone " + zone.String()
	return Field{name: name, allowed: allowed, read: func(t json.Token) string {
		s, ok := t.(string)
		if !ok {
			return "is " + kindOf(t)
		}
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			at, err = time.ParseInLocation(zoneless, s, zone)
		}
		if err != nil {
			return fmt.Sprintf("is %q, which is not a time", invalid.Clip(s))
		}
		*into = at
		return ""
	}}
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
