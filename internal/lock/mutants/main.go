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
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/test/overlay"
)

// pkg is what is broken, as seen from the module's root.
const pkg = "./internal/lock"

// atOnce is how many are tried at the same time: one is built while one runs.
const atOnce = 2

// limit is how long a row may take before its mutant counts as noticed: a suite that hangs is a suite that fails.
const limit = 2 * time.Minute

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
var errSurvived = errors.New("not noticed")

func run(ctx context.Context, names []string) error {
	var mu sync.Mutex
	var wrong error
	var tries errgroup.Group
	tries.SetLimit(atOnce)
	for _, m := range mutants() {
		if !wanted(m.name, names) {
			continue
		}
		tries.Go(func() error {
			verdict := "noticed"
			err := m.try(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				verdict = err.Error()
				wrong = errors.Join(wrong, fmt.Errorf("%s: %w", m.name, err))
			}
			_, err = fmt.Printf("%-45s %-10s row %-3d %s\n", m.name, m.kind, m.row, verdict)
			return err
		})
	}
	return errors.Join(tries.Wait(), wrong)
}

func wanted(name string, names []string) bool {
	for _, n := range names {
		if strings.Contains(name, n) {
			return true
		}
	}
	return len(names) == 0
}

// try builds the suite with the bug and runs the row. It returns nil when the row fails.
func (m mutant) try(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system's to clear
	list, err := overlay.Write(dir, m.files())
	if err != nil {
		return err
	}
	suite := filepath.Join(dir, "suite.test")
	//nolint:gosec // own paths
	build := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", list, "-o", suite, pkg)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("does not build: %w\n%s", err, out)
	}
	limited, cancel := context.WithTimeout(ctx, limit+time.Minute)
	defer cancel()
	row := fmt.Sprintf("^TestConformance$/^%s$/^row_%d_", m.kind, m.row)
	//nolint:gosec // just built
	suiteRun := exec.CommandContext(limited, suite, "-test.run", row, "-test.v", "-test.timeout", limit.String())
	suiteRun.Dir = pkg
	out, err := suiteRun.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !strings.Contains(string(out), fmt.Sprintf("=== RUN   TestConformance/%s/row_%d_", m.kind, m.row)):
		return fmt.Errorf("the row did not run:\n%s", out)
	case err == nil:
		return errSurvived
	}
	return nil
}

// files returns the changes with the names of the files as seen from the module's root.
func (m mutant) files() []overlay.Change {
	files := make([]overlay.Change, len(m.changes))
	for i, c := range m.changes {
		files[i] = overlay.Change{File: filepath.Join(pkg, c.file), From: c.from, To: c.to}
	}
	return files
}
