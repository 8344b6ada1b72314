//go:build !linux

package freeport

import (
	"context"
	"net"
)

// reserve returns an error where somebody listens on the port. It reserves nothing: what two sockets may share differs
// between systems.
func reserve(ctx context.Context, port int) (giveBack func() error, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", Addr(port))
	if err != nil {
		return nil, err
	}
	return func() error { return nil }, l.Close()
}
