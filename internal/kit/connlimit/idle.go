package connlimit

import (
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"seckill/internal/kit/clientip"
)

const (
	// IdleFor is how long a connection must be without a request before it may be closed to make room.
	IdleFor = 5 * time.Second
	// roomFor is the fraction of the limit that is freed at once, if enough connections are idle: freeing looks at
	// every connection.
	roomFor = 64
	// lookAgain is the pause after a search that found no idle connections.
	lookAgain = 100 * time.Millisecond
)

// connSet is the set of open connections. Its methods are safe for concurrent use.
type connSet struct {
	mu    sync.Mutex
	conns map[*conn]struct{}
	next  time.Time // time of the next search for idle connections
	crowd crowd
}

// Watch tells the listener which of a server's connections are idle. Call it before the server serves. The server's
// connections must be the listener's, or have a method NetConn that leads to them.
func (l *Listener) Watch(s *http.Server) {
	s.ConnState = func(c net.Conn, state http.ConnState) {
		for {
			if own, is := c.(*conn); is {
				own.enter(state)
				return
			}
			wrapped, is := c.(interface{ NetConn() net.Conn })
			if !is {
				return
			}
			c = wrapped.NetConn()
		}
	}
}

// enter records whether a request is under way.
func (c *conn) enter(s http.ConnState) {
	if s == http.StateNew || s == http.StateIdle {
		c.idleSince.Store(c.of.now().UnixNano())
		return
	}
	c.idleSince.Store(busy)
}

// closeAll closes connections without a request under way, and reports whether there were any.
func closeAll(conns []*conn) bool {
	for _, c := range conns {
		_ = c.Close()
	}
	return len(conns) > 0
}

// idle returns idle connections to close, first those of the peer that holds most: all of them, so that the next one
// needs no new search.
func (l *Listener) idle() (found []*conn) {
	now := l.now()
	l.conns.mu.Lock()
	defer l.conns.mu.Unlock()
	if now.Before(l.conns.next) {
		return nil
	}
	type peer struct {
		open int
		idle []*conn
	}
	peers := make(map[netip.Addr]*peer)
	for c := range l.conns.conns {
		if c.exempt {
			continue
		}
		p := peers[c.peer]
		if p == nil {
			p = &peer{}
			peers[c.peer] = p
		}
		p.open++
		if since := c.idleSince.Load(); since != busy && now.UnixNano()-since >= int64(IdleFor) {
			p.idle = append(p.idle, c)
		}
	}
	for _, p := range slices.SortedFunc(maps.Values(peers), func(a, b *peer) int { return b.open - a.open }) {
		if found = append(found, p.idle...); len(found) > int(l.limit)/roomFor {
			break
		}
	}
	if len(found) == 0 {
		l.conns.next = now.Add(lookAgain)
	}
	return found
}

// add adds an open connection.
func (s *connSet) add(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
	s.crowd.add(c.peer)
}

// remove removes a connection.
func (s *connSet) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.crowd.remove(c.peer)
}

// lineOf returns the peer of a connection, or the zero address if it is unknown.
func lineOf(c net.Conn) netip.Addr {
	at, is := c.RemoteAddr().(*net.TCPAddr)
	if !is {
		return netip.Addr{}
	}
	return clientip.Line(at.AddrPort().Addr())
}
