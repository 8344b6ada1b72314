package httpkit

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/maypok86/otter/v2"
	xlanguage "golang.org/x/text/language"

	"seckill/internal/kit/words"
)

const (
	maxAcceptLanguage = 256 // bytes, of all lines; browsers send some 50, longer ones are answered in English
	languageCache     = 512 // headers remembered; browsers send few different ones
)

// Languages chooses a language from Accept-Language headers. Parsing one takes microseconds and a sale gets millions of
// the same few, so choices are remembered. It is safe for concurrent use.
type Languages struct {
	matcher xlanguage.Matcher
	chosen  *otter.Cache[string, words.Language]
	names   [words.Languages][]string // the languages as values of Content-Language; nobody changes them
}

// NewLanguages returns Languages that remember nothing yet.
func NewLanguages() (*Languages, error) {
	chosen, err := otter.New(&otter.Options[string, words.Language]{MaximumSize: languageCache})
	if err != nil {
		return nil, fmt.Errorf("language cache: %w", err)
	}
	l := &Languages{chosen: chosen}
	known := [words.Languages]xlanguage.Tag{words.English: xlanguage.English, words.Chinese: xlanguage.Chinese}
	l.matcher = xlanguage.NewMatcher(known[:])
	for i, tag := range known {
		l.names[i] = []string{tag.String()}
	}
	return l, nil
}

// Choose returns the language that the caller prefers, English when the header cannot be read.
func (l *Languages) Choose(h http.Header) words.Language {
	accepted := JoinHeader(h["Accept-Language"])
	if accepted == "" || len(accepted) > maxAcceptLanguage {
		return words.English
	}
	if choice, ok := l.chosen.GetIfPresent(accepted); ok {
		return choice
	}
	tags, _, err := xlanguage.ParseAcceptLanguage(accepted)
	if err != nil {
		tags = nil // the matcher then chooses the first
	}
	_, i, _ := l.matcher.Match(tags...)
	choice := words.Language(i)
	l.chosen.Set(strings.Clone(accepted), choice)
	return choice
}

// Name returns the values of Content-Language for a language. Nobody may change them.
func (l *Languages) Name(of words.Language) []string { return l.names[of] }
