package child

import "syscall"

// bind puts a program into its own process group, so that Ctrl-C in a terminal reaches only this process. It also has
// the kernel kill the program when the thread that started it ends, that is, when this process dies.
func bind(a *syscall.SysProcAttr) { a.Setpgid, a.Pdeathsig = true, syscall.SIGKILL }
