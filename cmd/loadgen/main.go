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

// Exit codes.
const (
	exitVerified    = 0
	exitFindings    = 1 // something is wrong, or the rehearsal could not run
	exitUsage       = 2
	exitInterrupted = 130 // ended by Ctrl-C or -longest, and nothing was wrong until then
)

// environment is the program's environment.
type environment struct {
	args     []string // after the program's name
	getenv   func(string) string
	out, err io.Writer
	terminal bool   // err is a terminal: the display may move the cursor
	stop     func() // stops catching signals, so that the next one kills the process
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	info, err := os.Stderr.Stat()
	code := realMain(ctx, environment{
		args: os.Args[1:], getenv: os.Getenv, out: os.Stdout, err: os.Stderr,
		terminal: err == nil && info.Mode()&os.ModeCharDevice != 0, stop: stop,
	})
	stop()
	os.Exit(code)
}

// errUsage: the command line is wrong; the reason has been printed.
var errUsage = errors.New("wrong usage")

// realMain rehearses the sale that the arguments describe and returns the exit code.
func realMain(ctx context.Context, env environment) int {
	p, err := readPlan(env)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitVerified
	case err != nil:
		return exitUsage
	}
	r, err := rehearse(ctx, env, p)
	if errors.Is(err, context.Canceled) {
		return exitInterrupted // before any buyer arrived
	}
	if err != nil {
		_, _ = fmt.Fprintln(env.err, "loadgen:", err)
		return exitFindings
	}
	if err = r.print(env.out); err == nil && p.json != "" {
		err = r.writeJSON(p.json)
	}
	switch {
	case err != nil:
		_, _ = fmt.Fprintln(env.err, "loadgen:", err)
		return exitFindings
	case r.Total > 0:
		return exitFindings
	case r.Interrupted:
		return exitInterrupted
	default:
		return exitVerified
	}
}
