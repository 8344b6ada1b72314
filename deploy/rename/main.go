// Command rename gives the project's modules another path, in every file that names them: go.mod, imports, the linters'
// rules, Makefiles, documents. It works on a folder that holds the project, and repeating it with the same path changes
// nothing.
//
//	go run ./deploy/rename github.com/you/seckill
//
// The Go tool fetches a module by its path, so the path must be where the repository is. Names that are not the
// module's stay: of the program, of metrics, settings and tables.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "rename:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	flags := flag.NewFlagSet("rename", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() {
		_, _ = fmt.Fprint(errs, "Gives the modules of this project another path.\n\n"+
			"  go run ./deploy/rename github.com/you/seckill\n\n")
		flags.PrintDefaults()
	}
	root := flags.String("C", ".", "the project's `folder`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("it takes one argument, the new path: github.com/you/seckill")
	}
	to := flags.Arg(0)
	from, err := modulePath(*root)
	if err != nil {
		return err
	}
	if err := check(ctx, *root, to); err != nil {
		return err
	}
	changed, err := rename(*root, from, to)
	if err == nil {
		_, err = fmt.Fprintf(out, "%s is %s now, in %d files\n", from, to, changed)
	}
	return err
}

// modulePath returns the path in the root's go.mod.
func modulePath(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	line := regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(text)
	if line == nil {
		return "", errors.New("go.mod names no module")
	}
	return string(line[1]), nil
}

// check refuses a path under which the Go tool could not fetch the module.
func check(ctx context.Context, root, path string) error {
	host, _, slash := strings.Cut(path, "/")
	if !slash || !strings.Contains(host, ".") {
		return fmt.Errorf("%q is no path that the Go tool fetches: github.com/you/seckill begins with a host", path)
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "edit", "-print", "-module="+path) //nolint:gosec // it checks the path
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%q is no module path: %s", path, bytes.TrimSpace(said))
	}
	return nil
}

// skipped returns the folders whose files stay as they are: Git's own, what is built or fetched, the embedded mode's
// data, and records of measurements.
func skipped() []string {
	return []string{".git", "node_modules", "bin", "dist", "data", filepath.Join("lab", "results")}
}

// rename replaces the path in the root's files and returns how many it changed.
func rename(root, from, to string) (changed int, err error) {
	if from == to {
		return 0, nil
	}
	paths, err := newPatterns(root, from)
	if err != nil {
		return 0, err
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains(skipped(), relative) || slices.Contains(skipped(), d.Name())):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		did, err := paths.replace(path, to)
		if did {
			changed++
		}
		return err
	})
	return changed, err
}

// patterns find a module's path.
type patterns struct {
	packages *regexp.Regexp // in front of a folder of the project
	module   *regexp.Regexp // by itself, where only a module can stand
}

func newPatterns(root, from string) (patterns, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return patterns{}, err
	}
	folders := []string{`\(`} // a choice of folders, in a Makefile
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			folders = append(folders, regexp.QuoteMeta(e.Name())+`\b`)
		}
	}
	quoted := regexp.QuoteMeta(from)
	return patterns{
		packages: regexp.MustCompile(`(?m)(^|[^\w./:@{-])` + quoted + `/(` + strings.Join(folders, "|") + `)`),
		module: regexp.MustCompile(
			`(?m)(^module |^\t|^replace |\x60replace |module-path: |prefix\()` + quoted + `( v0\.0\.0| => |\)|$)`),
	}, nil
}

// replace rewrites a file if it names the module.
func (p patterns) replace(path, to string) (changed bool, err error) {
	text, err := os.ReadFile(path)
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return false, err
	}
	to = strings.ReplaceAll(to, "$", "$$")
	renamed := p.packages.ReplaceAll(text, []byte("${1}"+to+"/${2}"))
	renamed = p.module.ReplaceAll(renamed, []byte("${1}"+to+"${2}"))
	if bytes.Equal(text, renamed) {
		return false, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	return true, os.WriteFile(path, renamed, info.Mode()) //nolint:gosec // a file of the project
}
