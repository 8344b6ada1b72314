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
)

const usage = `Measures the service against its limits and against the stages that lead to it.

  go run ./test/services -- go run ./bench [-quick | -smoke] [-limits] [flags]

It needs a Redis and a MySQL or MariaDB, named by the environment; test/services starts
both and sets the variables:

  SECKILL_TEST_REDIS_ADDR   host:port of a Redis that may be reconfigured
  SECKILL_TEST_MYSQL_DSN    DSN of a server on which schemas may be created

While it runs, that Redis has appendonly yes, appendfsync everysec; its settings are put
back at the end, and so are keys and schemas. The report is printed, and written to -out
as Markdown, a chart and JSON with every single figure; the page beside that directory
(docs/benchmarks.md) has its figures brought up to date.

`

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
	base := round{bin: bin, stores: st, crowd: newCrowd(p.tokens()), plan: p}
	if p.compares {
		if err = compare(ctx, base, stdout, progress); err != nil {
			return err
		}
	}
	if p.limits {
		return findLimits(ctx, base, stdout, progress)
	}
	return nil
}

// compare shows what each contestant gets wrong and what does not matter, then lets them take turns for some rounds:
// the longest part comes last, as what goes wrong should do so early.
func compare(ctx context.Context, base round, stdout, progress io.Writer) error {
	p := base.plan
	r := report{Machine: describeMachine(ctx, base.stores), Plan: p.describe()}
	if err := r.prelude(ctx, &base, progress); err != nil {
		return err
	}
	for n := 1; n <= p.rounds; n++ {
		this := base
		this.number = n
		for _, c := range contestants(base.bin) {
			if !p.takesPart(c.name) {
				continue
			}
			t, err := takeTurn(ctx, c, &this)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", c.name, n, err)
			}
			this.turns = append(this.turns, t)
			fmt.Fprintf(progress, "round %d/%d  %s\n", n, p.rounds, &t)
		}
		r.Turns = append(r.Turns, this.turns...)
	}
	r.summarize()
	r.table(stdout)
	if p.out == "" {
		return nil
	}
	return r.write(p.out, progress)
}

// prelude is what is not done in turns.
func (r *report) prelude(ctx context.Context, base *round, progress io.Writer) (err error) {
	if base.plan.takesPart(oneSaleName, manySalesName, smallSalesName, fullSaleName) {
		scale, err := takeScale(ctx, base)
		if err != nil {
			return fmt.Errorf("sales, stock and buyers: %w", err)
		}
		r.Turns = append(r.Turns, scale...)
		for _, t := range scale {
			fmt.Fprintf(progress, "round %d/%d  %s\n", t.Round, base.plan.rounds, &t)
		}
	}
	if base.plan.only != nil {
		return nil
	}
	if r.Rushes, err = takeRushes(ctx, base); err != nil {
		return err
	}
	for _, d := range r.Rushes {
		fmt.Fprintln(progress, d)
	}
	if r.Crashes, err = takeCrashes(ctx, base); err != nil {
		return err
	}
	for _, d := range r.Crashes {
		fmt.Fprintln(progress, d)
	}
	return nil
}
