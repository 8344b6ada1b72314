package cmdline_test

import (
	"errors"
	"flag"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/internal/kit/cmdline"
)

func TestWrongFlag(t *testing.T) {
	t.Parallel()
	for argument, want := range map[string]string{
		"-n=many":     `invalid value "many" for flag -n (allowed: a whole number)`,
		"-rate=x":     `invalid value "x" for flag -rate (allowed: a number)`,
		"-for=2":      `invalid value "2" for flag -for (allowed: a time such as 10s or 2m)`,
		"-repair=per": `invalid boolean value "per" for -repair (allowed: true or false)`,
		"-nothing":    "flag provided but not defined: -nothing",
	} {
		set := flag.NewFlagSet("try", flag.ContinueOnError)
		set.SetOutput(io.Discard)
		set.Int("n", 1, "")
		set.Float64("rate", 1, "")
		set.Duration("for", time.Second, "")
		set.Bool("repair", false, "")
		err := set.Parse([]string{argument})
		if err == nil {
			t.Errorf("%s is accepted", argument)
			continue
		}
		if got := cmdline.WrongFlag(set, err); got != want {
			t.Errorf("%s: %s, want %s", argument, got, want)
		}
	}
}

func TestGiven(t *testing.T) {
	t.Parallel()
	for argument, want := range map[string]bool{"-n=1": true, "-n=0": true, "-other=1": false} {
		set := flag.NewFlagSet("try", flag.ContinueOnError)
		set.Int("n", 0, "")
		set.Int("other", 0, "")
		if err := set.Parse([]string{argument}); err != nil {
			t.Fatal(err)
		}
		if got := cmdline.Given(set, "n"); got != want {
			t.Errorf("%s: %t", argument, got)
		}
	}
}

func TestSubcommand(t *testing.T) {
	t.Parallel()
	const missing = "server locks: the subcommand is missing (list, show or force)\nserver locks --help tells more.\n"
	for _, c := range []struct {
		args            []string
		name, says, out string
		err             error
	}{
		{args: []string{"force", "-yes", "a"}, name: "force"},
		{args: nil, says: missing, err: cmdline.ErrUsage},
		{args: []string{"--help"}, out: "about\n", err: flag.ErrHelp},
		{
			args: []string{"shut"}, err: cmdline.ErrUsage,
			says: "server locks: there is no subcommand \"shut\" (list, show or force)\n" +
				"server locks --help tells more.\n",
		},
	} {
		var out, says strings.Builder
		name, env, err := cmdline.Subcommand(cmdline.Env{Args: c.args, Out: &out, Err: &says}, "locks", "about",
			"list", "show", "force")
		if name != c.name || !errors.Is(err, c.err) || says.String() != c.says || out.String() != c.out {
			t.Errorf("%q: %q, %v, says %q, prints %q", c.args, name, err, says.String(), out.String())
		}
		if c.name != "" && !slices.Equal(env.Args, c.args[1:]) {
			t.Errorf("%q: %q is left", c.args, env.Args)
		}
	}
}
