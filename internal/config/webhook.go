package config

import (
	"fmt"
	"net/netip"
	"time"
)

func (w Webhook) check(ps *problems) {
	for _, n := range w.Allow {
		if !isNetwork(n) {
			ps.add("SECKILL_WEBHOOK_ALLOW", fmt.Sprintf("has %q", n),
				"addresses such as 10.0.0.7 or networks such as 10.0.0.0/8")
		}
	}
}

// Networks returns the addresses outside the public Internet that webhooks may go to.
func (w Webhook) Networks() []netip.Prefix { return networks(w.Allow) }

// networks returns networks and addresses as networks.
func networks(texts []string) []netip.Prefix {
	all := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		n, err := netip.ParsePrefix(text)
		if ip, errIP := netip.ParseAddr(text); err != nil && errIP == nil {
			n, err = netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()), nil
		}
		if err == nil { // Load has refused invalid ones
			all = append(all, n)
		}
	}
	return all
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
