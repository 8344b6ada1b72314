//go:build unix

package config

import (
	"math"
	"syscall"
)

// openFiles returns how many descriptors the process may have. The Go runtime has raised the soft limit to the hard
// one.
func openFiles() int {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 1024 // what POSIX systems have when nobody raised it
	}
	//nolint:unconvert // FreeBSD has a signed one; RLIM_INFINITY is larger
	return int(min(uint64(r.Cur), math.MaxInt32))
}
