// Package cmdline reports errors in a command line. It keeps package flag's messages, except "parse error", which it
// replaces by the allowed values. Those messages are not a stable interface: if a newer Go changes them, they are
// shown unchanged.
package cmdline

import (
	"flag"
	"strings"
	"time"
)

// WrongFlag returns the error that package flag found in the arguments of set, with "parse error" replaced by the
// allowed values.
func WrongFlag(set *flag.FlagSet, err error) string {
	text, unread := strings.CutSuffix(err.Error(), ": parse error")
	if !unread {
		return text
	}
	set.VisitAll(func(f *flag.Flag) {
		// Package flag words its error about a boolean flag in the second way.
		if !strings.HasSuffix(text, " for flag -"+f.Name) && !strings.HasSuffix(text, " for -"+f.Name) {
			return
		}
		switch f.Value.(flag.Getter).Get().(type) { //nolint:forcetypeassert // all flags of package flag are getters
		case int, int64, uint64:
			text += " (allowed: a whole number)"
		case float64:
			text += " (allowed: a number)"
		case bool:
			text += " (allowed: true or false)"
		case time.Duration:
			text += " (allowed: a time such as 10s or 2m)"
		}
	})
	return text
}

// Given reports whether the command line has a flag, even with its default value.
func Given(set *flag.FlagSet, name string) bool {
	given := false
	set.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}
