package freeport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// reserve binds a socket to the port and returns the function that closes it. Binding is exclusive, so it fails if the
// port is reserved or in use; afterwards the socket shares the port with a server that sets SO_REUSEADDR.
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
	return func() error { return syscall.Close(socket) }, nil // stays open until this process ends
}
