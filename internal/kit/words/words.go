// Package words makes sentences of codes and data in the languages that people read. What is stored and sent is a
// code with its data; the packages that own codes have tables of [Text].
package words

import (
	"fmt"
	"strings"
	"time"
)

// Language is one in which people read.
type Language int

// The languages.
const (
	English Language = iota
	Chinese
	Languages // how many there are
)

// String returns the language's tag.
func (l Language) String() string { return [Languages]string{"en", "zh"}[l] }

// Text is a sentence in each language. A name in braces is a gap for the data of that name.
type Text [Languages]string

// Data is what fills the gaps of a text: strings, numbers, times, and lists of strings.
type Data map[string]any

// In returns the text in a language, with the gaps filled.
func (t Text) In(l Language, d Data) string {
	pairs := make([]string, 0, 2*len(d))
	for name, value := range d {
		pairs = append(pairs, "{"+name+"}", written(value))
	}
	return strings.NewReplacer(pairs...).Replace(t[l])
}

// written returns a value as sentences have it.
func written(value any) string {
	switch v := value.(type) {
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	case []string:
		return strings.Join(v, ", ")
	default:
		return fmt.Sprint(v)
	}
}
