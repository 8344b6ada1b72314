package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const usage = `Measures accepted and recorded orders per second against two baselines.

  go run ./test/services -- go run ./bench [-quick | -smoke] [flags]

It needs a Redis and a MySQL or MariaDB, named by the environment; test/services starts
both and sets the variables:

  SECKILL_TEST_REDIS_ADDR   host:port of a Redis that may be reconfigured
  SECKILL_TEST_MYSQL_DSN    DSN of a server on which schemas may be created

While it runs, that Redis has appendonly yes, appendfsync everysec; its settings are put
back at the end, and so are keys and schemas. The report is printed, and written as
Markdown and JSON (with every single figure) to -out.

`

// plan is what one run does.
type plan struct {
	rounds      int
	duration    time.Duration // measured part of a turn
	warmUp      time.Duration // unmeasured part before it
	maxDrain    time.Duration // a longer drain is extrapolated, not waited for
	connections int
	out         string // directory for the report; "" writes none
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := realMain(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func realMain(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	p, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if err = run(ctx, p, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (plan, error) {
	p := plan{warmUp: 500 * time.Millisecond, maxDrain: 15 * time.Second}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	flags.IntVar(&p.rounds, "rounds", 7, "how often every contestant has its turn; 5 or more for figures worth quoting")
	flags.DurationVar(&p.duration, "duration", 5*time.Second, "measured time of a turn; half a second of warm-up comes before it")
	flags.IntVar(&p.connections, "connections", 128, "buyers who press the button at the same time")
	flags.StringVar(&p.out, "out", "docs/benchmarks", "`directory` for the report; empty writes none")
	quick := flags.Bool("quick", false, "5 rounds of 1.5s, in under three minutes, nothing written unless -out is given")
	smoke := flags.Bool("smoke", false, "1 round of 300ms: that it runs and its books balance; the figures mean nothing")
	if err := flags.Parse(args); err != nil {
		return p, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	short := func(rounds int, d time.Duration) {
		if !given["rounds"] {
			p.rounds = rounds
		}
		if !given["duration"] {
			p.duration = d
		}
		if !given["out"] {
			p.out = ""
		}
	}
	switch {
	case *smoke:
		short(1, 300*time.Millisecond)
		p.warmUp, p.maxDrain = 100*time.Millisecond, time.Second
	case *quick:
		short(5, 1500*time.Millisecond)
		p.warmUp, p.maxDrain = 300*time.Millisecond, 3*time.Second
	}
	if flags.NArg() > 0 || p.rounds < 1 || p.duration <= 0 || p.connections < 1 {
		err := errors.New("-rounds, -duration and -connections must be positive, and there are no other arguments")
		fmt.Fprintln(stderr, "bench:", err)
		return p, err
	}
	return p, nil
}

// run builds the contestants, lets them take turns, and reports.
func run(ctx context.Context, p plan, stdout, progress io.Writer) error {
	st, err := openStores(ctx)
	if err != nil {
		return err
	}
	defer st.close(context.WithoutCancel(ctx), progress)
	bin, err := build(ctx, progress)
	if err != nil {
		return err
	}
	defer bin.remove()
	fmt.Fprintln(progress, "signing tokens")
	ld := newLoad(p)
	r := report{Plan: p.describe(), Machine: describeMachine(ctx, st)}
	for round := 1; round <= p.rounds; round++ {
		for _, c := range contestants(bin) {
			t, err := takeTurn(ctx, c, bin, st, ld, p)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", c.name, round, err)
			}
			t.Round = round
			r.Turns = append(r.Turns, t)
			fmt.Fprintf(progress, "round %d/%d  %s\n", round, p.rounds, &t)
		}
	}
	r.summarize()
	r.table(stdout)
	if p.out == "" {
		return nil
	}
	return r.write(p.out, progress)
}

// planJSON is the plan as it stands in the report.
type planJSON struct {
	Rounds      int     `json:"rounds"`
	Seconds     float64 `json:"secondsPerTurn"`
	Connections int     `json:"connections"`
}

func (p plan) describe() planJSON {
	return planJSON{p.rounds, p.duration.Seconds(), p.connections}
}
