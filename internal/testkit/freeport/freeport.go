// Package freeport gives tests and benchmarks TCP ports of 127.0.0.1 for the servers that they start.
//
// # What is authoritative
//
// The kernel: on Linux a port that was given stays reserved by a bound socket, which does not listen, until this
// process ends. Nobody else who asks this package gets it, in this process or another one, while its server has not
// started yet or is down between two starts; the server itself can listen on it, as servers set SO_REUSEADDR.
//
// # What can go wrong
//
//   - A program that does not ask here takes the port. It lies below the range from which systems take ports for
//     outgoing connections, so that only a server can, and a server that cannot listen says so when it starts.
//   - On other systems nothing is reserved: two that ask at the same time may get the same port.
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
	// busOffset is where Redis Cluster listens too: ports are given in pairs.
	busOffset = 10_000
)

// Take returns a port that nobody listens on, and nobody on the port 10,000 above, which Redis Cluster uses too.
func Take(ctx context.Context) (int, error) {
	var err error
	for i := range count {
		port := first + (97*os.Getpid()+i)%count // processes begin at different ports
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

// TakeAddr returns the address of such a port.
func TakeAddr(ctx context.Context) (string, error) {
	port, err := Take(ctx)
	if err != nil {
		return "", err
	}
	return Addr(port), nil
}

// Addr returns the address of a port of 127.0.0.1.
func Addr(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
