// Bench measures the service against its limits and against the designs that lead to it, in one run on one machine:
//
//	go run ./test/services -- go run ./bench            the comparison
//	go run ./test/services -- go run ./bench -limits    limits and curves
//
// What is measured, and what the figures mean: bench/measures. The result is plain data (bench/result) and is stored as
// JSON; -render reports it again (bench/report).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"seckill/lab/bench/measures"
	"seckill/lab/bench/report"
	"seckill/lab/bench/result"
)

const usage = `Measures the service against its limits and against the designs that lead to it.

  go run ./test/services -- go run ./bench [-quick | -smoke] [-limits] [flags]
  go run ./test/services -- go run ./bench -sale [-quick | -smoke]
  go run ./test/services -- go run ./bench -profile file [-duration 1m]
  go run ./test/services -- go run ./bench -trace directory
  go run ./bench -render file.json [-out directory]

It needs a Redis and a MySQL or MariaDB, named by the environment; test/services starts
both and sets the variables:

  SECKILL_TEST_REDIS_ADDR   host:port of a Redis that may be reconfigured
  SECKILL_TEST_MYSQL_DSN    DSN of a server on which schemas may be created

While it runs, that Redis has appendonly yes, appendfsync everysec; its settings are
restored at the end, and keys and schemas are removed. The report is printed, and written
to -out as Markdown and JSON with every single figure; the page beside that
directory (docs/benchmarks.md) and the READMEs get the new figures.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := realMain(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func realMain(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if err = run(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

// options are the command line's.
type options struct {
	plan   measures.Plan
	out    string // directory for the reports; "" writes none
	render string // a stored result to report instead of measuring
	// profile is where a processor profile of the service is written, instead of a report.
	profile string
	// trace is a directory for records of the runtime and the scheduler, instead of a report.
	trace string
	// sale measures the long sale alone, and reports nothing.
	sale bool
}

// run measures what the plan says, and reports.
func run(ctx context.Context, o options, stdout, progress io.Writer) error {
	show := func(r result.Run, err error) error {
		if err != nil {
			return err
		}
		report.Print(r, stdout)
		if o.out == "" {
			return nil
		}
		return report.Write(r, o.out, progress)
	}
	if o.render != "" {
		return show(report.Read(o.render))
	}
	bench, err := measures.Open(ctx, o.plan, progress)
	if err != nil {
		return err
	}
	defer bench.Close(ctx)
	if o.profile != "" {
		return writeProfile(ctx, bench, o.profile)
	}
	if o.trace != "" {
		return bench.Trace(ctx, o.trace)
	}
	if o.sale {
		_, err := bench.LongSale(ctx)
		return err
	}
	if o.plan.Compare {
		if err = show(bench.Compare(ctx)); err != nil {
			return err
		}
	}
	if o.plan.Limits {
		return show(bench.FindLimits(ctx))
	}
	return nil
}

// writeProfile writes what the compiler reads as default.pgo.
func writeProfile(ctx context.Context, bench *measures.Bench, path string) error {
	profile, err := bench.Profile(ctx)
	if err != nil {
		return err
	}
	return os.WriteFile(path, profile, 0o600)
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	full := measures.Full()
	limits := flags.Bool("limits", false, "measure limits and curves instead: connections, a stampede, sales, stock, a sale of a million buyers")
	rounds := flags.Int("rounds", full.Rounds, "trials of each candidate; 5 or more for figures worth quoting")
	duration := flags.Duration("duration", full.Duration, "measured time of a trial; half a second of warm-up comes before it")
	connections := flags.Int("connections", full.Connections, "connections that send purchases at the same time")
	flags.StringVar(&o.out, "out", "docs/benchmarks", "`directory` for the reports; empty writes none")
	flags.StringVar(&o.render, "render", "", "measure nothing; report the result stored in this `file`")
	flags.StringVar(&o.profile, "profile", "", "write a processor profile of the service to this `file` instead: -duration of load, half of it sold out")
	flags.StringVar(&o.trace, "trace", "", "record the runtime and, with perf, the scheduler into this `directory` instead: one sale, many in turn, half load")
	flags.BoolVar(&o.sale, "sale", false, "only the sale of a million buyers, with its report held to the ledger; nothing written")
	var only *regexp.Regexp
	flags.Func("only", "only the candidates whose names match this `expression`; neither written nor compared with all targets", func(text string) (err error) {
		only, err = regexp.Compile(text)
		return err
	})
	before := flags.String("before", "", "measure the service of this `commit` too, in turn with this one, and show all targets before and after")
	quick := flags.Bool("quick", false, "5 rounds of 500ms, in under three minutes, nothing written unless -out is given")
	smoke := flags.Bool("smoke", false, "1 round of 200ms, limits and curves too: that it runs and its counts add up; the figures mean nothing")
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
	o.plan.Compare, o.plan.Limits = *smoke || !*limits, *smoke || *limits || o.sale
	o.plan.Connections, o.plan.Only, o.plan.Before = *connections, only, *before
	if given["rounds"] {
		o.plan.Rounds = *rounds
	}
	if given["duration"] {
		o.plan.Duration = *duration
	}
	if (*smoke || *quick) && !given["out"] || only != nil {
		o.out = ""
	}
	if flags.NArg() > 0 || *rounds < 1 || *duration <= 0 || *connections < 1 {
		err = errors.New("-rounds, -duration and -connections must be positive, and there are no other arguments")
		fmt.Fprintln(stderr, "bench:", err)
	}
	return o, err
}
