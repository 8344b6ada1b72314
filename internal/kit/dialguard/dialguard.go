// Package dialguard decides which addresses this process may dial where somebody else chose the name: a webhook's
// owner, an identity provider's document. By default that is the public Internet over TLS. The address is checked when
// it is dialled, after the name was looked up: a name may lead elsewhere a moment later.
package dialguard

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
)

// Reason is why an address may not be dialled.
type Reason int8

// The reasons.
const (
	NotAllowed Reason = iota // it is not on the public Internet
	NeedsTLS                 // it is not among the allowed networks, and the connection has no TLS
)

// AddressError says that an address may not be dialled.
type AddressError struct {
	Reason  Reason
	Address string
}

func (e *AddressError) Error() string {
	if e.Reason == NeedsTLS {
		return fmt.Sprintf("%s may be dialled with TLS only", e.Address)
	}
	return e.Address + " may not be dialled"
}

// Guard knows the networks. Its zero value is of no use; it is safe for concurrent use.
type Guard struct{ allowed, reserved []netip.Prefix }

// New returns a guard that also lets these networks be dialled, with and without TLS.
func New(allowed []netip.Prefix) Guard { return Guard{allowed: allowed, reserved: reserved()} }

// Control returns a function for net.Dialer.Control, which the dialer calls with each address before it connects.
func (g Guard) Control(tls bool) func(network, address string, c syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return &AddressError{NotAllowed, address}
		}
		return g.Check(to.Addr(), tls)
	}
}

// Check returns an *AddressError for an address that may not be dialled.
func (g Guard) Check(ip netip.Addr, tls bool) error {
	ip = ip.Unmap().WithZone("")
	if contains(g.allowed, ip) {
		return nil
	}
	switch {
	case !tls:
		return &AddressError{NeedsTLS, ip.String()}
	case !ip.IsGlobalUnicast(), ip.IsPrivate(), ip.Is6() && !unicast6().Contains(ip), contains(g.reserved, ip):
		return &AddressError{NotAllowed, ip.String()}
	}
	return nil
}

// Never returns an error if a connection to a host is refused whatever its name resolves to, else nil: Check decides
// about the address then. The error's address is the host.
func (g Guard) Never(host string, tls bool) *AddressError {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	var ips []netip.Addr
	switch ip, err := netip.ParseAddr(host); {
	case err == nil:
		ips = []netip.Addr{ip}
	case name == "localhost", strings.HasSuffix(name, ".localhost"): // RFC 6761, section 6.3
		ips = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	case !tls && len(g.allowed) == 0:
		return &AddressError{NeedsTLS, host}
	}
	var refused *AddressError
	for _, ip := range ips {
		e, ok := errors.AsType[*AddressError](g.Check(ip, tls))
		if !ok {
			return nil
		}
		refused = &AddressError{e.Reason, host}
	}
	return refused
}

// reserved returns the networks outside the public Internet, besides those that netip knows. Their addresses are near
// this machine, or lead to an IPv4 address that Check does not see.
func reserved() []netip.Prefix {
	texts := []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "168.63.129.16/32", // the last one is Azure's metadata
		"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
		"5f00::/16", "fec0::/10",
	}
	networks := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		networks[i] = netip.MustParsePrefix(text)
	}
	return networks
}

// unicast6 returns the part of IPv6 that is allocated for the public Internet.
func unicast6() netip.Prefix { return netip.MustParsePrefix("2000::/3") }

func contains(networks []netip.Prefix, ip netip.Addr) bool {
	for _, n := range networks {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}
