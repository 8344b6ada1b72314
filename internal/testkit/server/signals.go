//go:build unix

package server

import "syscall"

// The signals that pause and continue a process.
const (
	sigStop = syscall.SIGSTOP
	sigCont = syscall.SIGCONT
)
