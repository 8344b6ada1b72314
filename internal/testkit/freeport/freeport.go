// Package freeport gives tests and benchmarks TCP ports of 127.0.0.1 for the servers that they start.
//
// # What is authoritative
//
// The kernel. On Linux, a socket that is bound but does not listen reserves a port until this process ends. So no other
// user of this package gets it, in any process, while its server has not started or is restarting; the server can still
// listen on it, because servers set SO_REUSEADDR.
//
// # What can go wrong
//
//   - A program that does not use this package takes the port. The ports are below the system's range for outgoing
//     connections, so only a server can do that; the other server then fails at its start.
//   - On other systems nothing is reserved: two simultaneous callers may get the same port.
package freeport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
)

const (
	first = 12_000
	count = 10_000
	// busOffset is the distance to the port of the Redis Cluster bus: ports are given out in pairs.
	busOffset = 10_000
)

// Take returns a port that is free, and whose bus port, 10,000 above, is free as well.
func Take(ctx context.Context) (int, error) {
	var err error
	for i := range count {
		port := first + (97*os.Getpid()+i)%count // processes start at different ports
		if err = reservePair(ctx, port); err == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port: %w", err)
}

// reservePair reserves both ports, or none.
func reservePair(ctx context.Context, port int) error {
	giveBack, err := reserve(ctx, port)
	if err != nil {
		return err
	}
	if _, err = reserve(ctx, port+busOffset); err != nil {
		return errors.Join(err, giveBack())
	}
	return nil
}

// TakeAddr returns the address of a port from Take.
func TakeAddr(ctx context.Context) (string, error) {
	port, err := Take(ctx)
	if err != nil {
		return "", err
	}
	return Addr(port), nil
}

// Addr returns the address of a port of 127.0.0.1.
func Addr(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
