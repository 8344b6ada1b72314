package check

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"seckill/internal/kit/words"
)

// unit is a unit of time with its name in each language.
type unit struct {
	size     time.Duration
	decimals int // decimals shown for a span in this unit: measurements are no more precise
	name     text
}

// units returns the units of spans, the largest first.
func units() []unit {
	return []unit{
		{24 * time.Hour, 0, text{"d", "天"}},
		{time.Hour, 0, text{"h", "小时"}},
		{time.Minute, 0, text{"min", "分钟"}},
		{time.Second, 2, text{"s", "秒"}},
		{time.Millisecond, 1, text{"ms", "毫秒"}},
		{time.Microsecond, 0, text{"µs", "微秒"}},
	}
}

// Span formats a duration for people: "7.7 ms", or from a minute on in its two largest units, "3 h 12 min".
func Span(d time.Duration) words.Text {
	d = d.Abs()
	all := units()
	i := slices.IndexFunc(all, func(u unit) bool { return d >= u.size })
	if i < 0 {
		i = len(all) - 1
	}
	largest := all[i]
	if d < time.Minute {
		return largest.told(strconv.FormatFloat(float64(d)/float64(largest.size), 'f', largest.decimals, 64))
	}
	first, next := largest.whole(d/largest.size), all[i+1]
	rest := d % largest.size / next.size
	if rest == 0 {
		return first
	}
	return Say("%s %s", "%s %s", first, next.whole(rest))
}

// whole formats a whole number of the unit.
func (u unit) whole(n time.Duration) text { return u.told(strconv.FormatInt(int64(n), 10)) }

// told formats a number with the unit, without trailing zeros after the point.
func (u unit) told(n string) text {
	if strings.Contains(n, ".") {
		n = strings.TrimRight(strings.TrimRight(n, "0"), ".")
	}
	return text{n + " " + u.name[words.English], n + " " + u.name[words.Chinese]}
}

// Stamp writes a time as the console does in each language.
func Stamp(t time.Time) words.Text {
	return text{t.Format("2 Jan 2006, 15:04:05 MST"), t.Format("2006年1月2日 MST 15:04:05")}
}
