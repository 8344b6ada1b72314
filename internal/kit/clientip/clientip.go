// Package clientip determines a request's address: that of its connection or, behind trusted proxies, the one in
// X-Forwarded-For.
//
// Each proxy appends the address of its own peer, so the header is read from its end: the first address that is not a
// trusted proxy's is the caller's. Anything before it is only the caller's claim. Several header lines form one list
// (RFC 9110, section 5.3), because HAProxy adds a line. Ports, which Azure's gateways, IIS and some load balancers add,
// are dropped.
//
// An unreadable entry yields no address. Gin's ClientIP falls back to the proxy's own address, which silently turns a
// whole crowd into one caller.
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

// Addresses determines the addresses of callers. A nil one trusts no proxy. It is safe for concurrent use.
type Addresses struct {
	proxies    []netip.Prefix
	log        *slog.Logger
	unreadable atomic.Int64
	told       atomic.Bool
}

// New returns Addresses that trust the proxies, which are addresses or networks. Without proxies, it trusts none.
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

// Of returns the caller's address, or the zero address if it is unreadable. A trusted proxy without the header is
// itself the caller.
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

// Note counts a request with an unreadable address, and logs the first one. Call it once for each request.
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

// Unreadable returns how many requests had an unreadable address.
func (a *Addresses) Unreadable() int64 { return a.unreadable.Load() }

// parse parses an entry: an address with or without a port. It returns the zero address for anything else.
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

// plain converts IPv4 in IPv6 to IPv4, and drops the zone.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

// Line returns the part of an address that identifies one line: all of IPv4, or the first 64 bits of IPv6.
func Line(addr netip.Addr) netip.Addr {
	if addr = plain(addr); !addr.Is6() {
		return addr
	}
	line, _ := addr.Prefix(64) // cannot fail: an IPv6 address has 128 bits
	return line.Addr()
}
