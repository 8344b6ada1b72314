package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"seckill/lab/bench/measures"
	"seckill/lab/bench/report"
	"seckill/lab/bench/result"
)

// reports is the directory of the reports, seen from the lab.
const reports = "results"

const measuresNeed = `It needs a Redis and a MySQL or MariaDB, named by the environment; test/services starts both
and sets the variables:

  SECKILL_TEST_REDIS_ADDR   host:port of a Redis that may be reconfigured
  SECKILL_TEST_MYSQL_DSN    DSN of a server on which schemas may be created

While it runs, that Redis has appendonly yes, appendfsync everysec; its settings are restored at the end, and keys and
schemas are removed.

`

// options are a command line's.
type options struct {
	plan measures.Plan
	out  string // directory for the reports; "" writes none
	path string // the argument of commands that have one
}

// parse reads the flags of a measurement. more declares additional flags and returns the function that applies them.
func parse(
	name string, args []string, stderr io.Writer, more func(*flag.FlagSet, *options) (apply func()),
) (o options, err error) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error is returned
	flags.Usage = func() {
		fmt.Fprint(stderr, measuresNeed)
		flags.SetOutput(stderr)
		flags.PrintDefaults()
	}
	full := measures.Full()
	rounds := flags.Int("rounds", full.Rounds, "trials of each candidate; 5 or more for figures worth quoting")
	duration := flags.Duration("duration", full.Duration,
		"measured time of a trial; half a second of warm-up comes before it")
	connections := flags.Int("connections", full.Connections, "connections that send purchases at the same time")
	quick := flags.Bool("quick", false,
		"5 rounds of 500ms, in under three minutes, nothing written unless -out is given")
	smoke := flags.Bool("smoke", false,
		"1 round of 200ms: that it runs and its counts add up; the figures mean nothing")
	apply := func() {}
	if more != nil {
		apply = more(flags, &o)
	}
	if err = flags.Parse(args); err != nil {
		return o, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case *smoke:
		o.plan = measures.Smoke()
	case *quick:
		o.plan = measures.Quick()
	default:
		o.plan = full
	}
	o.plan.Connections = *connections
	if given["rounds"] {
		o.plan.Rounds = *rounds
	}
	if given["duration"] {
		o.plan.Duration = *duration
	}
	if (*smoke || *quick) && !given["out"] {
		o.out = ""
	}
	apply()
	if flags.NArg() > 0 || *rounds < 1 || *duration <= 0 || *connections < 1 {
		return o, errors.New("-rounds, -duration and -connections must be positive, and there are no other arguments")
	}
	return o, nil
}

// outFlag adds the flag for the directory of reports.
func outFlag(flags *flag.FlagSet, o *options) {
	flags.StringVar(&o.out, "out", reports, "`directory` for the reports; empty writes none")
}

func parseCompare(args []string, stderr io.Writer) (options, error) {
	return parse("compare", args, stderr, func(flags *flag.FlagSet, o *options) func() {
		outFlag(flags, o)
		var only *regexp.Regexp
		flags.Func("only", "only the candidates whose names match this `expression`; neither written nor compared "+
			"with all targets", func(text string) (err error) {
			only, err = regexp.Compile(text)
			return err
		})
		before := flags.String("before", "",
			"measure the service of this `commit` too, in turn with this one, and show all targets before and after")
		return func() {
			o.plan.Compare, o.plan.Only, o.plan.Before = true, only, *before
			if only != nil {
				o.out = ""
			}
		}
	})
}

func parseLimits(args []string, stderr io.Writer) (options, error) {
	return parse("limits", args, stderr, func(flags *flag.FlagSet, o *options) func() {
		outFlag(flags, o)
		return func() { o.plan.Limits = true }
	})
}

// parseInto reads the flags of a measurement that writes to a path, its last argument.
func parseInto(name, what string, args []string, stderr io.Writer) (options, error) {
	if len(args) == 0 || args[len(args)-1] == "" || args[len(args)-1][0] == '-' {
		return options{}, fmt.Errorf("the last argument is the %s that is written", what)
	}
	o, err := parse(name, args[:len(args)-1], stderr, nil)
	o.path = args[len(args)-1]
	return o, err
}

func compare(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseCompare(args, stderr)
	if err != nil {
		return err
	}
	return measure(ctx, o, stdout, stderr)
}

func limits(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseLimits(args, stderr)
	if err != nil {
		return err
	}
	return measure(ctx, o, stdout, stderr)
}

func smoke(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse("smoke", append(args, "-smoke"), stderr, nil)
	if err != nil {
		return err
	}
	o.plan.Compare, o.plan.Limits = true, true
	if err = measure(ctx, o, stdout, stderr); err != nil {
		return err
	}
	return with(ctx, o.plan, stderr, func(bench *measures.Bench) error {
		return showOverlaps(ctx, bench, o, stdout)
	})
}

