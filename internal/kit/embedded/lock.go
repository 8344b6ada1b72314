package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// ErrInUse means that another process has locked the data directory.
var ErrInUse = errors.New("data directory is in use")

// errLocked means that another process has locked the file.
var errLocked = errors.New("locked")

// dirLock is a locked file. The kernel releases the lock when the process ends, however it ends, so a lock is never
// stale.
type dirLock struct{ file *os.File }

// lockDir locks a directory for this process, or returns an error that wraps ErrInUse and names the holder.
func lockDir(dir string) (_ *dirLock, err error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	defer func() {
		if err != nil {
			_ = file.Close() // the returned error has the cause
		}
	}()
	switch err := tryLock(file); {
	case errors.Is(err, errLocked):
		return nil, fmt.Errorf("%w: %s belongs to %s; stop it, or use another directory", ErrInUse, dir, holder(file))
	case err != nil:
		return nil, fmt.Errorf("lock the data directory %s: %w", dir, err)
	}
	l := &dirLock{file}
	if err := l.write(strconv.Itoa(os.Getpid()) + "\n"); err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	return l, nil
}

// release unlocks the directory.
func (l *dirLock) release() error {
	// Remove the id first: otherwise another process could read the id of a process that has ended.
	err := errors.Join(l.write(""), unlock(l.file), l.file.Close())
	if err != nil {
		return fmt.Errorf("unlock the data directory: %w", err)
	}
	return nil
}

// write replaces the content of the file, which is only for people: a failed or partial write does no harm.
func (l *dirLock) write(text string) error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(text), 0)
	return err
}

// holder describes the process whose id is in the file. Between locking and writing, the file is briefly empty.
func holder(file *os.File) string {
	text, err := io.ReadAll(io.LimitReader(file, 32))
	if err != nil {
		return "another process"
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil {
		return "another process"
	}
	return fmt.Sprintf("process %d", pid)
}
