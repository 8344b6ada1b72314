package freeport

import (
	"net"
	"testing"
)

// A server can listen repeatedly on the port that it was given, and nobody else is given that port meanwhile.
func TestReservedForItsServer(t *testing.T) {
	t.Parallel()
	addr, err := TakeAddr(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	port := portOf(t, addr)
	for range 2 { // a server that starts, ends, and starts again
		if _, err := reserve(t.Context(), port); err == nil {
			t.Fatalf("port %d was given twice", port)
		}
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reserve(t.Context(), port); err == nil {
			t.Fatalf("port %d was given while its server listens", port)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The port above is free as well, for Redis Cluster.
func TestPairs(t *testing.T) {
	t.Parallel()
	port, err := Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reserve(t.Context(), port+busOffset); err == nil {
		t.Errorf("port %d was given without the one for the cluster's bus", port)
	}
}

func portOf(t *testing.T, addr string) int {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return a.Port
}
