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
		return 1024 // the usual default
	}
	// The type is signed on FreeBSD. RLIM_INFINITY exceeds MaxInt32.
	//nolint:unconvert // see above
	return int(min(uint64(r.Cur), math.MaxInt32))
}
