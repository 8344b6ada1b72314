package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// dirPrefix starts the name of every server's directory. lockName is the file in it that its owner keeps locked.
const (
	dirPrefix = "seckill-testkit-"
	lockName  = "owner.lock"
)

// tempDir is a server's directory. Its lock is held until the process that created it ends.
type tempDir struct {
	path string
	lock *os.File
}

// newTempDir creates a directory, and removes directories whose owners were killed.
func newTempDir(name string) (*tempDir, error) {
	removeOrphans()
	path, err := os.MkdirTemp("", dirPrefix+name+"-")
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(lock, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &tempDir{path: path, lock: lock}, nil
}

// remove deletes the directory and its contents.
func (d *tempDir) remove() error {
	err := os.RemoveAll(d.path)
	_ = d.lock.Close() // nothing was written
	return err
}

// removeOrphans removes directories whose owners have ended. It ignores errors, because such a directory belongs to
// another user. It skips young directories, whose owners may be about to lock them.
func removeOrphans() {
	locks, err := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*", lockName))
	if err != nil {
		return
	}
	for _, path := range locks {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		info, err := f.Stat()
		if err != nil || time.Since(info.ModTime()) < time.Minute {
			_ = f.Close() // nothing was written
			continue
		}
		if flock(f, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
		_ = f.Close() // nothing was written
	}
}

// lockFile creates the file if necessary, waits for an exclusive lock on it, and returns the function that unlocks it.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return func() { _ = f.Close() }, nil // closing unlocks
		}
		select {
		case <-ctx.Done():
			_ = f.Close() // nothing was written
			return nil, fmt.Errorf("lock %s: %w", path, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// flock locks by open file description: the lock ends when the process does, however it ends.
func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
