package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// checkListeners checks where the server listens, and under which names the port of operators is asked.
func checkListeners(h *HTTP, ps *problems) {
	const addrs = "host:port, such as :8080 or 127.0.0.1:8080"
	if _, _, ok := splitAddr(h.Addr); !ok {
		ps.add("SECKILL_HTTP_ADDR", fmt.Sprintf("is %q", h.Addr), addrs)
	}
	if h.OpsAddr != "" {
		if _, _, ok := splitAddr(h.OpsAddr); !ok {
			ps.add("SECKILL_OPS_ADDR", fmt.Sprintf("is %q", h.OpsAddr), addrs+", or off")
		} else if collide(h.Addr, h.OpsAddr) {
			ps.add("SECKILL_OPS_ADDR", fmt.Sprintf("is %q, which SECKILL_HTTP_ADDR %q occupies", h.OpsAddr, h.Addr),
				"another port, or off")
		}
	}
	for _, name := range h.OpsHosts {
		if name != "*" && !isName(name, 253) {
			ps.add("SECKILL_OPS_HOSTS", fmt.Sprintf("has %q", name),
				"host names without a port, such as server-1 or metrics.shop.internal, or *")
		}
	}
}

// Base returns the path below which people find the service, without a slash at its end; "" for the root.
func (h HTTP) Base() string {
	at, err := url.Parse(h.PublicURL)
	if err != nil { // Load has refused it
		return ""
	}
	return strings.TrimSuffix(at.Path, "/")
}

// basePath is a path whose segments need no escapes.
var basePath = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?$`)

func isPublicURL(text string) bool {
	at, err := url.Parse(text)
	return err == nil && isWeb(at) && at.User == nil &&
		!strings.ContainsAny(text, "?#") && basePath.MatchString(at.Path) && at.RawPath == ""
}

// pictureHost matches a host, perhaps with a port, that can go into the pages' Content-Security-Policy as it stands.
var pictureHost = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9][0-9]{0,4})?$`)

var colour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

// checkSite checks where people find the pages, the name and the colour that they show, and where pictures may be.
func checkSite(h *HTTP, ps *problems) {
	if h.PublicURL != "" && !isPublicURL(h.PublicURL) {
		ps.add("SECKILL_PUBLIC_URL", fmt.Sprintf("is %q", h.PublicURL),
			"an address by http or https, with or without a path of letters, digits, '-', '.', '_' and '~'")
	}
	if n := utf8.RuneCountInString(h.SiteName); n > 40 {
		ps.add("SECKILL_SITE_NAME", fmt.Sprintf("has %d characters", n), "up to 40 characters")
	} else if strings.ContainsFunc(h.SiteName, unicode.IsControl) {
		ps.add("SECKILL_SITE_NAME", "has a character that cannot be shown", "up to 40 characters")
	}
	for _, host := range h.PictureHosts {
		if !pictureHost.MatchString(host) {
			ps.add("SECKILL_PICTURE_HOSTS", fmt.Sprintf("has %q", host),
				"host names such as img.shop.example, in lower case, without https://, with or without a port")
		}
	}
	if h.SiteColour != "" && !colour.MatchString(h.SiteColour) {
		ps.add("SECKILL_SITE_COLOUR", fmt.Sprintf("is %q", h.SiteColour), "a colour such as #0b6b45")
	}
}

// checkCallers checks whose headers are trusted, and which pages of others may call the API.
func checkCallers(h *HTTP, ps *problems) {
	checkNetworks("SECKILL_TRUSTED_PROXIES", h.TrustedProxies, ps)
	if slices.Contains(h.CORSOrigins, "*") && len(h.CORSOrigins) > 1 {
		ps.add("SECKILL_CORS_ORIGINS", "has * and others", "* alone, or a list without it")
	}
	for _, o := range h.CORSOrigins {
		if !isOrigin(o) {
			ps.add("SECKILL_CORS_ORIGINS", fmt.Sprintf("has %q", o),
				"origins such as https://shop.example.com, without a path, or *")
		}
	}
}

func (l Log) check(ps *problems) {
	u, err := url.Parse(strings.ReplaceAll(l.TraceURL, "{order}", "1"))
	if l.TraceURL != "" && (err != nil || !isWeb(u) || !strings.Contains(l.TraceURL, "{order}")) {
		ps.add("SECKILL_TRACE_URL", fmt.Sprintf("is %q", l.TraceURL),
			"an address such as https://logs.example.com/search?q={order}")
	}
}

// splitAddr splits host:port. The host may be empty; the port is a number.
func splitAddr(addr string) (host string, port int, ok bool) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, false
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return host, int(n), err == nil
}

// collide reports whether two listeners cannot both use their addresses. Port 0 means any free port.
func collide(a, b string) bool {
	hostA, portA, okA := splitAddr(a)
	hostB, portB, okB := splitAddr(b)
	return okA && okB && portA == portB && portA != 0 && (hostA == hostB || isWildcard(hostA) || isWildcard(hostB))
}

func isWildcard(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

// isOrigin reports whether s is an origin exactly as browsers send it: nothing else would ever match.
func isOrigin(s string) bool {
	if s == "*" {
		return true
	}
	u, err := url.Parse(s)
	return err == nil && isWeb(u) && s == u.Scheme+"://"+u.Host
}

// isWeb reports whether a URL leads to a host by http or https.
func isWeb(u *url.URL) bool { return u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") }
