// Package version builds the server of a given commit, to compare it with today's or to run it beside today's.
//
// It takes the source from the clone's own history (git archive) and builds in a temporary folder, which it removes: no
// work tree is registered, and if the process is killed, only that folder is left. Building needs the modules of that
// commit's go.mod; the go command fetches missing ones.
package version

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"seckill/internal/testkit/child"
)

// ErrNoCommit says that the clone does not have a commit.
var ErrNoCommit = errors.New("no such commit in this clone")

// Resolve returns the full id of the commit that a reference names. If the clone does not have it, the error is
// ErrNoCommit, and for a shallow clone it says what to do.
func Resolve(ctx context.Context, root, ref string) (string, error) {
	id, err := git(ctx, root, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err == nil {
		return id, nil
	}
	shallow, shallowErr := git(ctx, root, "rev-parse", "--is-shallow-repository")
	switch {
	case shallowErr != nil:
		return "", fmt.Errorf("%s is not in a git clone: %w", root, shallowErr)
	case shallow == "true":
		return "", fmt.Errorf("%w: %s: the clone is shallow; fetch its history with: git fetch --unshallow",
			ErrNoCommit, ref)
	default:
		return "", fmt.Errorf("%w: %s", ErrNoCommit, ref)
	}
}

// Describe names the work tree's contents: its commit, with "-dirty" if there are changes.
func Describe(ctx context.Context, root string) (string, error) {
	return git(ctx, root, "describe", "--always", "--dirty", "--exclude=*", "--abbrev=7")
}

// Root returns the top folder of the clone that contains a folder.
func Root(ctx context.Context, dir string) (string, error) {
	return git(ctx, dir, "rev-parse", "--show-toplevel")
}

// Build builds cmd/server of a commit into a file, as for a release: without cgo and the race detector.
func Build(ctx context.Context, root, commit, file string) (err error) {
	id, err := Resolve(ctx, root, commit)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "seckill-version-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := Extract(ctx, root, id, dir); err != nil {
		return fmt.Errorf("reading commit %s: %w", commit, err)
	}
	return BuildTree(ctx, dir, file)
}

// BuildTree builds cmd/server of the source in a folder into a file in the same way.
func BuildTree(ctx context.Context, dir, file string) error {
	return child.Build(ctx, dir, "./cmd/server", file, "-trimpath", "-buildvcs=false")
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// Extract writes a commit's files into a folder.
func Extract(ctx context.Context, root, commit, dir string) error {
	cmd := exec.CommandContext(ctx, "git", "archive", "--format=tar", commit)
	cmd.Dir = root
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = unpack(tar.NewReader(out), dir)
	if err != nil {
		_ = cmd.Process.Kill() // otherwise it would wait for a reader
	}
	return errors.Join(err, cmd.Wait())
}

func unpack(from *tar.Reader, dir string) error {
	for {
		h, err := from.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case !filepath.IsLocal(h.Name):
			return fmt.Errorf("the archive names a file outside: %q", h.Name)
		}
		path := filepath.Join(dir, h.Name)
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o755)
		case tar.TypeReg:
			err = write(path, from, h.FileInfo().Mode().Perm())
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, path)
		default: // the header with the commit's id
		}
		if err != nil {
			return err
		}
	}
}

func write(path string, from io.Reader, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
