package httpkit

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"seckill/internal/kit/words"
)

// Several lines of a list header are one list (RFC 9110, section 5.3).
func TestAcceptLanguageInSeveralLines(t *testing.T) {
	t.Parallel()
	l, err := NewLanguages()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lines []string
		want  words.Language
	}{
		{[]string{"fr", "zh;q=0.5"}, words.Chinese},
		{[]string{"en;q=0.1", "zh;q=0.2"}, words.Chinese},
		{[]string{"zh;q=0.1", "en;q=0.2"}, words.English},
		{[]string{"", "zh"}, words.Chinese},
		{[]string{"zh", ""}, words.Chinese},
		{[]string{"", ""}, words.English},
		{[]string{"zh", strings.Repeat(" ", maxAcceptLanguage)}, words.English}, // too long together
	} {
		for range 2 { // parsed, and cached
			if got := l.Choose(http.Header{"Accept-Language": c.lines}); got != c.want {
				t.Errorf("%q: %d, want %d", c.lines, got, c.want)
			}
		}
	}
}

// Invented languages must not fill the memory.
func TestLanguageCacheIsBounded(t *testing.T) {
	t.Parallel()
	l, err := NewLanguages()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 * languageCache {
		l.Choose(http.Header{"Accept-Language": {"fr;q=0." + strconv.Itoa(i)}})
	}
	l.chosen.CleanUp()
	if n := l.chosen.EstimatedSize(); n > languageCache {
		t.Errorf("%d headers cached, want at most %d", n, languageCache)
	}
}
