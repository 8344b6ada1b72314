// Command release builds what a release consists of: for each system an archive with the static binaries, the systemd
// unit and the licence, a list of what the binaries are made of; the client as a package for npm; the checksums of all.
// The programs, the lists and the package name the commit.
//
// # What is authoritative
//
// The source. The same commit and the same Go make the same bytes, on any machine and in any folder: paths are
// trimmed, times are the commit's, owners are nobody in particular, and the build takes nothing from the machine but
// the Go toolchain. To check a release, build it again and compare SHA256SUMS.
//
// # What can go wrong
//
//   - The working tree was changed: the version ends in -dirty, and the archives are nobody else's.
//   - Another Go builds other bytes. The one that was used stands in each list, as a component's version.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr)
	cancel()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release has the settings of one build.
type release struct {
	version  string
	out      string
	targets  []target
	made     time.Time // of the commit: the time of every file in the archives
	revision string    // the commit
	progress io.Writer
}

// target is a system that binaries are built for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// program is a program that a release contains: a package of a module, whose folder is named from the root.
type program struct{ name, module, pkg string }

// programs returns what a release contains. Stripe's is a module of its own.
func programs() []program {
	return []program{
		{"server", ".", "./cmd/server"}, {"loadgen", ".", "./cmd/loadgen"}, {"seckill-stripe", "providers/stripe", "."},
	}
}

const usage = `release builds archives of the binaries, with checksums and a list of what is in them.

  go run ./deploy/release -version v1.2.3 -out dist

`

func run(ctx context.Context, args []string, progress io.Writer) error {
	r, err := parse(args, progress)
	if err != nil {
		return err
	}
	if r.made, err = commitTime(ctx); err != nil {
		return err
	}
	if r.revision, err = output(ctx, os.Environ(), "git", "rev-parse", "HEAD"); err != nil {
		return err
	}
	changed, err := output(ctx, os.Environ(), "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" && !strings.HasSuffix(r.version, dirty) {
		r.version += dirty
	}
	if changed != "" {
		r.revision += "+dirty"
	}
	return r.build(ctx)
}

// dirty is the suffix of a version that was built from a working tree with uncommitted changes.
const dirty = "-dirty"

// versionPattern matches versions that can be part of a file's name.
const versionPattern = `^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$`

func parse(args []string, progress io.Writer) (release, error) {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.Usage = func() {
		_, _ = fmt.Fprint(progress, usage)
		flags.PrintDefaults()
	}
	r := release{progress: progress}
	flags.StringVar(&r.version, "version", "", "the `version` that the binaries say they are")
	flags.StringVar(&r.out, "out", "dist", "`folder` for the archives; what is in it is replaced file by file")
	targets := flags.String("targets", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64",
		"`systems` to build for, with commas")
	if err := flags.Parse(args); err != nil {
		return r, err
	}
	if flags.NArg() > 0 {
		return r, fmt.Errorf("%q is no flag; allowed are -version, -out and -targets", flags.Arg(0))
	}
	if !regexp.MustCompile(versionPattern).MatchString(r.version) {
		return r, fmt.Errorf("-version is %q; allowed are 1 to 64 letters, digits, dots, + and -", r.version)
	}
	for text := range strings.SplitSeq(*targets, ",") {
		system, arch, found := strings.Cut(text, "/")
		if !found || system == "" || arch == "" {
			return r, fmt.Errorf(
				"-targets has %q; allowed are systems such as linux/amd64: go tool dist list shows all", text)
		}
		r.targets = append(r.targets, target{system, arch})
	}
	return r, nil
}

// commitTime returns when the source was committed.
func commitTime(ctx context.Context) (time.Time, error) {
	text, err := output(ctx, os.Environ(), "git", "log", "-1", "--format=%ct")
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// build builds one target after the other, then the checksums.
func (r release) build(ctx context.Context) error {
	if err := os.MkdirAll(r.out, 0o755); err != nil { //nolint:gosec // what is in it is for everybody
		return err
	}
	var made []string
	for _, t := range r.targets {
		begin := time.Now()
		names, err := r.buildFor(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		made = append(made, names...)
		_, _ = fmt.Fprintf(r.progress, "%-14s %s, %.0f s\n", t, strings.Join(names, ", "), time.Since(begin).Seconds())
	}
	packed, err := r.writeClient(".")
	if err != nil {
		return fmt.Errorf("the client: %w", err)
	}
	if packed != "" {
		made = append(made, packed)
	}
	return writeSums(r.out, made)
}

// buildFor builds the archive of a target and the list of what is in it, and returns their names.
func (r release) buildFor(ctx context.Context, t target) (names []string, err error) {
	folder, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	var files []file
	for _, p := range programs() {
		path := filepath.Join(folder, p.name)
		env := append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0",
			"GOENV=off", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOFIPS140=off")
		if _, err := output(ctx, env, "go", "build", "-C", p.module, "-trimpath", "-buildvcs=false",
			"-ldflags", r.linkerFlags(p.name), "-o", path, p.pkg); err != nil {
			return nil, err
		}
		files = append(files, file{p.name, path, 0o755})
	}
	readable, err := documents(".", "LICENSE", "README.md", "CHANGELOG.md")
	if err != nil {
		return nil, err
	}
	files = append(files, readable...)
	if t.os == "linux" {
		for _, name := range []string{
			"seckill.service", "seckill.env", "seckill-stripe.service", "seckill-stripe.env",
		} {
			path := "deploy/systemd/" + name
			files = append(files, file{filepath.Base(path), path, 0o644})
		}
	}
	name := fmt.Sprintf("seckill-%s-%s-%s", r.version, t.os, t.arch)
	archive, bill := name+".tar.gz", name+".cdx.json"
	if err := writeArchive(filepath.Join(r.out, archive), name, files, r.made); err != nil {
		return nil, err
	}
	if err := writeBill(filepath.Join(r.out, bill), r.version, r.revision, files[:len(programs())]); err != nil {
		return nil, err
	}
	return []string{archive, bill}, nil
}

// linkerFlags returns the flags that set a program's version, and the server's revision: the build itself looks at no
// repository, so that it makes the same bytes from an archive of the source.
func (r release) linkerFlags(program string) string {
	flags := "-s -w -buildid= -X main.version=" + r.version
	if program == "server" {
		flags += " -X main.revision=" + r.revision
	}
	return flags
}

// output runs a command and returns what it printed, or an error with what it wrote to stderr.
func output(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // git or go, as this program calls them
	cmd.Env = env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
