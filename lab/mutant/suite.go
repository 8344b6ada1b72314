package mutant

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/lab/version"
)

// errSurvived: the tests have a gap.
var errSurvived = errors.New("NOT NOTICED")

// Suite is a package of tests, and how to run mutants against it.
type Suite struct {
	// Package has the tests; its path is relative to the top of the clone.
	Package string
	// Program is the command that is built with the bug; the tests find it by the environment variable ProgramEnv. If
	// it is empty, the bug is built into the tests' package.
	Program, ProgramEnv string
	// Env is additions to the tests' environment.
	Env []string
	// Limit is how long the tests may take with a mutant. Tests that hang have not noticed it, since they do not say
	// what is wrong.
	Limit time.Duration
	// Parallel is how many mutants run at the same time.
	Parallel int
}

// Main runs the mutants whose names contain one of the command's arguments, or all of them without arguments, and ends
// the process: with code 1 when a mutant survived or could not be run. Run it at the top of the clone, to which the
// names of files and packages are relative.
func (s Suite) Main(mutants []Mutant) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	root, err := version.Root(ctx, ".")
	if err == nil {
		err = os.Chdir(root)
	}
	if err == nil {
		err = s.run(ctx, selected(mutants, os.Args[1:]))
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func selected(mutants []Mutant, names []string) []Mutant {
	return slices.DeleteFunc(mutants, func(m Mutant) bool {
		return len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(m.Name, n) })
	})
}

func (s Suite) run(ctx context.Context, mutants []Mutant) error {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system clears what is left
	tests := filepath.Join(dir, "suite.test")
	if s.Program != "" && slices.ContainsFunc(mutants, func(m Mutant) bool { return m.Package == "" }) {
		if err := goTool(ctx, s.Package, "test", "-c", "-o", tests); err != nil {
			return err
		}
	}
	var mu sync.Mutex
	var wrong error
	var running errgroup.Group
	running.SetLimit(s.Parallel)
	for _, m := range mutants {
		running.Go(func() error {
			result := "noticed"
			err := s.try(ctx, m, tests)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				result = err.Error()
				wrong = errors.Join(wrong, fmt.Errorf("%s: %w", m.Name, err))
			}
			_, err = fmt.Printf("%-55s %-32s %s\n", m.Name, m.Test, result)
			return err
		})
	}
	return errors.Join(running.Wait(), wrong)
}

// try builds the bug and runs the test. It returns nil when the test fails as it should.
func (s Suite) try(ctx context.Context, m Mutant, tests string) error {
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system clears what is left
	list, err := m.overlay(dir)
	if err != nil {
		return err
	}
	if m.Package != "" {
		s.Package, s.Program = m.Package, ""
	}
	env := slices.Concat(os.Environ(), s.Env)
	if s.Program != "" {
		program := filepath.Join(dir, "program")
		env = append(env, s.ProgramEnv+"="+program)
		err = goTool(ctx, s.Program, "build", "-overlay", list, "-o", program)
	} else {
		tests = filepath.Join(dir, "suite.test")
		err = goTool(ctx, s.Package, "test", "-c", "-overlay", list, "-o", tests)
	}
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, s.Limit+time.Minute)
	defer cancel()
	pattern := "^" + strings.ReplaceAll(m.Test, "/", "/^")
	args := append([]string{"-test.run", pattern, "-test.v", "-test.timeout", s.Limit.String()}, m.Args...)
	cmd := exec.CommandContext(limited, tests, args...)
	cmd.Dir, cmd.Env = s.Package, env
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !strings.Contains(string(out), "=== RUN   "+strings.ReplaceAll(m.Test, "$", "")):
		return fmt.Errorf("%s did not run:\n%s", m.Test, out)
	case err == nil:
		return errSurvived
	case strings.Contains(string(out), "panic: test timed out"):
		return fmt.Errorf("%s: %w: it hangs", m.Test, errSurvived)
	case !strings.Contains(string(out), m.Sign):
		return fmt.Errorf("%s failed without saying %q:\n%.5000s", m.Test, m.Sign, out)
	}
	return nil
}

// goTool runs the go command for a package, in the module that contains it.
func goTool(ctx context.Context, pkg string, args ...string) error {
	dir := "."
	if rest, ok := strings.CutPrefix(pkg, "./lab/"); ok {
		dir, pkg = "lab", "./"+rest
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s %s: %w\n%s", args[0], pkg, err, out)
	}
	return nil
}
