// Package words turns codes and data into sentences in the languages that people read. Only codes and data are stored
// and sent; the packages that define codes have tables of [Text].
package words

import (
	"fmt"
	"strings"
	"time"
)

// Language is a language of the texts.
type Language int

// The languages.
const (
	English Language = iota
	Chinese
	Languages // the number of languages
)

// String returns the language's tag.
func (l Language) String() string { return [Languages]string{"en", "zh"}[l] }

// Text is a sentence in each language. A name in braces is a placeholder for the data of that name.
type Text [Languages]string

// Data fills the placeholders of a text: strings, numbers, times, and lists of strings.
type Data map[string]any

// In returns the text in a language, with the placeholders filled.
func (t Text) In(l Language, d Data) string {
	pairs := make([]string, 0, 2*len(d))
	for name, value := range d {
		pairs = append(pairs, "{"+name+"}", written(value))
	}
	return strings.NewReplacer(pairs...).Replace(t[l])
}

// written formats a value for a sentence.
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
