// Bench measures the service: its rates, its costs, and its limits. Each measurement is a command; without one they are
// listed:
//
//	make -C lab bench WHAT=limits FLAGS=-quick
//	go run seckill/test/services -- go run ./bench limits -quick
//
// The packages below, and those of the Go benchmarks, say what is measured and what the figures mean.
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

	"seckill/lab/bench/locks"
	"seckill/lab/bench/stages"
	"seckill/lab/bench/versus"
)

// command is one measurement. It prints its result to stdout, and its progress to stderr.
type command struct {
	name, what string
	run        func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

func commands() []command {
	return []command{
		{"compare", "the service beside simpler designs, about 15 minutes; writes lab/results", compare},
		{"limits", "thousands of connections, all at once, a sale of a million buyers; writes lab/results", limits},
		{"sale", "of these only the sale of a million buyers, with its report held to the ledger", sale},
		{
			"smoke", "compare and limits in seconds: that they run and their counts add up; the figures mean nothing",
			smoke,
		},
		{
			"overlaps", "how often two hold one lock of those that tutorials teach; writes lab/notes/locks.md",
			overlaps,
		},
		{
			"quiet", "a quiet sale beside rushes on others of its partition; -before COMMIT measures that in turn",
			quiet,
		},
		{"port", "the service beside a port of the tutorial by others, in turn; lab/notes/port.md names it", port},
		{"render", "report a stored result of compare or limits again", render},
		{"versus", "what a purchase costs in an older commit and in the work tree, run in turn", versus.Run},
		{"locks", "the locks beside three other libraries, on a Redis of its own", locks.Run},
		{"profile", "a processor profile of the service under a minute of load, for the compiler", profile},
		{"trace", "records of the runtime and, with perf, of the scheduler at full and half load", trace},
		{
			"rebuild", "how long a sale with 100,000 orders is stopped when Redis has lost it",
			benchmark{"./rebuild", "BenchmarkRebuild", "5x"}.run,
		},
		{
			"partitions", "what an order costs Redis masters with several partitions",
			benchmark{"seckill/internal/redisstore", "BenchmarkPartitions", "1x"}.run,
		},
		{
			"rehearsal", "rehearsals and then their sales, with what was forecast beside what came",
			benchmark{"./rehearsal", "BenchmarkRehearsal", "5x"}.run,
		},
		{
			"waiting", "20,000 who wait for 270 units: how soon these are somebody's, and whether any reach the public",
			benchmark{"./waiting", "BenchmarkWaiting", "1x"}.run,
		},
		{
			"beside", "a waiting list and redemptions beside a running sale",
			benchmark{"./beside", "BenchmarkBesideASale", "1x"}.run,
		},
		{
			"webhooks", "how fast an endpoint catches up on a backlog of events",
			benchmark{"seckill/test/webhooks", "BenchmarkCatchUp", "1x"}.run,
		},
		{"stage", "be one of the simpler designs: what compare starts", stages.Run},
	}
}

const usage = `Measures the service. Run it in lab/, with a Redis and a MySQL or MariaDB at its side:

  make -C lab bench WHAT=COMMAND [FLAGS=...]
  go run seckill/test/services -- go run ./bench COMMAND [flags]

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := realMain(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func realMain(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		for _, c := range commands() {
			if c.name != args[0] {
				continue
			}
			err := c.run(ctx, args[1:], stdout, stderr)
			if err == nil || errors.Is(err, flag.ErrHelp) {
				return 0
			}
			fmt.Fprintf(stderr, "bench %s: %v\n", c.name, err)
			return 1
		}
	}
	fmt.Fprint(stderr, usage)
	for _, c := range commands() {
		fmt.Fprintf(stderr, "  %-11s %s\n", c.name, c.what)
	}
	fmt.Fprintln(stderr, "\n-h behind a command lists its flags.")
	return 2
}
