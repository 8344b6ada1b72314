package cmdline_test

import (
	"flag"
	"io"
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
