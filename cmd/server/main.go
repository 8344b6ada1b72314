// Command server is the flash-sale coupon service and the commands that go with it. `server --help` lists them.
//
// This package is the process that serves: run.go lists what is opened, in order. Package wiring opens the stores and
// wires the domain to them, for this process and for operators' commands, which are in package operate.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // SECKILL_TIMEZONE works in an image without a zone database

	"seckill/cmd/server/wiring"
	"seckill/internal/config"
	"seckill/internal/feature"
	"seckill/internal/kit/cmdline"
)

// The linker sets these: -X main.version=… -X main.revision=….
var (
	version  = "dev"
	revision string //nolint:gochecknoglobals // set by the linker; "": the revision that the toolchain has recorded
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the command ran and failed
	exitUsage  = 2 // the command line or the settings are wrong; starting again cannot help
	exitFound  = 3 // the command ran and found something wrong
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := realMain(ctx, wiring.Env{
		Env:   cmdline.Env{Args: os.Args[1:], Environ: os.Environ(), Out: os.Stdout, Err: os.Stderr, Stop: stop},
		Build: built(),
	})
	stop()
	os.Exit(code)
}

// realMain runs the command that the arguments name, and returns the exit code.
func realMain(ctx context.Context, env wiring.Env) int {
	cmd, env, err := choose(env)
	if err == nil && cmd.run != nil {
		err = cmd.run(ctx, env)
	}
	var invalid *config.InvalidError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &invalid):
		_, _ = fmt.Fprintf(env.Err, "%v\nAll settings: server serve --help\n", invalid)
		return exitUsage
	case errors.Is(err, cmdline.ErrUsage):
		return exitUsage
	case errors.Is(err, feature.ErrSettings):
		_, _ = fmt.Fprintln(env.Err, "server:", err)
		return exitUsage
	case errors.Is(err, cmdline.ErrFound):
		return exitFound
	default:
		_, _ = fmt.Fprintln(env.Err, "server:", err)
		return exitFailed
	}
}
