package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"syscall"

	"seckill/internal/kit/connlimit"
)

// listener is an HTTP server on its address; nil: the address is not wanted.
type listener struct {
	server *http.Server
	socket net.Listener
	served chan error // the end of a server that serveEarly has started; nil: none
}

// switched is a handler that may be replaced while it is in use. It must have one before it is used.
type switched struct{ current atomic.Pointer[http.Handler] }

// to makes h answer from the next request on.
func (s *switched) to(h http.Handler) { s.current.Store(&h) }

// ServeHTTP implements http.Handler.
func (s *switched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*s.current.Load()).ServeHTTP(w, r)
}

// listen opens the address in a setting, so that an address in use fails the start. It returns nil for an empty
// address.
func listen(ctx context.Context, setting, addr string, server *http.Server) (*listener, error) {
	if addr == "" {
		return nil, nil //nolint:nilnil // nil: the address is not wanted
	}
	var lc net.ListenConfig
	socket, err := lc.Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is %q, and another process listens there: stop it, or set %s to another port",
			setting, addr, setting)
	}
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", setting, err)
	}
	return &listener{server: server, socket: socket}, nil
}

// limit bounds the listener's connections; it never closes idle connections of proxies. load returns how many
// connections are open, and how many were refused.
func (l *listener) limit(connections int, isProxy func(netip.Addr) bool) (load func() (open, refused int64)) {
	bounded := connlimit.New(l.socket, connections, []byte(refusal), isProxy)
	bounded.Watch(l.server)
	l.socket = bounded
	return bounded.Load
}

// refusal is the answer to a connection beyond SECKILL_MAX_CONNECTIONS: the service's UNAVAILABLE, in English, since
// its request is not read.
const refusal = "HTTP/1.1 503 Service Unavailable\r\n" +
	"Content-Type: application/problem+json; charset=utf-8\r\n" +
	"Content-Language: en\r\n" +
	"Cache-Control: no-store\r\n" +
	"Retry-After: 2\r\n" +
	"Connection: close\r\n\r\n" + // without a length: the answer ends with the connection
	`{"type":"urn:seckill:problem:unavailable","title":"Temporarily unavailable","status":503,` +
	`"detail":"As many connections are open as this instance takes. Nothing was done, and repeating ` +
	`the request is harmless.",` +
	`"success":false,"code":"UNAVAILABLE","errorMsg":"The service is busy. Please try again shortly."}`

// addr returns the address that was opened; "off" for a listener that is not wanted.
func (l *listener) addr() string {
	if l == nil {
		return "off"
	}
	return l.socket.Addr().String()
}

// serveEarly starts to answer before serve is called, which then waits for the end.
func (l *listener) serveEarly() {
	l.served = make(chan error, 1)
	go func() { l.served <- l.run() }()
}

// serve answers until shutdown or close.
func (l *listener) serve() error {
	switch {
	case l == nil:
		return nil
	case l.served != nil:
		return <-l.served
	default:
		return l.run()
	}
}

func (l *listener) run() error {
	if err := l.server.Serve(l.socket); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", l.addr(), err)
	}
	return nil
}

// shutdown takes no new connections and waits for the requests in flight.
func (l *listener) shutdown(ctx context.Context) error {
	if l == nil {
		return nil
	}
	if err := l.server.Shutdown(ctx); err != nil {
		return fmt.Errorf("requests on %s were still in flight: %w", l.addr(), err)
	}
	return nil
}

// close ends everything at once. After shutdown it does nothing.
func (l *listener) close() {
	if l != nil {
		_ = l.server.Close() // nobody can act on the error
		_ = l.socket.Close()
	}
}
