// Command without leaves out one feature after the other, as if somebody had deleted the feature's folder and its line
// in internal/features: everything must build, the core's tests pass, and the built server complete a sale. It does not
// change the tree: go build and go test use an overlay.
//
//	go run ./without            each feature of the list, one at a time
//	go run ./without report     this one only
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"

	"seckill/lab/version"
	"seckill/test/box"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "without:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string) error {
	root, err := version.Root(ctx, ".")
	if err != nil {
		return err
	}
	all := box.Features()
	if len(names) == 0 {
		names = all
	}
	var failed []error
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("there is no feature %q (allowed: %v)", name, all)
		}
		if err := leaveOut(ctx, root, name); err != nil {
			failed = append(failed, fmt.Errorf("without %s: %w", name, err))
		}
	}
	return errors.Join(failed...)
}

// core returns the packages that must not know any feature, not even in their tests.
func core() []string {
	return []string{
		"./internal/voucher/...", "./internal/order/...", "./internal/redisstore/...", "./internal/sqlstore/...",
		"./internal/httpapi/...", "./internal/kit/...", "./internal/idworker/...", "./cmd/server/...",
	}
}

func leaveOut(ctx context.Context, root, name string) error {
	dir, err := os.MkdirTemp("", "without-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system clears what is left
	overlay, err := box.WithoutOverlay(root, dir, name)
	if err != nil {
		return err
	}
	server := filepath.Join(dir, "server")
	for _, step := range []struct {
		what string
		args []string
	}{
		{"builds", []string{"build", "-overlay", overlay, "./internal/...", "./cmd/..."}},
		{"server", []string{"build", "-overlay", overlay, "-o", server, "./cmd/server"}},
		{"core's tests", slices.Concat([]string{"test", "-overlay", overlay}, core())},
		{"a sale", []string{"test", "-count=1", "-run", "^TestSale$", "./test"}},
	} {
		cmd := exec.CommandContext(ctx, "go", step.args...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "SECKILL_TEST_SERVER="+server)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", step.what, err, out)
		}
		fmt.Printf("%-12s %-14s ok\n", name, step.what)
	}
	return nil
}
