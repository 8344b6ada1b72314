package check

import (
	"errors"
	"strings"
	"testing"

	"seckill/internal/kit/words"
)

// Several errors of one check are joined into one line.
func TestUnknownIsOneLine(t *testing.T) {
	t.Parallel()
	l := Unknown("orders.waiting", Warning, errors.Join(errors.New("partition 0 is away"),
		errors.New("partition 1 hangs")))
	for language, want := range map[words.Language]string{
		words.English: "not found out: partition 0 is away; partition 1 hangs",
		words.Chinese: "未能查明：partition 0 is away; partition 1 hangs",
	} {
		if got := l.What(language); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A line that was not measured does not count for Go, and people see a dash.
func TestUnmeasured(t *testing.T) {
	t.Parallel()
	lines := []Line{NewLine("a", Unmeasured, Say("not measured", "未测量"), Say("x", "x"))}
	var b strings.Builder
	if err := Write(&b, lines, words.English); err != nil || !strings.HasPrefix(b.String(), "–  a  not measured\nGO") {
		t.Errorf("%q, %v", b.String(), err)
	}
}
