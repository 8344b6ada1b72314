package lock_test

import "syscall"

// dieWithParent ends a child when the suite ends, however it does.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
