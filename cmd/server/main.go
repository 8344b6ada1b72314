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
	"slices"
	"strings"
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

// unset is what a container says that was started with nothing set.
const unset = `Set SECKILL_REDIS_ADDRS=host:port, SECKILL_MYSQL_DSN='user:password@tcp(host:3306)/database' and ` +
	`SECKILL_JWT_SECRET=$(openssl rand -hex 32); all settings: server serve --help
Or try it without stores, and forget everything at the end: docker run --publish 127.0.0.1:8080:8080 --tmpfs /data ` +
	`--env SECKILL_DATA_DIR=/data --env SECKILL_EMBEDDED=auto IMAGE`

// explain returns what to say of wrong settings.
func explain(invalid *config.InvalidError) string {
	missing := []string{"SECKILL_REDIS_ADDRS", "SECKILL_MYSQL_DSN", "SECKILL_JWT_SECRET"}
	if slices.EqualFunc(invalid.Problems, missing, func(p config.Problem, name string) bool {
		return p.Variable == name && strings.HasPrefix(p.Wrong, "is missing")
	}) {
		return unset
	}
	return invalid.Error() + "\nAll settings: server serve --help"
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
		_, _ = fmt.Fprintln(env.Err, explain(invalid))
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
