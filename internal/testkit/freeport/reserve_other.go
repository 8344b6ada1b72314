//go:build !linux

package freeport

import (
	"context"
	"net"
)

// reserve returns an error if the port is in use. It reserves nothing, because systems differ in how sockets may share
// a port.
func reserve(ctx context.Context, port int) (giveBack func() error, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", Addr(port))
	if err != nil {
		return nil, err
	}
	return func() error { return nil }, l.Close()
}
