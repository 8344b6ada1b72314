package child

import "syscall"

// bind puts a program into a process group of its own, so that Ctrl-C in a terminal reaches this process and not its
// children, and has the kernel kill it when the thread that started it ends, that is, when this process dies.
func bind(a *syscall.SysProcAttr) { a.Setpgid, a.Pdeathsig = true, syscall.SIGKILL }
