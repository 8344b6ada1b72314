//go:build !linux

package lock_test

import "syscall"

// dieWithParent returns nil: other systems cannot end a child with its parent, so it ends when its lock does.
func dieWithParent() *syscall.SysProcAttr { return nil }
