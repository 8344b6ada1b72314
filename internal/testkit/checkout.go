package testkit

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"seckill/internal/testkit/child"
)

// CopyCheckout copies the project's files (all that git does not ignore) into a temporary folder of the test, and
// returns its path.
func CopyCheckout(tb testing.TB) string {
	tb.Helper()
	root, err := child.Root(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	list := exec.CommandContext(tb.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		tb.Fatalf("testkit: the project's files: %v", err)
	}
	to := tb.TempDir()
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		if err := copyFile(filepath.Join(root, name), filepath.Join(to, name)); err != nil {
			tb.Fatalf("testkit: copying %s: %v", name, err)
		}
	}
	return to
}

// copyFile copies a regular file, unless it is deleted and not committed yet.
func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err = os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}
