package box

import "syscall"

// procAttr lets the kernel kill a server when its test process is gone, however that ended.
func procAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
