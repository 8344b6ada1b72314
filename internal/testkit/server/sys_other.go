//go:build unix && !linux

package server

import "syscall"

// procAttr puts a server into a process group of its own, so that Ctrl-C in a terminal reaches the tests and not their
// servers. There is no parent death signal here: servers of a killed test process stay.
func procAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
