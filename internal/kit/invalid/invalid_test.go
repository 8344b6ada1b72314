package invalid

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestJoin(t *testing.T) {
	t.Parallel()
	if err := Join(); err != nil {
		t.Errorf("no problems: %v", err)
	}
	if err := Join(nil, nil); err != nil {
		t.Errorf("nothing but nil: %v", err)
	}
	one := *New("id", Malformed, WholeNumber, Data{"value": "x"})
	two := *New("limit", Missing, Range, Data{"min": 1, "max": 2})
	err := Join(nil, &one, nil, &two)
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("%v is no *Error", err)
	}
	if diff := cmp.Diff([]Problem{one, two}, e.Problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	const want = `id is "x" (allowed: a whole number); limit is missing (allowed: a whole number from 1 to 2)`
	if err.Error() != want {
		t.Errorf("%q, want %q", err.Error(), want)
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{strings.Repeat("x", 64), strings.Repeat("x", 64)},
		{strings.Repeat("x", 65), strings.Repeat("x", 64) + "…"},
		{"a" + strings.Repeat("é", 40), "a" + strings.Repeat("é", 31) + "…"}, // never half a rune
		{strings.Repeat("\x80", 100), "…"},                                   // no rune begins anywhere
	} {
		got := Clip(c.in)
		if got != c.want || utf8.ValidString(c.in) && !utf8.ValidString(got) {
			t.Errorf("%q became %q, want %q", c.in, got, c.want)
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	long, shown := OfText("", 6, 1, 5).Reason, OfText("", 3, 1, 5).Reason
	if long.Code != Characters.Code || shown.Code != Characters.Code {
		t.Errorf("the codes of a text are %q and %q", long.Code, shown.Code)
	}
	if long.Text[0] != "has {length} characters" || shown.Text[0] != "has a character that cannot be shown" {
		t.Errorf("the texts are %q and %q", long.Text, shown.Text)
	}
	for text, want := range map[string]Reason{
		"a": {}, "名称": {}, "": Blank, "abcdef": long, "abcde\n": long, "a\nb": shown, "a\rb": shown, "a\tb": shown,
		"a\u2028b": shown, "a\u0085b": shown, "a\x00b": NotText, "\xff": NotText,
	} {
		var ps Problems
		ps.Line("title", text, 1, 5)
		var got Reason
		if len(ps) > 0 {
			got = ps[0].Reason
		}
		if got != want || len(ps) > 1 {
			t.Errorf("%q: %v, want %q", text, ps, want.Code)
		}
	}
}
