package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/maypok86/otter/v2"
	xlanguage "golang.org/x/text/language"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/words"
)

const (
	maxAcceptLanguage = 256 // bytes, of all lines; browsers send some 50, longer ones are answered in English
	languageCache     = 512 // headers remembered; browsers send few different ones
)

// languages chooses a language from Accept-Language headers. Parsing one takes microseconds and a sale gets millions of
// the same few, so choices are remembered.
type languages struct {
	matcher xlanguage.Matcher
	chosen  *otter.Cache[string, words.Language]
	names   [words.Languages][]string // the languages as values of Content-Language; nobody changes them
}

func newLanguages() (*languages, error) {
	chosen, err := otter.New(&otter.Options[string, words.Language]{MaximumSize: languageCache})
	if err != nil {
		return nil, fmt.Errorf("httpapi: language cache: %w", err)
	}
	l := &languages{chosen: chosen}
	known := [words.Languages]xlanguage.Tag{words.English: xlanguage.English, words.Chinese: xlanguage.Chinese}
	l.matcher = xlanguage.NewMatcher(known[:])
	for i, tag := range known {
		l.names[i] = []string{tag.String()}
	}
	return l, nil
}

// choose returns the language that the caller prefers, English when the header cannot be read.
func (l *languages) choose(h http.Header) words.Language {
	accepted := httpkit.JoinHeader(h["Accept-Language"])
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

// speak returns the language for the answer's texts, and sets the header that names it.
func (a *API) speak(c *gin.Context) words.Language {
	l := a.languages.choose(c.Request.Header)
	h := c.Writer.Header()
	h["Content-Language"] = a.languages.names[l]
	h.Add("Vary", "Accept-Language")
	return l
}
