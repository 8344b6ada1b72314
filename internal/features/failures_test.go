package features_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// TestRefusalsAreSentences checks that texts for people are whole sentences in both languages.
func TestRefusalsAreSentences(t *testing.T) {
	t.Parallel()
	for _, f := range failures() {
		for name, text := range map[string]string{"Detail": f.Detail, "English": f.English} {
			if !strings.HasSuffix(text, ".") {
				t.Errorf("%s, %s: %q is not a sentence", f.Code, name, text)
			}
		}
		if f.Chinese == "" || strings.TrimSpace(f.Chinese) != f.Chinese {
			t.Errorf("%s, Chinese: %q", f.Code, f.Chinese)
		}
	}
}

// TestFailuresAreComplete checks that every failure has a stable code, a fitting status, a text for developers, and
// texts for people in both languages.
func TestFailuresAreComplete(t *testing.T) {
	t.Parallel()
	code := regexp.MustCompile(`^[A-Z]+(_[A-Z]+)*$`)
	statuses := map[string]int{}
	for _, f := range failures() {
		if !code.MatchString(f.Code) || f.Title == "" || f.Detail == "" || f.English == "" {
			t.Errorf("%+v is not complete", f)
		}
		if !strings.ContainsFunc(f.Chinese, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s: %q is not Chinese", f.Code, f.Chinese)
		}
		if strings.ContainsFunc(f.English+f.Title+f.Detail, func(r rune) bool { return r > unicode.MaxASCII }) {
			t.Errorf("%s: the English is not plain", f.Code)
		}
		// A sign-out also covers tokens of the next minute; only its refusal is a 401 that passes.
		signedOut := f.Code == "UNAUTHENTICATED" && f.RetryAfter == "60"
		if again := f.Status == http.StatusServiceUnavailable || f.Status == http.StatusTooManyRequests ||
			signedOut; again != (f.RetryAfter != "") {
			t.Errorf("%s: status %d with Retry-After %q", f.Code, f.Status, f.RetryAfter)
		}
		if (f.Status == http.StatusUnauthorized) != (f.Challenge != "") {
			t.Errorf("%s: status %d with challenge %q", f.Code, f.Status, f.Challenge)
		}
		if known, has := statuses[f.Code]; has && known != f.Status {
			t.Errorf("%s has the statuses %d and %d", f.Code, known, f.Status)
		}
		statuses[f.Code] = f.Status
	}
}
