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

// copyTemplate fills dst with the fresh data directory of a server, which the command makes. Creating one takes
// seconds, so the first process creates it in the user's cache directory and all others copy it; no server runs in it.
// Without a cache directory, every server creates its own.
func copyTemplate(ctx context.Context, install []string, server, dst string) error {
	cache, err := cacheDir()
	if err != nil {
		return makeDataDir(ctx, install, dst)
	}
	template := filepath.Join(cache, fmt.Sprintf("%s-uid%d", server, os.Geteuid()))
	if err := ensureTemplate(ctx, install, template); err != nil {
		return err
	}
	return os.CopyFS(dst, os.DirFS(template))
}

// ensureTemplate creates the template if it does not exist. A final rename makes it appear complete or not at all.
func ensureTemplate(ctx context.Context, install []string, template string) error {
	if isDir(template) {
		return nil
	}
	unlock, err := lockFile(ctx, template+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if isDir(template) { // another process has created it meanwhile
		return nil
	}
	half := template + ".half"
	if err := os.RemoveAll(half); err != nil { // left by a process that was killed
		return err
	}
	if err := makeDataDir(ctx, install, half); err != nil {
		return errors.Join(err, os.RemoveAll(half))
	}
	return os.Rename(half, template)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// mariaDBInstall returns the command that makes a MariaDB's data directory.
func mariaDBInstall(installDB string) []string {
	// --force: do not resolve this machine's host name, because /etc/hosts may be missing.
	install := []string{
		installDB, "--no-defaults", "--skip-test-db", "--skip-name-resolve", "--force", "--innodb-log-file-size=4M",
	}
	if os.Getenv(EnvMySQLProgram) != "" { // the system's own program finds its files by itself
		install = append(install, "--basedir="+baseOf(installDB))
	}
	return install
}

// baseOf returns the directory that has a program's folder bin or sbin.
func baseOf(program string) string { return filepath.Dir(filepath.Dir(program)) }

// makeDataDir runs the command that makes a data directory.
func makeDataDir(ctx context.Context, install []string, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	args := slices.Concat(install[1:], asRoot(), []string{"--datadir=" + dir, "--tmpdir=" + dir})
	cmd := exec.CommandContext(ctx, install[0], args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(install[0]), err, tail(out, 1500))
	}
	return nil
}
