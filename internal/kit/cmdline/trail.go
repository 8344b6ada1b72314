package cmdline

import (
	"cmp"
	"flag"
	"strings"
)

// Trail holds the operator's name and reason, which the audit trail records with their change.
type Trail struct{ by, why *string }

// TrailFlags adds the flags -by and -why to a command that changes something.
func TrailFlags(env Env, set *flag.FlagSet) Trail {
	user := cmp.Or(variable(env, "USER"), variable(env, "LOGNAME"), "unknown")
	return Trail{
		by:  set.String("by", user, "`who` does it, for the audit trail"),
		why: set.String("why", "", "for what `reason`, for the audit trail (required)"),
	}
}

// By returns the operator's name.
func (t Trail) By() string { return *t.by }

// Why returns the reason.
func (t Trail) Why() string { return *t.why }

// Check returns ErrUsage, after printing why, if the reason is missing. Parse the flags before.
func (t Trail) Check(set *flag.FlagSet) error {
	if strings.TrimSpace(*t.why) == "" {
		return Misuse(set, "-why is missing: the audit trail is to say for what reason")
	}
	return nil
}

// variable returns a variable of the environment, "" when it is not set.
func variable(env Env, name string) string {
	for _, kv := range env.Environ {
		if value, is := strings.CutPrefix(kv, name+"="); is {
			return value
		}
	}
	return ""
}
