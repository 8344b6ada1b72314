package issuers

import (
	"strings"
	"testing"
)

// Texts that the JSON decoder would make equal are no texts.
func TestLoneSurrogates(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{
		`"plain"`: true, `""`: true, `null`: true, `"\ud83c\udf9f"`: true, `"a\ud83c\udf9fb\n"`: true, `"\ufffd"`: true,
		`"\\ud800"`: true, `"\\\\ud800"`: true, `"\ud800"`: false, `"\udc00"`: false, `"\ud800\ud800"`: false,
		`"\udf9f\ud83c"`: false, `"\ud83cx\udf9f"`: false, `"\ud83c\udf9f\ud83c"`: false,
		`"\\\ud800"`: false, `"\ud800\\"`: false,
		`7`: false,
	} {
		if _, ok := text([]byte(raw)); ok != want {
			t.Errorf("%s is a text: %t, want %t", raw, ok, want)
		}
	}
}

func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	got, err := atMost(strings.NewReader("\ufeff{}"))
	if err != nil || string(got) != "{}" {
		t.Errorf("%q, %v", got, err)
	}
}
