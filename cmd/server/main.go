// Command server is the flash-sale coupon service and the commands that go with it. `server --help` lists them.
//
// It has a file for each command, and one for each part that is wired (run.go, stores.go, shop.go and others), and
// therefore more files than packages here have as a rule.
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
	_ "time/tzdata" // SECKILL_TIMEZONE works in an image without a zone database

	"seckill/internal/kit/config"
)

// version is set by the linker: -X main.version=….
var version = "dev"

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it ran and failed
	exitUsage  = 2 // the command line or the settings are wrong; starting again cannot help
	exitFound  = 3 // it ran and found something wrong
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := realMain(ctx,
		environment{args: os.Args[1:], environ: os.Environ(), out: os.Stdout, err: os.Stderr, stop: stop})
	stop()
	os.Exit(code)
}

// environment is what a command gets from outside.
type environment struct {
	args     []string // behind the program's name; for a command, behind its own
	environ  []string // NAME=value
	out, err io.Writer
	stop     func() // restores the default signals, so that a second one ends the process at once
}

// errFound: the command found, and printed, something wrong.
var errFound = errors.New("something is wrong")

// errUsage: the command line is wrong, and the message is printed already.
var errUsage = errors.New("wrong usage")

// realMain runs the command that is asked for and returns the exit code.
func realMain(ctx context.Context, env environment) int {
	cmd, env, err := choose(env)
	if err == nil && cmd.run != nil {
		err = cmd.run(ctx, env)
	}
	var invalid *config.InvalidError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &invalid):
		_, _ = fmt.Fprintf(env.err, "%v\nAll settings: server serve --help\n", invalid)
		return exitUsage
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, errFound):
		return exitFound
	default:
		_, _ = fmt.Fprintln(env.err, "server:", err)
		return exitFailed
	}
}
