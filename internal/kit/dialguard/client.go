package dialguard

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

const (
	dialTimeout = 3 * time.Second
	tlsTimeout  = 5 * time.Second
	idleTimeout = 30 * time.Second
	maxHeader   = 16 << 10 // bytes
	idleConns   = 32       // to one host
)

// Client returns an HTTP client that dials only what the guard allows, and follows no redirect. secure says whether its
// connections have TLS. It looks names up with the resolver; nil: with the system's.
func (g Guard) Client(secure bool, conf *tls.Config, names *net.Resolver) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout, Resolver: names, Control: g.Control(secure)}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{ // no Proxy: it would be dialled, and the host's address not checked
			DialContext: dialer.DialContext, TLSClientConfig: conf, TLSHandshakeTimeout: tlsTimeout,
			MaxIdleConns: 4 * idleConns, MaxIdleConnsPerHost: idleConns, IdleConnTimeout: idleTimeout,
			MaxResponseHeaderBytes: maxHeader, DisableCompression: true, ForceAttemptHTTP2: secure,
		},
	}
}
