//go:build unix && !linux

package child

import "syscall"

// bind puts a program into a process group of its own, so that Ctrl-C in a terminal reaches this process and not its
// children. There is no parent death signal here: children of a killed process stay.
func bind(a *syscall.SysProcAttr) { a.Setpgid = true }
