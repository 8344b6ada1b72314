package testkit

import (
	"bytes"
	"net"
	"testing"
)

// rename replaces a node's address in replies by an address of equal length.
type rename struct{ from, to []byte }

// NewClusterProxy starts one proxy in front of all nodes of a Redis Cluster; each node gets its own address (Addrs).
// Faults affect the connections to all nodes. Nodes tell clients the other nodes' addresses; in those replies the proxy
// substitutes its own, so that clients never bypass it. Nodes that join later are not covered.
func NewClusterProxy(tb testing.TB, nodes []string) *Proxy {
	tb.Helper()
	p := newProxy(tb, nodes...)
	var names []rename
	for _, g := range p.gates {
		fromHost, fromPort, err1 := net.SplitHostPort(g.target)
		toHost, toPort, err2 := net.SplitHostPort(g.listener.Addr().String())
		if err1 != nil || err2 != nil || fromHost != toHost || len(fromPort) != len(toPort) {
			tb.Fatalf("testkit: %s cannot stand for %s in replies: %v, %v", g.listener.Addr(), g.target, err1, err2)
		}
		for _, between := range []string{":", "\r\n:"} { // in a redirection, and in CLUSTER SLOTS
			names = append(names,
				rename{[]byte(fromHost + between + fromPort + "\r\n"), []byte(toHost + between + toPort + "\r\n")})
		}
	}
	p.mu.Lock() // connections are already being accepted
	p.names = names
	p.mu.Unlock()
	return p
}

// Addrs returns the proxy's addresses, in the order of the nodes behind them.
func (p *Proxy) Addrs() (addrs []string) {
	for _, g := range p.gates {
		addrs = append(addrs, g.listener.Addr().String())
	}
	return addrs
}

// renameIn replaces the nodes' addresses by the proxy's.
func (p *Proxy) renameIn(reply []byte) {
	p.mu.Lock()
	names := p.names
	p.mu.Unlock()
	for _, n := range names {
		for rest := reply; ; {
			i := bytes.Index(rest, n.from)
			if i < 0 {
				break
			}
			copy(rest[i:], n.to)
			rest = rest[i+len(n.to):]
		}
	}
}
