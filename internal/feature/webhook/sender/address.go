package sender

import (
	"errors"
	"net/netip"
	"strings"

	"seckill/internal/feature/webhook/dispatch"
)

// reserved are networks that are not the public Internet, besides those that netip knows. What lies in them is near
// this machine, or leads to an IPv4 address that was not looked at.
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

// unicast6 is all of IPv6 that is given out for the Internet.
func unicast6() netip.Prefix { return netip.MustParsePrefix("2000::/3") }

// addresses says which addresses may be dialled.
type addresses struct{ allowed, reserved []netip.Prefix }

// check returns an *AddressError for an address that may not be dialled. Without TLS only those may be dialled that
// SECKILL_WEBHOOK_ALLOW names.
func (a addresses) check(ip netip.Addr, tls bool) error {
	ip = ip.Unmap().WithZone("")
	if contains(a.allowed, ip) {
		return nil
	}
	switch {
	case !tls:
		return &AddressError{dispatch.NeedsTLS, ip.String()}
	case !ip.IsGlobalUnicast(), ip.IsPrivate(), ip.Is6() && !unicast6().Contains(ip), contains(a.reserved, ip):
		return &AddressError{dispatch.AddressNotAllowed, ip.String()}
	}
	return nil
}

// never returns the zero Failure if a connection to the host may be allowed, once its name is looked up.
func (a addresses) never(host string, tls bool) dispatch.Failure {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	var ips []netip.Addr
	switch ip, err := netip.ParseAddr(host); {
	case err == nil:
		ips = []netip.Addr{ip}
	case name == "localhost", strings.HasSuffix(name, ".localhost"): // RFC 6761, section 6.3
		ips = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	case !tls && len(a.allowed) == 0:
		return dispatch.Failure{Code: dispatch.NeedsTLS, Address: host}
	}
	var refused dispatch.Failure
	for _, ip := range ips {
		e, ok := errors.AsType[*AddressError](a.check(ip, tls))
		if !ok {
			return dispatch.Failure{}
		}
		refused = dispatch.Failure{Code: e.Code, Address: host}
	}
	return refused
}

func contains(networks []netip.Prefix, ip netip.Addr) bool {
	for _, n := range networks {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}
