package budget

import (
	"encoding/binary"
	"net/netip"
)

// kind is the kind of a cell's key: a user, an address or a network.
type kind uint8

const (
	address4 kind = iota + 1 // an IPv4 address
	address6                 // the first 64 bits of an IPv6 address: one line's
	network4                 // the first 24 bits of an IPv4 address
	network6                 // the first 48 bits of an IPv6 address: one customer's of a provider
	account
	noAddress // one small budget for all callers whose address cannot be read

	asked        kind = 1 << 4 // a network's budget of challenges
	won          kind = 1 << 5 // an address's or a network's share of units
	accountAsked      = account | asked
)

// addressOf and networkOf return the part of an address that shares one budget. IPv4 in IPv6 counts as IPv4.
func addressOf(a netip.Addr) (kind, uint64) { return part(a, address4, address6, 32, 64) }
func networkOf(a netip.Addr) (kind, uint64) { return part(a, network4, network6, 24, 48) }

func part(a netip.Addr, four, six kind, bits4, bits6 int) (kind, uint64) {
	a = a.Unmap()
	switch {
	case a.Is4():
		b := a.As4()
		return four, uint64(binary.BigEndian.Uint32(b[:]) >> (32 - bits4))
	case a.Is6():
		b := a.As16()
		return six, binary.BigEndian.Uint64(b[:8]) >> (64 - bits6)
	default:
		return noAddress, 0
	}
}

// Network returns the network that an address counts as: its /24, or /48 in IPv6, because a person, or a program of
// theirs, may have all of it. IPv4 in IPv6 counts as IPv4. It returns the zero Prefix if the address is unknown.
func Network(a netip.Addr) netip.Prefix {
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
