// Package network says which network an address counts as: one that a person, or a program of theirs, has whole.
package network

import "net/netip"

// Of returns the network of an address: its /24, or /48 in IPv6. IPv4 in IPv6 counts as IPv4. It returns the zero
// Prefix if the address is unknown.
func Of(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 24
	if a.Is6() {
		bits = 48
	}
	of, err := a.Prefix(bits)
	if err != nil { // the zero address
		return netip.Prefix{}
	}
	return of
}
