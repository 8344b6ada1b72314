package freeport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// reserve binds a socket to the port and returns what gives it back. While it binds it does not share the port with
// anybody, so that it fails where another one is reserved or listens; from then on it shares it with a server that
// sets SO_REUSEADDR.
func reserve(_ context.Context, port int) (giveBack func() error, err error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	err = syscall.Bind(socket, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("port %d: %w", port, err), syscall.Close(socket))
	}
	return func() error { return syscall.Close(socket) }, nil // it stays open as long as this process lives
}
