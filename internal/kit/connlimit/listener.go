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
	// MaxGoodbyes is how many refused connections may wait for their request at once, a descriptor and a goroutine
	// each.
	MaxGoodbyes = 128
	// requestTime is how long a refused caller may take to send something, lingerTime to take the answer.
	requestTime = time.Second
	lingerTime  = 500 * time.Millisecond
	// mostDrained is how many bytes of a refused request are read and thrown away.
	mostDrained = 64 << 10
)

// Listener accepts at most so many connections of another listener. Its methods may be called by several goroutines.
type Listener struct {
	net.Listener
	limit  int64
	answer []byte
	exempt func(netip.Addr) bool
	now    func() time.Time
	// requestTime and lingerTime are the constants of these names.
	requestTime, lingerTime time.Duration

	open    atomic.Int64
	refused atomic.Int64
	conns   connSet

	mu      sync.Mutex
	leaving map[net.Conn]struct{} // refused, and not closed yet; nil once the listener is closed
	gone    sync.WaitGroup        // one for each of them
}

// New returns a listener over inner that has at most limit connections open. Those beyond get the answer, a whole
// HTTP response with Connection: close, and are closed. Before one is refused, idle ones make room if [Listener.Watch]
// knows them, but for those of peers that are exempt: proxies, whose idle connections are everybody's.
func New(inner net.Listener, limit int, answer []byte, exempt func(netip.Addr) bool) *Listener {
	return &Listener{
		Listener: inner, limit: int64(limit), answer: answer, exempt: exempt, now: time.Now,
		requestTime: requestTime, lingerTime: lingerTime, conns: connSet{conns: map[*conn]struct{}{}},
		leaving: map[net.Conn]struct{}{},
	}
}

// Load returns how many connections are open now, and how many were refused since the start.
func (l *Listener) Load() (open, refused int64) { return l.open.Load(), l.refused.Load() }

// Accept returns the next connection within the limit. It refuses those beyond, and never waits for one to be closed.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.enter() || l.makeRoom() && l.enter() {
			return l.accepted(c), nil
		}
		l.refuse(c)
	}
}

// enter counts one more open connection, unless there are as many as may be.
func (l *Listener) enter() bool {
	if l.open.Add(1) <= l.limit {
		return true
	}
	l.open.Add(-1)
	return false
}

// accepted is a connection that counts from now on.
func (l *Listener) accepted(c net.Conn) *conn {
	peer := lineOf(c)
	own := &conn{Conn: c, of: l, peer: peer, exempt: l.exempt(peer)}
	own.idleSince.Store(busy) // until Watch hears of it
	l.conns.add(own)
	return own
}

// Close stops accepting and cuts off those that are being refused. Accepted connections stay open.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	l.mu.Lock()
	for c := range l.leaving {
		_ = c.Close() // its goodbye ends, and reports nothing either
	}
	l.leaving = nil
	l.mu.Unlock()
	l.gone.Wait()
	return err
}

// refuse answers a connection and closes it, without making the next one wait.
func (l *Listener) refuse(c net.Conn) {
	l.refused.Add(1)
	if l.leave(c) {
		go l.goodbye(c)
		return
	}
	// Too many are leaving. The send buffer of a new connection is empty, so this does not block.
	_ = c.SetWriteDeadline(time.Now().Add(l.lingerTime))
	_, _ = c.Write(l.answer) // a caller who cannot be told has gone
	_ = c.Close()
}

// leave makes c one of the leaving connections, unless there are as many as may be.
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

// goodbye waits for the request, answers it, and has the caller read the answer before the connection is closed:
// closing with unread bytes sends a reset, which may overtake the answer; and clients take an answer that comes
// before their request for a broken connection.
func (l *Listener) goodbye(c net.Conn) {
	defer l.gone.Done()
	defer func() {
		_ = c.Close() // whatever went wrong, it is over
		l.mu.Lock()
		delete(l.leaving, c)
		l.mu.Unlock()
	}()
	if c.SetDeadline(time.Now().Add(l.requestTime)) != nil {
		return
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		return // it never asked
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

// busy stands for the time since when a connection is idle while it is not.
const busy = 0

// conn is an accepted connection. It counts until it is closed.
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

// CloseWrite ends what is sent. net/http does so before it closes a connection whose request it has not read to its
// end, so that the caller can still read the answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(closeWriter); ok {
		return half.CloseWrite()
	}
	return nil
}
