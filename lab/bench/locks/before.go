package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"seckill/lab/version"
)

// asItWas begins the name of this package as it was at a commit, which follows.
const asItWas = "this package at "

// oldPackages are what the folder before has of the commit: the locks, and what they were made of, if it was there.
var oldPackages = []string{"lock", "batch"}

// runBeside builds this program with the locks of a commit beside today's, and runs it with the flags that were given.
func runBeside(ctx context.Context, commit string) (err error) {
	root, err := version.Root(ctx, ".")
	if err != nil {
		return err
	}
	id, err := version.Resolve(ctx, root, commit)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "seckill-locks-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	source, old, program := filepath.Join(dir, "locks"), filepath.Join(dir, "old"), filepath.Join(dir, "bench")
	if err := version.Extract(ctx, root, id, old); err != nil {
		return fmt.Errorf("reading commit %s: %w", commit, err)
	}
	if err := os.CopyFS(source, os.DirFS(filepath.Join(root, "bench", "locks"))); err != nil {
		return err
	}
	for _, name := range oldPackages {
		if err := moveOld(filepath.Join(old, "internal", name), filepath.Join(source, "before", name)); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"mod", "edit", "-replace", "seckill=" + root},
		{"build", "-tags", "before", "-ldflags", "-X main.pastCommit=" + id[:7], "-o", program, "."},
	} {
		if err := command(ctx, source, "go", args...).Run(); err != nil {
			return fmt.Errorf("building with the locks of %s: go %s: %w", commit, args[0], err)
		}
	}
	var flags []string
	flag.Visit(func(f *flag.Flag) {
		if f.Name != "before" {
			flags = append(flags, "-"+f.Name+"="+f.Value.String())
		}
	})
	return command(ctx, "", program, flags...).Run()
}

// moveOld moves a package, if the commit has it, without its tests and commands, and has it import what was moved.
func moveOld(from, to string) error {
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, _ fs.DirEntry, err error) error {
		switch {
		case err != nil || filepath.Ext(path) != ".go":
			return err
		case strings.HasSuffix(path, "_test.go"):
			return os.Remove(path)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		moved := string(text)
		for _, name := range oldPackages {
			moved = strings.ReplaceAll(moved, `"seckill/internal/`+name, `"seckill/lab/bench/locks/before/`+name)
		}
		return os.WriteFile(path, []byte(moved), 0o600)
	})
}

// command is one that prints where this one does. It is interrupted as this one is, and ends by itself.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}
