//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks a file, or returns errLocked at once. It uses flock, not fcntl: fcntl locks do not exclude the same
// process and are lost when any descriptor of the file is closed.
func tryLock(file *os.File) error {
	err := flock(file, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return err
}

// unlock releases the lock. Closing the file is not enough: a child process that is just being started holds a copy of
// the descriptor, and so the lock, until it runs its own program.
func unlock(file *os.File) error { return flock(file, unix.LOCK_UN) }

func flock(file *os.File, how int) error {
	for {
		if err := unix.Flock(int(file.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
