//go:build !linux

package lock_test

import "syscall"

// dieWithParent: other systems have nothing that ends a child with its parent; it ends when its lock does.
func dieWithParent() *syscall.SysProcAttr { return nil }
