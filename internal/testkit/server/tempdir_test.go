package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestOrphanedDirectoriesAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	long := time.Now().Add(-time.Hour)
	age := func(d *tempDir) {
		if err := os.Chtimes(filepath.Join(d.path, lockName), long, long); err != nil {
			t.Fatal(err)
		}
	}
	newDir := func(name string) *tempDir {
		d, err := newTempDir(name)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	alive, dead, young := newDir("alive"), newDir("dead"), newDir("young")
	for _, d := range []*tempDir{dead, young} { // as if their processes had been killed
		if err := d.lock.Close(); err != nil {
			t.Fatal(err)
		}
	}
	age(alive)
	age(dead)

	newDir("next")
	for _, tc := range []struct {
		dir  *tempDir
		want bool
	}{{alive, true}, {dead, false}, {young, true}} {
		if got := isDir(tc.dir.path); got != tc.want {
			t.Errorf("%s exists: %v, want %v", tc.dir.path, got, tc.want)
		}
	}
	if err := alive.remove(); err != nil || isDir(alive.path) {
		t.Errorf("remove: %v, exists: %v", err, isDir(alive.path))
	}
}

func TestLockFileExcludes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 80*time.Millisecond)
	defer cancel()
	if _, err := lockFile(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("second lock: %v, want to wait in vain", err)
	}
	unlock()
	again, err := lockFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestServerThatExitsIsReportedWithItsLog(t *testing.T) {
	t.Parallel()
	_, err := StartRedis(t.Context(), "--no-such-setting", "1")
	if !errors.Is(err, errExited) {
		t.Fatalf("StartRedis: %v, want %v", err, errExited)
	}
	t.Log(err)
}
