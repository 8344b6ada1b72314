package lock_test

import "syscall"

// dieWithParent makes a child end when the suite ends, however the suite ends.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
