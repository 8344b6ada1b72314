package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// copyTemplate fills dst with a fresh data directory. Creating one takes seconds, so the first process creates it in
// the user's cache directory and all others copy it; no server runs in it. Without a cache directory, every server
// creates its own.
func copyTemplate(ctx context.Context, installDB, version, dst string) error {
	cache, err := cacheDir()
	if err != nil {
		return makeDataDir(ctx, installDB, dst)
	}
	template := filepath.Join(cache, fmt.Sprintf("mariadb-%s-uid%d", version, os.Geteuid()))
	if err := ensureTemplate(ctx, installDB, template); err != nil {
		return err
	}
	return os.CopyFS(dst, os.DirFS(template))
}

// ensureTemplate creates the template if it does not exist. A final rename makes it appear complete or not at all.
func ensureTemplate(ctx context.Context, installDB, template string) error {
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
	if err := makeDataDir(ctx, installDB, half); err != nil {
		return errors.Join(err, os.RemoveAll(half))
	}
	return os.Rename(half, template)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// makeDataDir runs mariadb-install-db.
func makeDataDir(ctx context.Context, installDB, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	args := append([]string{"--no-defaults"}, asRoot()...)
	// By force it does without the names of this machine: /etc/hosts may be missing.
	args = append(args, "--datadir="+dir, "--tmpdir="+dir, "--skip-test-db", "--skip-name-resolve", "--force",
		"--innodb-log-file-size=4M")
	cmd := exec.CommandContext(ctx, installDB, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mariadb-install-db: %w: %s", err, tail(out, 1500))
	}
	return nil
}
