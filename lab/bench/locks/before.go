package locks

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"seckill/internal/testkit/child"
	"seckill/lab/version"
)

// asItWas begins the name of this package at an older commit; the commit follows.
const asItWas = "this package at "

// oldPackages are copied from the commit into the folder before: the locks, and the packages they used, if there were
// any.
var oldPackages = []string{"lock", "batch"}

// runBeside builds the bench with the locks of a commit beside today's, and runs it with the same flags.
func runBeside(ctx context.Context, commit string, given *flag.FlagSet) (err error) {
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
	old, before, program := filepath.Join(dir, "old"), filepath.Join(dir, "before"), filepath.Join(dir, "bench")
	if err := version.Extract(ctx, root, id, old); err != nil {
		return fmt.Errorf("reading commit %s: %w", commit, err)
	}
	for _, name := range oldPackages {
		if err := moveOld(filepath.Join(old, "internal", name), filepath.Join(before, name)); err != nil {
			return err
		}
	}
	list, err := overlay(before, filepath.Join(root, "lab", "bench", "locks", "before"))
	if err != nil {
		return err
	}
	flags := []string{"-tags", "before", "-ldflags", "-X " + here + ".pastCommit=" + id[:7], "-overlay", list}
	if err := child.Build(ctx, filepath.Join(root, "lab"), "./bench", program, flags...); err != nil {
		return fmt.Errorf("with the locks of %s: %w", commit, err)
	}
	args := []string{"locks"}
	given.Visit(func(f *flag.Flag) {
		if f.Name != "before" {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	return command(ctx, program, args...).Run()
}

// oldModule is the service's module in the commits that are compared with, whatever it is called now.
const oldModule = "seckill"

// here is this package's path.
const here = "seckill/lab/bench/locks"

// overlay writes the list that makes a build see the files of one folder in another.
func overlay(folder, as string) (list string, err error) {
	replace := map[string]string{}
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		replace[filepath.Join(as, name)] = path
		return err
	})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list = folder + ".json"
	return list, os.WriteFile(list, text, 0o600)
}

// moveOld moves a package, if the commit has it, without its tests and commands, and adapts imports of moved packages.
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
			moved = strings.ReplaceAll(moved, `"`+oldModule+`/internal/`+name, `"`+here+`/before/`+name)
		}
		return os.WriteFile(path, []byte(moved), 0o600)
	})
}

// command returns a command that prints to the same output as this program. An interrupt reaches both, and it ends by
// itself.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}
