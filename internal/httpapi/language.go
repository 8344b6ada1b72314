package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/maypok86/otter/v2"
	"golang.org/x/text/language"
)

// tongue is a language in which errorMsg is written.
type tongue int8

const (
	english tongue = iota // also for everybody whose language we do not have
	chinese
	tongues // how many there are
)

const (
	maxAcceptLanguage = 256 // bytes, of all lines; browsers send some 50, longer ones are answered in English
	languageCache     = 512 // headers remembered; there are few that browsers send
)

// languages chooses a tongue from Accept-Language headers. Reading one takes microseconds and a sale gets millions of
// the same few, so choices are remembered.
type languages struct {
	matcher language.Matcher
	chosen  *otter.Cache[string, tongue]
	names   [tongues][]string // the tongues as values of Content-Language; nobody changes them
}

func newLanguages() (*languages, error) {
	chosen, err := otter.New(&otter.Options[string, tongue]{MaximumSize: languageCache})
	if err != nil {
		return nil, fmt.Errorf("httpapi: language cache: %w", err)
	}
	l := &languages{chosen: chosen}
	known := [tongues]language.Tag{english: language.English, chinese: language.Chinese}
	l.matcher = language.NewMatcher(known[:])
	for t, tag := range known {
		l.names[t] = []string{tag.String()}
	}
	return l, nil
}

// choose returns the tongue that the caller would like best, English when the header says nothing sensible.
func (l *languages) choose(h http.Header) tongue {
	asked := wholeHeader(h["Accept-Language"])
	if asked == "" || len(asked) > maxAcceptLanguage {
		return english
	}
	if t, ok := l.chosen.GetIfPresent(asked); ok {
		return t
	}
	tags, _, err := language.ParseAcceptLanguage(asked)
	if err != nil {
		tags = nil // the matcher then chooses the first
	}
	_, i, _ := l.matcher.Match(tags...)
	t := tongue(i)
	l.chosen.Set(strings.Clone(asked), t)
	return t
}

// wholeHeader returns the lines of a list header as the one line that they stand for (RFC 9110, section 5.3).
func wholeHeader(lines []string) string {
	if len(lines) == 1 {
		return lines[0]
	}
	return strings.Join(lines, ",")
}
