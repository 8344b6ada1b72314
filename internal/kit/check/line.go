package check

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"seckill/internal/kit/words"
)

// Level is the result of a line.
type Level string

// The levels. A single No is a no-go.
const (
	OK         Level = "ok"
	Warning    Level = "warning"
	No         Level = "no"
	Unmeasured Level = "unmeasured" // there was no measurement to judge
)

// Sign returns the level as tables for people show it.
func (l Level) Sign() string {
	if l == Unmeasured {
		return "–"
	}
	return string(l)
}

// text is a text in each language, without placeholders.
type text = words.Text

// Line is a line of the list.
type Line struct {
	Name  string // for programs, the same in all languages: redis.durability
	Level Level
	what  text // the finding, with numbers
	do    text // the advice; empty for ok
}

// What returns the text of the line's finding.
func (l Line) What(in words.Language) string { return l.what[in] }

// Do returns the advice about the finding; "" for none.
func (l Line) Do(in words.Language) string { return l.do[in] }

// Go reports whether no line is a No.
func Go(lines []Line) bool {
	for _, l := range lines {
		if l.Level == No {
			return false
		}
	}
	return true
}

// Say formats both texts with the same values; a value that is itself a text is used in the matching language. Numbers
// get thousands separators; pass ids, and settings that people copy, as strings.
func Say(en, zh string, values ...any) words.Text {
	return text{
		fmt.Sprintf(en, valuesIn(words.English, values)...), fmt.Sprintf(zh, valuesIn(words.Chinese, values)...),
	}
}

// Counted is a number with its noun, one or many, in English; the Chinese text has the number alone.
func Counted(n int64, one, many string) words.Text {
	if n == 1 {
		many = one
	}
	return Say("%d "+many, "%d", n)
}

// valuesIn returns the values for a language.
func valuesIn(language words.Language, values []any) []any {
	own := slices.Clone(values)
	for i, v := range own {
		switch v := v.(type) {
		case text:
			own[i] = v[language]
		case int:
			own[i] = figure(v)
		case int64:
			own[i] = figure(v)
		case float64:
			own[i] = figure(v)
		}
	}
	return own
}

// figure is a number formatted for people: 1,000.
type figure float64

// Format implements fmt.Formatter. It uses the verb's precision, or no decimals.
func (n figure) Format(s fmt.State, _ rune) {
	decimals, _ := s.Precision()
	digits := strconv.FormatFloat(float64(n), 'f', decimals, 64)
	whole, rest, _ := strings.Cut(digits, ".")
	for i, d := range whole {
		if left := len(whole) - i; i > 0 && left%3 == 0 && whole[i-1] != '-' {
			_, _ = io.WriteString(s, ",")
		}
		_, _ = io.WriteString(s, string(d))
	}
	if rest != "" {
		_, _ = io.WriteString(s, "."+rest)
	}
}

// NewLine returns a line of the given level. If the level is OK or Unmeasured, it drops the advice in do.
func NewLine(name string, level Level, what, do words.Text) Line {
	if level == OK || level == Unmeasured {
		do = text{}
	}
	return Line{Name: name, Level: level, what: what, do: do}
}

// Worse returns No if no, else Warning if warning, else OK.
func Worse(no, warning bool) Level {
	switch {
	case no:
		return No
	case warning:
		return Warning
	default:
		return OK
	}
}

// Unknown returns the line of something that could not be determined, because a store is down, refuses a command or has
// another schema.
func Unknown(name string, level Level, err error) Line {
	said := strings.ReplaceAll(err.Error(), "\n", "; ") // joined errors stand on a line each
	return NewLine(name, level, Say("not found out: %s", "未能查明：%s", said),
		Say("put that right, and check again", "解决后再检查一次"))
}
