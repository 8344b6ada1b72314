package check

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]text{
		0:                                      {"0 µs", "0 微秒"},
		149_600 * time.Nanosecond:              {"150 µs", "150 微秒"},
		time.Millisecond:                       {"1 ms", "1 毫秒"},
		7_720 * time.Microsecond:               {"7.7 ms", "7.7 毫秒"},
		-20 * time.Millisecond:                 {"20 ms", "20 毫秒"},
		1_230 * time.Millisecond:               {"1.23 s", "1.23 秒"},
		10 * time.Second:                       {"10 s", "10 秒"},
		time.Minute:                            {"1 min", "1 分钟"},
		time.Minute + 30*time.Second:           {"1 min 30 s", "1 分钟 30 秒"},
		3 * time.Hour:                          {"3 h", "3 小时"},
		3*time.Hour + 12*time.Minute:           {"3 h 12 min", "3 小时 12 分钟"},
		50*time.Hour + 59*time.Minute:          {"2 d 2 h", "2 天 2 小时"},
		24*time.Hour + 59*time.Minute:          {"1 d", "1 天"},
		59*time.Minute + 59*time.Second + 9e08: {"59 min 59 s", "59 分钟 59 秒"},
	} {
		if got := Span(d); got != want {
			t.Errorf("%s is formatted as %q, want %q", d, got, want)
		}
	}
}
