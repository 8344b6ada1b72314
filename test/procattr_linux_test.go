package test

import "syscall"

// procAttr lets the kernel end a server whose test process is gone, however that ended.
func procAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
