//go:build !linux

package test

import "syscall"

// procAttr is empty where the kernel cannot end a process with its parent: a killed test process leaves its servers
// behind.
func procAttr() *syscall.SysProcAttr { return nil }
