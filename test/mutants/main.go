package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"seckill/test/overlay"
)

// limit is how long a scenario may take with a mutant: most wait in vain for everything to be settled.
const limit = 5 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// errSurvived: the suite has a hole.
var errSurvived = errors.New("NOT NOTICED")

func run(ctx context.Context, names []string) (wrong error) {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system's to clear
	suite := filepath.Join(dir, "suite.test")
	if err := goTool(ctx, "test", "-c", "-o", suite, "./test"); err != nil {
		return err
	}
	for _, m := range mutants() {
		if !wanted(m.name, names) {
			continue
		}
		verdict := "noticed: " + m.sign
		if err := m.try(ctx, dir, suite); err != nil {
			verdict = err.Error()
			wrong = errors.Join(wrong, fmt.Errorf("%s: %w", m.name, err))
		}
		if _, err := fmt.Printf("%-45s %-13s %s\n", m.name, m.scenario, verdict); err != nil {
			return err
		}
	}
	return wrong
}

func wanted(name string, names []string) bool {
	for _, n := range names {
		if strings.Contains(name, n) {
			return true
		}
	}
	return len(names) == 0
}

// try builds the server with the bug and lets the scenario run against it. It returns nil when the scenario fails as it
// should.
func (m mutant) try(ctx context.Context, dir, suite string) error {
	list, err := overlay.Write(dir, m.changes)
	if err != nil {
		return err
	}
	server := filepath.Join(dir, "server")
	if err := goTool(ctx, "build", "-overlay", list, "-o", server, "./cmd/server"); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, limit+time.Minute)
	defer cancel()
	scenario := exec.CommandContext(limited, suite, "-test.run", "^TestFaults$/^"+m.scenario+"$", "-test.v", "-test.timeout", limit.String())
	scenario.Dir = "test"
	scenario.Env = append(os.Environ(), "SECKILL_TEST_SERVER="+server, "SECKILL_TEST_FAULTS=all")
	out, err := scenario.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !strings.Contains(string(out), "=== RUN   TestFaults/"+m.scenario):
		return fmt.Errorf("%s did not run:\n%s", m.scenario, out)
	case err == nil:
		return errSurvived
	case !strings.Contains(string(out), m.sign):
		return fmt.Errorf("%s failed without a word of %q:\n%.5000s", m.scenario, m.sign, out)
	}
	return nil
}

// goTool runs the go command from the module's root.
func goTool(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", args[0], err, out)
	}
	return nil
}
