// Package cmdline says what is wrong with a command line, in words. What package flag says stays as it is, but for
// "parse error": that does not tell what a flag takes. Its texts are no interface, so a newer Go may say something
// else; then that is shown as it is.
package cmdline

import (
	"flag"
	"strings"
	"time"
)

// WrongFlag says what package flag found wrong when it parsed the arguments of set, with what the flag takes instead
// of "parse error".
func WrongFlag(set *flag.FlagSet, err error) string {
	text, unread := strings.CutSuffix(err.Error(), ": parse error")
	if !unread {
		return text
	}
	set.VisitAll(func(f *flag.Flag) {
		// The latter of switches.
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
