package connlimit

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// MaxGoodbyes is how many refused connections may wait for their request at once. Each costs a descriptor and a
	// goroutine.
	MaxGoodbyes = 128
	// requestTime is how long a refused caller may take to send a request, lingerTime how long to read the answer.
	requestTime = time.Second
	lingerTime  = 500 * time.Millisecond
	// mostDrained is how many bytes of a refused request are read and discarded.
	mostDrained = 64 << 10
)

// Listener accepts a limited number of connections of another listener. Its methods are safe for concurrent use.
type Listener struct {
	net.Listener
	limit  int64
	answer []byte
	exempt func(netip.Addr) bool
	now    func() time.Time
	// requestTime and lingerTime are the constants of these names, which tests change.
	requestTime, lingerTime time.Duration

	open    atomic.Int64
	refused atomic.Int64
	conns   connSet

	mu      sync.Mutex
	leaving map[net.Conn]struct{} // refused but not yet closed; nil after Close
	gone    sync.WaitGroup        // one for each of leaving
}

// New returns a listener over inner that keeps at most limit connections open. Further ones get the answer, a complete
// HTTP response with Connection: close, and are closed. If [Listener.Watch] was called, idle connections are closed
// first, except those of exempt peers: proxies, whose idle connections serve everybody.
func New(inner net.Listener, limit int, answer []byte, exempt func(netip.Addr) bool) *Listener {
	return &Listener{
		Listener: inner, limit: int64(limit), answer: answer, exempt: exempt, now: time.Now,
		requestTime: requestTime, lingerTime: lingerTime,
		conns:   connSet{conns: map[*conn]struct{}{}, crowd: newCrowd(limit)},
		leaving: map[net.Conn]struct{}{},
	}
}

// Load returns how many connections are open now, and how many were refused since the start.
func (l *Listener) Load() (open, refused int64) { return l.open.Load(), l.refused.Load() }

// Accept returns the next connection within the limit and refuses those beyond it. It never waits for one to close.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer := lineOf(c)
		if l.mayHold(peer) && (l.enter() || (closeAll(l.idle()) || closeAll(l.excess(peer))) && l.enter()) {
			return l.accepted(c, peer), nil
		}
		l.refuse(c)
	}
}

// enter counts one more open connection, unless the limit is reached.
func (l *Listener) enter() bool {
	if l.open.Add(1) <= l.limit {
		return true
	}
	l.open.Add(-1)
	return false
}

// accepted returns an accepted connection, which counts from now on.
func (l *Listener) accepted(c net.Conn, peer netip.Addr) *conn {
	own := &conn{Conn: c, of: l, peer: peer, exempt: l.exempt(peer)}
	own.idleSince.Store(busy) // until Watch learns its state
	l.conns.add(own)
	return own
}

// Close stops accepting, and closes the connections that are being refused. Accepted connections stay open.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	l.mu.Lock()
	for c := range l.leaving {
		_ = c.Close() // its goodbye ends; the error does not matter
	}
	l.leaving = nil
	l.mu.Unlock()
	l.gone.Wait()
	return err
}

// refuse answers a connection and closes it, without delaying the next one.
func (l *Listener) refuse(c net.Conn) {
	l.refused.Add(1)
	if l.leave(c) {
		go l.goodbye(c)
		return
	}
	// Too many connections are leaving. A new connection's send buffer is empty, so this write does not block.
	_ = c.SetWriteDeadline(time.Now().Add(l.lingerTime))
	_, _ = c.Write(l.answer) // if it fails, the caller has gone
	_ = c.Close()
}

// leave adds c to the leaving connections, unless there are MaxGoodbyes already.
func (l *Listener) leave(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leaving == nil || len(l.leaving) >= MaxGoodbyes {
		return false
	}
	l.leaving[c] = struct{}{}
	l.gone.Add(1)
	return true
}

// goodbye waits for the request, answers it, and lets the caller read the answer before it closes the connection.
// Closing with unread bytes would send a reset, which may overtake the answer; and clients take an answer that arrives
// before their request for a broken connection.
func (l *Listener) goodbye(c net.Conn) {
	defer l.gone.Done()
	defer func() {
		_ = c.Close() // errors do not matter any more
		l.mu.Lock()
		delete(l.leaving, c)
		l.mu.Unlock()
	}()
	if c.SetDeadline(time.Now().Add(l.requestTime)) != nil {
		return
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		return // no request came
	}
	if c.SetDeadline(time.Now().Add(l.lingerTime)) != nil {
		return
	}
	if _, err := c.Write(l.answer); err != nil {
		return
	}
	if half, ok := c.(closeWriter); ok && half.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, c, mostDrained) // ends with the caller's close, or the deadline
	}
}

type closeWriter interface{ CloseWrite() error }

// busy is the value of conn.idleSince while a request is under way.
const busy = 0

// conn is an accepted connection. It counts against the limit until it is closed.
type conn struct {
	net.Conn
	of        *Listener
	peer      netip.Addr
	exempt    bool
	idleSince atomic.Int64 // Unix nanoseconds, or busy
	closed    atomic.Bool
}

// Close closes the connection, which makes room for another.
func (c *conn) Close() error {
	err := c.Conn.Close()
	if !c.closed.Swap(true) {
		c.of.conns.remove(c)
		c.of.open.Add(-1)
	}
	return err
}

// CloseWrite closes the sending side. net/http calls it before it closes a connection with a partly read request, so
// that the caller can still read the answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(closeWriter); ok {
		return half.CloseWrite()
	}
	return nil
}
