//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks a file, or returns errLocked at once. It is flock, not fcntl: a lock of fcntl does not exclude this very
// process and is lost when any descriptor of the file is closed.
func tryLock(file *os.File) error {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		default:
			return err
		}
	}
}
