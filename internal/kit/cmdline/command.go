package cmdline

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Env is the environment that a command runs in.
type Env struct {
	Args     []string // after the program's or the command's name
	Environ  []string // NAME=value
	Out, Err io.Writer
	Stop     func() // restores the default signals, so that a second one ends the process at once
}

var (
	// ErrFound means that the command worked, and printed that something is wrong.
	ErrFound = errors.New("something is wrong")
	// ErrUsage means that the command line is wrong, and the message has been printed.
	ErrUsage = errors.New("wrong usage")
)

// IsHelp reports whether an argument asks for help.
func IsHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// Parse parses the flags of a command that takes no other arguments. about is its help text. It returns flag.ErrHelp if
// help was asked for, or ErrUsage.
func Parse(env Env, set *flag.FlagSet, about string) error {
	if err := ParseFlags(env, set, about); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return Misuse(set, fmt.Sprintf("unexpected argument %q", set.Arg(0)))
	}
	return nil
}

// ParseFlags is Parse for a command with further arguments after its flags.
func ParseFlags(env Env, set *flag.FlagSet, about string) error {
	set.SetOutput(io.Discard) // errors are reported by Misuse
	err := set.Parse(env.Args)
	set.SetOutput(env.Err)
	switch {
	case errors.Is(err, flag.ErrHelp): // help that was asked for is output, not an error
		set.SetOutput(env.Out)
		_, _ = fmt.Fprintln(env.Out, about)
		hasFlags := false
		set.VisitAll(func(*flag.Flag) { hasFlags = true })
		if hasFlags {
			_, _ = fmt.Fprintln(env.Out, "\nFlags:")
			set.PrintDefaults()
		}
		return err
	case err != nil:
		return Misuse(set, WrongFlag(set, err))
	default:
		return nil
	}
}

// Misuse tells users what is wrong with the command line that they typed, and returns ErrUsage. The set must be named
// after the command.
func Misuse(set *flag.FlagSet, wrong string) error {
	_, _ = fmt.Fprintf(set.Output(), "server %s: %s\nserver %s --help tells more.\n", set.Name(), wrong, set.Name())
	return ErrUsage
}

// Subcommand returns which of the names the first argument is, and the environment for the arguments after it. about is
// the help text of the command. Its errors are those of Parse.
func Subcommand(env Env, command, about string, names ...string) (string, Env, error) {
	set := flag.NewFlagSet(command, flag.ContinueOnError)
	last := len(names) - 1
	choices := "(" + strings.Join(names[:last], ", ") + " or " + names[last] + ")"
	if len(env.Args) == 0 || strings.HasPrefix(env.Args[0], "-") {
		if err := Parse(env, set, about); err != nil {
			return "", env, err
		}
		return "", env, Misuse(set, "the subcommand is missing "+choices)
	}
	name := env.Args[0]
	if !slices.Contains(names, name) {
		set.SetOutput(env.Err)
		return "", env, Misuse(set, fmt.Sprintf("there is no subcommand %q %s", name, choices))
	}
	env.Args = env.Args[1:]
	return name, env, nil
}
