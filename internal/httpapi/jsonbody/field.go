package jsonbody

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"seckill/internal/kit/invalid"
)

// Field is one field that a JSON object may have: its name, and where its value goes.
type Field struct {
	name      string
	required  bool
	forbidden bool
	allowed   invalid.Allowed
	data      invalid.Data // of allowed
	// read stores the value, a JSON token, or returns its problem.
	read   func(json.Token) wrong
	fields []Field // of an object; read is then told of null and of values that are no object
	begun  func()  // an object is there, and its fields follow
}

// wrong is a problem of a value; the zero value is no problem.
type wrong struct {
	reason invalid.Reason
	data   invalid.Data
}

func (w wrong) found() bool { return w.reason != (invalid.Reason{}) }

// wrongType is the problem of a JSON value of another type.
func wrongType(t json.Token) wrong {
	return wrong{jsonType, invalid.Data{"type": kindOf(t)}}
}

// wrongValue is the problem of a value of the right type.
func wrongValue(reason invalid.Reason, value any) wrong {
	return wrong{reason, invalid.Data{"value": value}}
}

// Required makes a field mandatory.
func Required(f Field) Field {
	f.required = true
	return f
}

// Optional returns a field of the given kind whose value stays nil if the field is absent.
func Optional[T any](kind func(name string, into *T) Field, name string, into **T) Field {
	value := new(T)
	return kind(name, value).then(func() wrong {
		*into = value
		return wrong{}
	})
}

// then returns the field with a further step, after a value of the right type was read.
func (f Field) then(step func() wrong) Field {
	read := f.read
	f.read = func(t json.Token) wrong {
		if w := read(t); w.found() {
			return w
		}
		return step()
	}
	return f
}

// Forbidden is a known field that must be absent, with the reason.
func Forbidden(name string, reason invalid.Reason, data invalid.Data) Field {
	return Field{
		name: name, forbidden: true, allowed: invalid.Omit, read: func(json.Token) wrong { return wrong{reason, data} },
	}
}

// Integer is a field that holds an integer of any range.
func Integer(name string, into *int64) Field {
	var number json.Number
	return scalar(name, &number, invalid.WholeNumber).then(func() wrong {
		digits := string(number)
		if strings.ContainsAny(digits, ".eE") {
			return wrongValue(notWhole, invalid.Clip(digits))
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return wrongValue(invalid.OutOfRange, invalid.Clip(digits))
		}
		*into = n
		return wrong{}
	})
}

// Count is a field that holds a whole number from 1 to most. It refuses 0 even if the number may be left out: 0 could
// mean "no limit" or "nothing".
func Count(name string, into *int64, most int64) Field {
	f := Integer(name, into)
	f.allowed, f.data = invalid.Range, invalid.Data{"min": 1, "max": most}
	return f.then(func() wrong {
		if *into < 1 || *into > most {
			return wrongValue(invalid.OutOfRange, *into)
		}
		return wrong{}
	})
}

// Text is a field that holds a string of any length.
func Text(name string, into *string) Field { return scalar(name, into, aString) }

// scalar is a field that holds any value of a JSON type that Go's T stands for.
func scalar[T any](name string, into *T, allowed invalid.Allowed) Field {
	return Field{name: name, allowed: allowed, read: func(t json.Token) wrong {
		value, ok := t.(T)
		if !ok {
			return wrongType(t)
		}
		*into = value
		return wrong{}
	}}
}

// Picture is a field that holds the address of a picture, by https on one of the hosts, or "" for none. Unless
// elsewhere is nil, it stores any other address, too, and its problem there: the address may be the one that a change
// leaves as it is, on a host that was allowed before.
func Picture(name string, into *string, hosts []string, elsewhere **invalid.Problem) Field {
	var address string
	f := scalar(name, &address, invalid.Omit)
	if len(hosts) > 0 {
		f.allowed, f.data = pictureOn, invalid.Data{"hosts": hosts, "max": maxPicture}
	}
	return f.then(func() wrong {
		var w wrong
		switch {
		case address != "" && len(hosts) == 0:
			w = wrong{invalid.NeedsSetting, invalid.Data{"setting": "SECKILL_PICTURE_HOSTS"}}
		case address != "" && !isPicture(address, hosts):
			w = wrongValue(invalid.Malformed, invalid.Clip(address))
		}
		if w.found() {
			if elsewhere == nil {
				return w
			}
			*elsewhere = f.problem(name, w)
		}
		*into = address
		return wrong{}
	})
}

// maxPicture is how long the address of a picture may be, in bytes: the columns are as wide.
const maxPicture = 512

// isPicture reports whether an address is one by https on one of the hosts, in ASCII without blanks.
func isPicture(address string, hosts []string) bool {
	at, err := url.Parse(address)
	return err == nil && len(address) <= maxPicture && at.Scheme == "https" && at.User == nil && at.Opaque == "" &&
		slices.Contains(hosts, strings.ToLower(at.Host)) &&
		!strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' })
}

// Object is a field that holds an object with fields of its own, or null. begun is called before the object's fields
// are read; null is called instead if the value is null.
func Object(name string, begun, null func(), fields ...Field) Field {
	return Field{name: name, allowed: objectOrNull, fields: fields, begun: begun, read: func(t json.Token) wrong {
		if t == nil {
			null()
			return wrong{}
		}
		return wrongType(t)
	}}
}

// Bool is a field that holds true or false.
func Bool(name string, into *bool) Field { return scalar(name, into, invalid.Boolean) }

// Seconds is a field that holds a time span in whole seconds, of any range but not zero.
func Seconds(name string, into *time.Duration) Field {
	var seconds int64
	f := Integer(name, &seconds)
	f.allowed = wholeSeconds
	return f.then(func() wrong {
		if seconds == 0 || seconds != int64(time.Duration(seconds)*time.Second/time.Second) {
			return wrongValue(invalid.OutOfRange, seconds)
		}
		*into = time.Duration(seconds) * time.Second
		return wrong{}
	})
}

// Choice is a field that holds one of the integers of values, each of which stands for a T.
func Choice[T any](name string, into *T, values map[int64]T) Field {
	var number int64
	f := Integer(name, &number)
	names := make([]string, 0, len(values))
	for _, n := range slices.Sorted(maps.Keys(values)) {
		names = append(names, strconv.FormatInt(n, 10))
	}
	f.allowed, f.data = invalid.OneOf, invalid.Data{"values": names}
	return f.then(func() wrong {
		value, known := values[number]
		if !known {
			return wrongValue(invalid.OutOfRange, number)
		}
		*into = value
		return wrong{}
	})
}

// Time is a field that holds a time: RFC 3339, or without a zone, as some frontends send it, which is then read in
// the zone.
func Time(name string, into *time.Time, zone *time.Location) Field {
	var text string
	f := scalar(name, &text, invalid.ZonedTime)
	f.data = invalid.Data{"zone": zone.String()}
	return f.then(func() wrong {
		at, reason := invalid.Time(text, zone)
		if reason != (invalid.Reason{}) {
			return wrongValue(reason, invalid.Clip(text))
		}
		*into = at
		return wrong{}
	})
}

// kindOf names the type of a JSON value as JSON Schema does.
func kindOf(t json.Token) string {
	switch t.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	default:
		if t == json.Delim('[') {
			return "array"
		}
		return "object"
	}
}
