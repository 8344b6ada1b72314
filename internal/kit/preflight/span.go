package preflight

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"seckill/internal/kit/words"
)

// unit is a unit of time, as each language calls it.
type unit struct {
	size     time.Duration
	decimals int // of a span in it: what was measured is no surer
	name     text
}

// units returns those in which spans are told, the largest first.
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

// Span tells people how long something takes: "7.7 ms", and from a minute on in its two largest units, "3 h 12 min".
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

// whole tells a number of the unit.
func (u unit) whole(n time.Duration) text { return u.told(strconv.FormatInt(int64(n), 10)) }

// told is a number with the unit, without decimals that say nothing.
func (u unit) told(n string) text {
	if strings.Contains(n, ".") {
		n = strings.TrimRight(strings.TrimRight(n, "0"), ".")
	}
	return text{n + " " + u.name[English], n + " " + u.name[Chinese]}
}
