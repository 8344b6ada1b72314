//go:build unix && !linux

package child

import "syscall"

// bind puts a program into its own process group, so that Ctrl-C in a terminal reaches only this process. This system
// has no parent death signal: children of a killed process keep running.
func bind(a *syscall.SysProcAttr) { a.Setpgid = true }
