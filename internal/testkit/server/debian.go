package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// source is a package source of Debian, by its suite.
const source = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian %s main\n"

// unpackSuite unpacks packages of a suite of Debian with all their dependencies into the directory's folder root. It
// does not change the system.
func unpackSuite(
	ctx context.Context, apt, dir, suite string, packages []string,
	unpack func(ctx context.Context, archives, root string) error,
) error {
	sources, status := filepath.Join(dir, "sources.list"), filepath.Join(dir, "status")
	err := errors.Join(os.MkdirAll(filepath.Join(dir, "lists", "partial"), 0o755),
		os.MkdirAll(filepath.Join(dir, "archives", "partial"), 0o755),
		os.WriteFile(sources, fmt.Appendf(nil, source, suite), 0o644),
		os.WriteFile(status, nil, 0o644)) // nothing is installed
	if err != nil {
		return err
	}
	own := []string{
		"-o", "Dir::State=" + dir, "-o", "Dir::State::status=" + status, "-o", "Dir::Cache=" + dir,
		"-o", "Dir::Etc::sourcelist=" + sources, "-o", "Dir::Etc::sourceparts=/dev/null",
		"-o", "Dir::Etc::preferences=/dev/null", "-o", "Dir::Etc::preferencesparts=/dev/null",
		"-o", "APT::Sandbox::User=",
	}
	if err := aptGet(ctx, apt, slices.Concat(own, []string{"update", "-q"})...); err != nil {
		return err
	}
	install := []string{"install", "-q", "-y", "--no-install-recommends", "--download-only"}
	if err := aptGet(ctx, apt, slices.Concat(own, install, packages)...); err != nil {
		return err
	}
	return unpack(ctx, filepath.Join(dir, "archives"), filepath.Join(dir, "root"))
}

// unpackOnce creates a cache directory once. fetch gets a directory and fills its folder root. Concurrent processes
// wait for each other.
func unpackOnce(
	ctx context.Context, name string, fetch func(ctx context.Context, apt, dir string) error,
) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	final := filepath.Join(cache, name)
	unlock, err := lockFile(ctx, final+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if isDir(final) {
		return final, nil
	}
	apt := find("apt-get")
	if apt == "" || find("dpkg-deb") == "" {
		return "", fmt.Errorf("%w (and this is not a system with apt-get)", errNotInstalled)
	}
	fmt.Fprintf(os.Stderr, "unpacking %s into %s …\n", name, final)
	half, err := os.MkdirTemp(cache, name+".half-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(half) }() // whole or not at all
	if err := fetch(ctx, apt, half); err != nil {
		return "", fmt.Errorf("%w: %w", errNotInstalled, err)
	}
	return final, os.Rename(filepath.Join(half, "root"), final)
}

// unpack unpacks all packages of a directory.
func unpack(ctx context.Context, dir, root string) error {
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return err
	}
	for _, deb := range debs {
		if out, err := exec.CommandContext(ctx, find("dpkg-deb"), "-x", deb, root).CombinedOutput(); err != nil {
			return fmt.Errorf("dpkg-deb -x %s: %w: %s", deb, err, tail(out, 600))
		}
	}
	return nil
}
