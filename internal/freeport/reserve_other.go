//go:build !linux

package freeport

import (
	"context"
	"net"
)

// reserve returns an error where somebody listens on the port. It reserves nothing: what two sockets may share differs
// between systems.
func reserve(ctx context.Context, port int) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", Addr(port))
	if err != nil {
		return err
	}
	return l.Close()
}
