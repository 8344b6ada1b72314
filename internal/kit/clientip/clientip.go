// Package clientip finds out from which address a request comes: that of the connection or, behind proxies that are
// trusted, what they say in X-Forwarded-For.
//
// Each proxy appends the address of its own peer, so the header is read from its end: the first address that is no
// trusted proxy's is the caller's. Whatever stands before it is the caller's own claim. Several lines are one list
// (RFC 9110, section 5.3): HAProxy adds a line. Ports are dropped: Azure's gateways, IIS and some load balancers write
// them.
//
// An entry that cannot be read is nobody's address. Gin's ClientIP falls back to the proxy's own, which makes a whole
// crowd one caller and tells nobody.
package clientip

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"seckill/internal/kit/invalid"
)

const header = "X-Forwarded-For"

// Addresses finds out the addresses of callers. A nil one believes no proxy. It is safe for concurrent use.
type Addresses struct {
	proxies    []netip.Prefix
	log        *slog.Logger
	unreadable atomic.Int64
	told       atomic.Bool
}

// New returns addresses behind the proxies, which are addresses or networks; none are believed without.
func New(proxies []string, log *slog.Logger) (*Addresses, error) {
	a := &Addresses{log: log}
	for _, text := range proxies {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			var one netip.Addr
			if one, err = netip.ParseAddr(text); err == nil {
				network = netip.PrefixFrom(one, one.BitLen())
			}
		}
		if err != nil {
			return nil, fmt.Errorf("trusted proxies: %q is neither an address nor a network", text)
		}
		a.proxies = append(a.proxies, network)
	}
	return a, nil
}

// IsProxy reports whether an address is a trusted proxy's.
func (a *Addresses) IsProxy(addr netip.Addr) bool {
	return a != nil && slices.ContainsFunc(a.proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// Of returns the caller's address, the zero one if it cannot be read. A trusted proxy that says nothing is the caller.
func (a *Addresses) Of(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	caller := plain(at.Addr())
	if !a.IsProxy(caller) {
		return caller
	}
	for _, line := range slices.Backward(r.Header[header]) {
		for line != "" {
			comma := strings.LastIndexByte(line, ',')
			entry := strings.TrimSpace(line[comma+1:])
			line = line[:max(comma, 0)]
			if entry == "" {
				continue
			}
			if caller = parse(entry); !a.IsProxy(caller) {
				return caller
			}
		}
	}
	return caller
}

// Note counts a request whose address cannot be read, and logs the first. It is called once for each request.
func (a *Addresses) Note(r *http.Request) {
	if a == nil || len(a.proxies) == 0 || a.Of(r).IsValid() {
		return
	}
	a.unreadable.Add(1)
	if !a.told.Swap(true) {
		a.log.WarnContext(r.Context(), "a trusted proxy's X-Forwarded-For cannot be read; in sales with limits such "+
			"callers share one small budget (seckill_http_unreadable_addresses_total counts them)",
			"header", invalid.Clip(strings.Join(r.Header[header], ", ")), "proxy", r.RemoteAddr)
	}
}

// Unreadable returns how many requests came without an address that can be read.
func (a *Addresses) Unreadable() int64 { return a.unreadable.Load() }

// parse reads an entry: an address, with a port or without; the zero one if it is none.
func parse(entry string) netip.Addr {
	if at, err := netip.ParseAddrPort(entry); err == nil {
		return plain(at.Addr())
	}
	if inside, found := strings.CutPrefix(entry, "["); found {
		entry, _ = strings.CutSuffix(inside, "]")
	}
	addr, err := netip.ParseAddr(entry)
	if err != nil {
		return netip.Addr{}
	}
	return plain(addr)
}

// plain writes IPv4 in IPv6 as IPv4, and drops the zone.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

// Line returns what one line has: an IPv4 address, or the first 64 bits of IPv6.
func Line(addr netip.Addr) netip.Addr {
	if addr = plain(addr); !addr.Is6() {
		return addr
	}
	line, _ := addr.Prefix(64) // an IPv6 address has so many
	return line.Addr()
}
