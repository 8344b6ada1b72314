package server

import "syscall"

// procAttr puts a server into a process group of its own, so that Ctrl-C in a terminal reaches the tests and not their
// servers, and has the kernel kill it when the thread that started it ends, that is, when this process dies.
func procAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