// measure runs the plan's measurements and reports them.
func measure(ctx context.Context, o options, stdout, stderr io.Writer) error {
	return with(ctx, o.plan, stderr, func(bench *measures.Bench) error {
		if o.plan.Compare {
			if err := show(o, stdout, stderr)(bench.Compare(ctx)); err != nil {
				return err
			}
		}
		if o.plan.Limits {
			return show(o, stdout, stderr)(bench.FindLimits(ctx))
		}
		return nil
	})
}

func sale(ctx context.Context, args []string, _, stderr io.Writer) error {
	o, err := parse("sale", args, stderr, nil)
	if err != nil {
		return err
	}
	o.plan.Limits = true
	return with(ctx, o.plan, stderr, func(bench *measures.Bench) error {
		_, err := bench.LongSale(ctx)
		return err
	})
}

func overlaps(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse("overlaps", args, stderr, func(flags *flag.FlagSet, o *options) func() {
		outFlag(flags, o)
		return func() {}
	})
	if err != nil {
		return err
	}
	return with(ctx, o.plan, stderr, func(bench *measures.Bench) error {
		return showOverlaps(ctx, bench, o, stdout)
	})
}

// quiet measures a quiet sale beside rushes.
func quiet(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse("quiet", args, stderr, func(flags *flag.FlagSet, o *options) func() {
		before := flags.String("before", "", "measure the service of this `commit` too, in turn with this one")
		return func() { o.plan.Before = *before }
	})
	if err != nil {
		return err
	}
	return with(ctx, o.plan, stderr, func(bench *measures.Bench) error {
		trials, err := bench.Quiet(ctx)
		if err != nil {
			return err
		}
		return measures.PrintQuiet(trials, stdout)
	})
}

// port measures the service beside a port of the tutorial.
func port(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var source string
	o, err := parse("port", args, stderr, func(flags *flag.FlagSet, _ *options) func() {
		flags.StringVar(&source, "source", "", "`directory` of the port's source, as lab/notes/port.md says")
		return func() {}
	})
	if err == nil && source == "" {
		err = errors.New("-source is missing: the directory of the port's source, as lab/notes/port.md says")
	}
	if err != nil {
		return err
	}
	return with(ctx, o.plan, stderr, func(bench *measures.Bench) error {
		trials, err := bench.Port(ctx, source)
		if err != nil {
			return err
		}
		return measures.PrintPort(trials, stdout)
	})
}

// showOverlaps prints their table and writes it into the notes on the locks.
func showOverlaps(ctx context.Context, bench *measures.Bench, o options, stdout io.Writer) error {
	found, err := bench.Overlaps(ctx)
	if err != nil {
		return err
	}
	table := report.OverlapTable(found)
	fmt.Fprint(stdout, table)
	if o.out == "" {
		return nil
	}
	_, err = report.UpdatePage(report.LocksPage(o.out), map[string]string{"overlaps": table})
	return err
}

// profile writes the file that the compiler reads as default.pgo: in half of its load the sale is sold out.
func profile(ctx context.Context, args []string, _, stderr io.Writer) error {
	o, err := parseInto("profile", "file", append([]string{"-duration=" + time.Minute.String()}, args...), stderr)
	if err != nil {
		return err
	}
	return with(ctx, o.plan, stderr, func(bench *measures.Bench) error {
		profile, err := bench.Profile(ctx)
		if err != nil {
			return err
		}
		return os.WriteFile(o.path, profile, 0o600)
	})
}

func trace(ctx context.Context, args []string, _, stderr io.Writer) error {
	o, err := parseInto("trace", "directory", args, stderr)
	if err != nil {
		return err
	}
	return with(ctx, o.plan, stderr, func(bench *measures.Bench) error { return bench.Trace(ctx, o.path) })
}

func render(_ context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("render", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var o options
	outFlag(flags, &o)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("it takes the stored result, a JSON file, behind its flags")
	}
	return show(o, stdout, stderr)(report.Read(flags.Arg(0)))
}

// show prints a result and writes it.
func show(o options, stdout, stderr io.Writer) func(result.Run, error) error {
	return func(r result.Run, err error) error {
		if err != nil {
			return err
		}
		report.Print(r, stdout)
		if o.out == "" {
			return nil
		}
		return report.Write(r, o.out, stderr)
	}
}

// with opens the stores, builds the programs, and then measures.
func with(ctx context.Context, plan measures.Plan, stderr io.Writer, do func(*measures.Bench) error) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	bench, err := measures.Open(ctx, plan, self, stderr)
	if err != nil {
		return err
	}
	defer bench.Close(ctx)
	return do(bench)
}
