//go:build !linux

package test

import "syscall"

// procAttr is nothing special where the kernel cannot end a process with its parent: a killed test process then leaves
// its servers behind.
func procAttr() *syscall.SysProcAttr { return nil }
