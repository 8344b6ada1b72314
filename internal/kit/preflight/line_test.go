package preflight

import (
	"errors"
	"testing"

	"seckill/internal/kit/words"
)

// Several errors of one check are joined into one line.
func TestUnknownIsOneLine(t *testing.T) {
	t.Parallel()
	l := Unknown("orders.waiting", Warning, errors.Join(errors.New("partition 0 is away"),
		errors.New("partition 1 hangs")))
	for language, want := range map[words.Language]string{
		English: "not found out: partition 0 is away; partition 1 hangs",
		Chinese: "未能查明：partition 0 is away; partition 1 hangs",
	} {
		if got := l.What(language); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
