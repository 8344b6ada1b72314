package config

import (
	"fmt"
	"net/netip"
	"time"
)

// Networks returns the addresses outside the public Internet that webhooks may go to.
func (w Webhook) Networks() []netip.Prefix { return networks(w.Allow) }

// networks returns networks and addresses as networks.
func networks(texts []string) []netip.Prefix {
	all := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		if n, ok := network(text); ok { // Load has refused invalid ones
			all = append(all, n)
		}
	}
	return all
}

// network reads a network, or an address as the network of it alone.
func network(text string) (n netip.Prefix, ok bool) {
	if ip, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()), true
	}
	n, err := netip.ParsePrefix(text)
	return n, err == nil
}

// checkNetworks wants networks and addresses in a setting.
func checkNetworks(name string, texts []string, ps *problems) {
	for _, text := range texts {
		if _, ok := network(text); !ok {
			ps.add(name, fmt.Sprintf("has %q", text), "addresses such as 10.0.0.7 or networks such as 10.0.0.0/8")
		}
	}
}

// check refuses less than a day, as in 90m for 90 days: what is deleted does not come back.
func (k Keep) check(ps *problems) {
	const day = 24 * time.Hour
	for name, d := range map[string]time.Duration{"SECKILL_KEEP": k.Orders, "SECKILL_AUDIT_KEEP": k.Audit} {
		if 0 < d && d < day {
			ps.add(name, "is "+d.String(), "0s, for ever, or 24h and more")
		}
	}
}
